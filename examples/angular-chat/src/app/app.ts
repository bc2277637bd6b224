import { afterEveryRender, ChangeDetectionStrategy, Component, DOCUMENT, inject } from '@angular/core';
import { RouterLink, RouterLinkActive, RouterOutlet } from '@angular/router';

@Component({
  selector: 'app-root',
  imports: [RouterLink, RouterLinkActive, RouterOutlet],
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: `
    <header>
      <a class="brand" routerLink="/"><span class="mark">rx</span>tool-runner</a>
      <nav>
        <a
          routerLink="/"
          routerLinkActive="active"
          ariaCurrentWhenActive="page"
          [routerLinkActiveOptions]="{ exact: true }"
          >Chat</a
        >
        <a routerLink="/about" routerLinkActive="active" ariaCurrentWhenActive="page">How it works</a>
      </nav>
    </header>
    <router-outlet />
  `,
})
export class App {
  constructor() {
    // For who wants to know how often a stream of events makes Angular render: document.documentElement.dataset.renders.
    const { dataset } = inject(DOCUMENT).documentElement;
    let renders = 0;
    afterEveryRender({ write: () => void (dataset['renders'] = String(++renders)) });
  }
}
