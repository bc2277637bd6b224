import { catchError, defer, EMPTY, filter, map, mergeMap, type OperatorFunction } from 'rxjs';
import { isObject } from '../history';
import type { MessageStreamEvent, ToolUseBlock } from '../messages';
import { partialJson } from '../messages/partialJson';
import type { RunnableTool } from '../tools';
import type { StreamingTurn } from '../turn';

/**
 * What there may be of an input on its way: every field may be missing yet, every list and every string may go on, so
 * that one of several strings is any string. What JSON has no word for, a `Date` say, is unknown: it is decoded later.
 */
export type PartialInput<T> = [T] extends [never]
  ? Readonly<Record<string, unknown>>
  : unknown extends T
    ? unknown
    : T extends string
      ? string
      : T extends number | boolean | null | undefined
        ? T
        : T extends readonly (infer Item)[]
          ? readonly PartialInput<Item>[]
          : T extends Date | RegExp | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown> | bigint | symbol
            ? unknown
            : T extends (...args: never) => unknown
              ? unknown
              : { readonly [Key in keyof T]?: PartialInput<T[Key]> };

/** How far the input of a call has come. */
export interface ToolInputUpdate<Input = Readonly<Record<string, unknown>>> {
  /** The call; the same object in all its updates. */
  readonly call: { readonly id: string; readonly name: string };
  /** The `index` of its turn: ids are unique within a turn only. */
  readonly index: number;
  /** As the model sends it, not validated; made when it is first read, frozen, and sharing what has not changed. */
  readonly input: PartialInput<Input>;
  /** Whether all of it has come. */
  readonly complete: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/** The input is made when it is first read; its getter is one for all, so that V8 gives them all one hidden class. */
class Update implements ToolInputUpdate {
  declare readonly input: Fields;
  readonly #read: () => Fields;

  static readonly #input: PropertyDescriptor & ThisType<Update> = {
    enumerable: true,
    get() {
      return this.#read();
    },
  };

  constructor(
    readonly call: ToolInputUpdate['call'],
    readonly index: number,
    read: () => Fields,
    readonly complete: boolean,
  ) {
    this.#read = read;
    Object.defineProperty(this, 'input', Update.#input);
  }
}

/** A call whose input is coming in. */
interface Incoming {
  /** Takes another piece of the input; nothing comes of one that makes it no JSON object, nor of those after it. */
  next(text: string): readonly ToolInputUpdate[];
  /** The input has ended; nothing comes of one that was cut short. */
  end(): readonly ToolInputUpdate[];
}

const incoming = ({ id, name, input: given }: ToolUseBlock, index: number): Incoming => {
  const json = partialJson();
  const call = { id, name };
  // Calls without arguments are streamed with no text, or an empty one.
  const start: Fields = isObject(given) ? (given as Fields) : {};
  let read: () => unknown = () => undefined;
  let text: 'blank' | 'object' | 'invalid' = 'blank';

  const update = (value: () => unknown, complete: boolean): readonly ToolInputUpdate[] => [
    new Update(call, index, () => (value() ?? start) as Fields, complete),
  ];

  return {
    next: piece => {
      if (text === 'invalid') return [];
      try {
        read = json.push(piece);
        const begun = text === 'blank' ? piece.trim() : '';
        if (begun !== '') text = begun.startsWith('{') ? 'object' : 'invalid';
      } catch {
        text = 'invalid';
      }
      return text === 'invalid' ? [] : update(read, false);
    },
    end: () => (text === 'blank' || (text === 'object' && json.complete()) ? update(read, true) : []),
  };
};

/**
 * The inputs of a streaming run's calls as they come: an update after every piece of a call's input, and one at its end;
 * of all tools, of those of a name, or of one tool, whose type the inputs then have. Compactions are passed over.
 *
 * ```
 * runner:  x--------------y-----|
 *          toolInputs()
 *          --{}-{c:Pa}-{c:Paris}|       what is open is closed, a key without value is left out
 * ```
 *
 * Before there is anything an input is `{}`. What is given is what has come, before any validation: a number is there
 * when its last digit is certain, a string while it grows. Where an input turns out to be no JSON object, or is cut short
 * by `max_tokens`, the updates of that call end without a complete one. Server tools have no updates.
 *
 * Taking a piece costs what the piece is long; an input is made when it is first read, which costs the entries of the
 * lists and objects that are still open. Sample the updates of long ones: `groupBy`, `auditTime`. Errors with the run's
 * `RunnerError`.
 *
 * @example
 * ```ts
 * streaming$
 *   .pipe(
 *     toolInputs(getWeather),
 *     filter(({ complete }) => complete),
 *   )
 *   .subscribe(({ call, input }) => console.log(call.name, input.location));
 * ```
 *
 * ```text
 * get_weather Paris
 * ```
 */
export const toolInputs =
  <Input = Readonly<Record<string, unknown>>>(
    tool?: string | RunnableTool<Input>,
  ): OperatorFunction<StreamingTurn, ToolInputUpdate<Input>> =>
  source$ => {
    const wanted = typeof tool === 'object' ? tool.name : tool;
    return source$.pipe(
      filter(turn => turn.kind !== 'compaction'),
      mergeMap(turn =>
        defer(() => {
          const calls = new Map<number, Incoming>();
          const ended = (index: number): readonly ToolInputUpdate[] => {
            const call = calls.get(index);
            calls.delete(index);
            return call?.end() ?? [];
          };
          const updates = (event: MessageStreamEvent): readonly ToolInputUpdate[] => {
            switch (event.type) {
              case 'content_block_start': {
                const { index, content_block: block } = event;
                if (block.type === 'tool_use' && (wanted === undefined || block.name === wanted)) {
                  calls.set(index, incoming(block, turn.index));
                }
                return [];
              }
              case 'content_block_delta':
                return event.delta.type === 'input_json_delta'
                  ? (calls.get(event.index)?.next(event.delta.partial_json) ?? [])
                  : [];
              case 'content_block_stop':
                return ended(event.index);
              case 'message_stop':
                // Servers that are not the API's leave the end of a block out.
                return [...calls.keys()].flatMap(ended);
              default:
                return [];
            }
          };
          return turn.pipe(
            // Its error is the run's, which comes by itself, unless the run is resumed.
            catchError(() => EMPTY),
            mergeMap(updates),
          );
        }),
      ),
      // That they are of the tool's type is what its name says.
      map(update => update as ToolInputUpdate<Input>),
    );
  };
