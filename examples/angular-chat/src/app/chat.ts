import { ChangeDetectionStrategy, Component, computed, inject, signal } from '@angular/core';
import { Conversation } from './conversation';
import { LaneView } from './lane';
import { Workspace } from './workspace';

const budgets = [16, 64, 256, 1024];

@Component({
  selector: 'app-chat',
  imports: [LaneView],
  providers: [Conversation],
  changeDetection: ChangeDetectionStrategy.OnPush,
  templateUrl: './chat.html',
})
export class Chat {
  protected readonly chat = inject(Conversation);
  protected readonly files = inject(Workspace).names;
  protected readonly budgets = budgets;
  protected readonly draft = signal('');
  protected readonly suggestions = [
    "What's the weather in Paris, Tokyo and Oslo?",
    'Read the file notes.txt, and what is 15 + 27?',
    'Delete the file draft.md',
    'Give me a detailed answer: why do ships float?',
  ];

  protected readonly problem = computed(() => {
    const error = this.chat.error();
    return error === undefined ? '' : error instanceof Error ? error.message : 'Something went wrong.';
  });

  protected readonly doing = computed(() => {
    switch (this.chat.status()) {
      case undefined:
      case 'done':
      case 'failed':
        return '';
      case 'requesting':
        return 'Thinking…';
      case 'replying':
        return 'Answering…';
      case 'calling':
        return 'Tools are running…';
      case 'waiting':
        return 'Waiting…';
      case 'compacting':
        return 'Summing up…';
    }
  });

  protected send(text: string): void {
    const words = text.trim();
    if (words === '') return;
    this.draft.set('');
    this.chat.send(words);
  }

  protected submit(event: Event): void {
    event.preventDefault();
    this.send(this.draft());
  }

  protected pickBudget(value: string): void {
    this.chat.budget.set(Number(value));
  }

  protected decide(id: string, approved: boolean): void {
    this.chat.decide(id, approved || 'The person at the screen said no.');
  }
}
