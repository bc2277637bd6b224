import { ChangeDetectionStrategy, Component, input, output } from '@angular/core';
import type { Lane } from './entries';

@Component({
  selector: 'app-lane',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { class: 'lane', '[attr.data-state]': 'lane().state', '[attr.data-tool]': 'lane().name' },
  template: `
    <span class="dot" aria-hidden="true"></span>
    <code class="call"
      >{{ lane().name }}<span class="input">({{ lane().input }})</span></code
    >
    @if (lane().state === 'asking') {
      <span class="ask" role="group" aria-label="Approval">
        <span class="words">{{ lane().words }}</span>
        <button type="button" class="approve" (click)="decided.emit(true)">Approve</button>
        <button type="button" class="deny" (click)="decided.emit(false)">Deny</button>
      </span>
    } @else {
      <span class="words">{{ lane().words }}</span>
    }
  `,
})
export class LaneView {
  readonly lane = input.required<Lane>();
  readonly decided = output<boolean>();
}
