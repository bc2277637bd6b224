import type { MessageParam } from 'rx-tool-runner';
import { expect } from 'vitest';
import type { Facts, Held } from './sides';

/** What one side does where the two differ; whatever is not named is the same. */
export interface Expected extends Partial<Omit<Facts, 'params' | 'replies'>> {
  /** Of each request the params that differ, and no others. */
  readonly params?: readonly Readonly<Record<string, unknown>>[];
  /** The stop reasons of the replies that the consumer got. */
  readonly replies?: readonly (string | null)[];
}

/** Where the two differ on purpose. */
export interface Difference {
  /** The row of the behaviours that says so. */
  readonly row: string;
  readonly why: string;
  readonly theirs: Expected;
  readonly ours: Expected;
}

interface Named extends Held {
  readonly name: string;
  /** Where only one of the runners can show it. */
  readonly only?: 'plain' | 'streaming';
}

/** Both send the same histories. */
interface Alike extends Named {
  /** How many requests each sends. */
  readonly requests: number;
  /** How the history of the last one ends. */
  readonly tail: readonly MessageParam[];
  readonly differs?: Difference;
}

/** They send different ones, all of which are given. */
interface Apart extends Named {
  readonly differs: Difference & { readonly ours: Required<Pick<Expected, 'histories'>> };
  readonly requests?: never;
  readonly tail?: never;
}

/** A conversation that is held twice: by the official SDK, and by this package. */
export type Conversation = Alike | Apart;

type Fields = Readonly<Record<string, unknown>>;

const picked = (fields: Fields, names: ReadonlySet<string>, wanted: boolean): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => names.has(name) === wanted));

/** Both sides do exactly what is said of them, and all else is the same. */
export const expectDifference = (theirs: Facts, ours: Facts, difference: Difference): void => {
  const named = new Set(Object.keys(difference.ours));
  // Of either side the same is said.
  expect(new Set(Object.keys(difference.theirs))).toEqual(named);
  const fields = new Set(
    [...(difference.theirs.params ?? []), ...(difference.ours.params ?? [])].flatMap(Object.keys),
  );
  const seen = ({ params, replies, ...facts }: Facts): Fields => ({
    ...facts,
    params: params.map(one => picked(one, fields, true)),
    replies: replies.map(({ stop_reason }) => stop_reason),
  });
  expect({ theirs: picked(seen(theirs), named, true), ours: picked(seen(ours), named, true) }).toEqual({
    theirs: difference.theirs,
    ours: difference.ours,
  });
  for (const fact of named) expect({ [fact]: seen(ours)[fact] }).not.toEqual({ [fact]: seen(theirs)[fact] });

  // Where one side sends fewer requests, what both have sent can be compared.
  const count = Math.min(theirs.histories.length, ours.histories.length);
  const rest = ({ params, betas, streamed, replies, ...facts }: Facts): Fields =>
    picked(
      {
        ...facts,
        // Tokens follow from what was sent.
        replies: replies.map(reply => ({ ...reply, usage: undefined })),
        betas: betas.slice(0, count),
        streamed: streamed.slice(0, count),
        otherParams: params.slice(0, count).map(one => picked(one, fields, false)),
      },
      named,
      false,
    );
  expect(rest(ours)).toEqual(rest(theirs));
};
