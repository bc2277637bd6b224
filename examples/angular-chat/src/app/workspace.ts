import { computed, Injectable, signal } from '@angular/core';

/** The files that the tools work on; they live in this page only. */
@Injectable({ providedIn: 'root' })
export class Workspace {
  readonly #files = signal<ReadonlyMap<string, string>>(
    new Map([
      ['report.txt', 'Sales went up by 4 % in the third quarter.'],
      ['notes.txt', 'Ask about the umbrella. Call the harbour office.'],
      ['draft.md', '# Summer party\n\nWhere? When? Cake!'],
    ]),
  );

  readonly names = computed(() => [...this.#files().keys()]);

  read(name: string): string | undefined {
    return this.#files().get(name);
  }

  delete(name: string): boolean {
    const files = new Map(this.#files());
    const existed = files.delete(name);
    this.#files.set(files);
    return existed;
  }
}
