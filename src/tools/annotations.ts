import * as t from 'io-ts';
import type { JsonSchema } from '../messages';
import { copyJson } from './copyJson';
import { inspect } from './inspect';

/** What io-ts has no place for; it travels on the codec itself. */
interface Annotation {
  /** Keywords that are merged into the codec's JSON Schema. */
  readonly keywords: JsonSchema;
  /** The codec that this one extends with a default. */
  readonly base?: t.Mixed;
}

// Of the global registry, so that the package's ESM and CommonJS builds read each other's codecs.
const key = Symbol.for('rx-tool-runner/annotation');

/** The codec's annotation, if `describe` or `withDefault` gave it one. */
export const annotationOf = (codec: t.Mixed): Annotation | undefined =>
  (codec as { readonly [key]?: Annotation })[key];

const annotate = <C extends t.Mixed>(codec: C, annotation: Annotation): C =>
  Object.defineProperty(codec, key, { value: annotation, configurable: true });

/**
 * The codec with a description for the model: a codec of the same type, validating the same, for use anywhere in another.
 *
 * Instead of a text it takes JSON Schema keywords. They are merged into the schema that is derived from the codec, and
 * are the schema of a codec that none can be derived from. Nobody checks that they say what the codec does.
 *
 * @example
 * ```ts
 * import * as t from 'io-ts';
 * import { describe } from 'rx-tool-runner';
 *
 * const input = t.type({
 *   location: describe(t.string, 'The city and state, e.g. San Francisco, CA'),
 *   limit: describe(t.Int, { description: 'How many results', minimum: 1, maximum: 50 }),
 * });
 * ```
 */
export const describe = <C extends t.Mixed>(codec: C, text: string | JsonSchema): C => {
  // A copy with the class and fields of the original, since io-ts (and its users) tell codecs apart by these.
  const copy = Object.create(
    Object.getPrototypeOf(codec) as object,
    Object.getOwnPropertyDescriptors(codec),
  ) as C;
  const earlier = annotationOf(codec);
  const keywords = typeof text === 'string' ? { description: text } : text;
  return annotate(copy, { ...earlier, keywords: { ...earlier?.keywords, ...keywords } });
};

/**
 * The codec with a default: what the model leaves out is taken for `value`, as if it had sent that. `value` is therefore
 * given as it would come in: a plain number for `t.Int`, a text for a codec that makes a date of it.
 *
 * In the schema the field is not required, and `default` states the value. Throws a `TypeError` for a value that the
 * codec itself would not accept.
 *
 * @example
 * ```ts run
 * import * as t from 'io-ts';
 * import { withDefault } from 'rx-tool-runner';
 *
 * const input = t.type({
 *   location: t.string,
 *   unit: withDefault(t.keyof({ celsius: null, fahrenheit: null }), 'fahrenheit'),
 * });
 * console.log(input.decode({ location: 'Paris' }));
 * ```
 *
 * ```text
 * { _tag: 'Right', right: { location: 'Paris', unit: 'fahrenheit' } }
 * ```
 */
export const withDefault = <C extends t.Mixed>(
  codec: C,
  value: t.OutputOf<C>,
): t.Type<t.TypeOf<C>, t.OutputOf<C>> => {
  if (codec.decode(value)._tag === 'Left')
    throw new TypeError(`The default ${inspect(value)} is no ${codec.name}`);
  const own = copyJson(value);
  // Of no io-ts class of its own: a literal with a default, say, must not be taken for the tag of a union.
  return annotate(
    new t.Type<t.TypeOf<C>, t.OutputOf<C>>(
      codec.name,
      codec.is as t.Is<t.TypeOf<C>>,
      // A copy for each call, which may change it.
      (u, context) => codec.validate(u === undefined ? copyJson(own) : u, context),
      codec.encode,
    ),
    { keywords: { default: own }, base: codec },
  );
};
