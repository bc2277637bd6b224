import type { Message } from 'rx-tool-runner';

/** All that a reply says. */
export const textOf = ({ content }: Message): string =>
  content.flatMap(block => (block.type === 'text' ? [block.text] : [])).join('\n');
