import { ChangeDetectionStrategy, Component } from '@angular/core';

@Component({
  selector: 'app-about',
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: `
    <article>
      <h1>How it works</h1>
      <p>
        The whole conversation is one Observable of turns. <code>toRunSignals</code> makes signals of it,
        which the template reads; a frame is rendered once, however many events come in it.
      </p>
      <dl>
        <dt>Approval</dt>
        <dd>
          <code>approveToolCalls</code> asks this page before a file is deleted. The other calls go on
          meanwhile.
        </dd>
        <dt>Typing while it works</dt>
        <dd><code>interject</code> sends what you type with the next request, and keeps the run going.</dd>
        <dt>Stop</dt>
        <dd><code>takeUntil(stop$)</code> aborts the request and cancels every running tool.</dd>
        <dt>Replies that are cut</dt>
        <dd><code>retryOnMaxTokens</code> asks again with a larger budget.</dd>
        <dt>Leaving</dt>
        <dd>
          You have just left the chat: the component was destroyed, and with it whatever it had under way.
          There is no code for that.
        </dd>
        <dt>The key</dt>
        <dd>is with the backend, which adds it to each request. None is in the browser.</dd>
      </dl>
    </article>
  `,
})
export class About {}
