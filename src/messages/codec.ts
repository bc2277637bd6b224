import * as t from 'io-ts';

/*
 * What the codecs of this folder are made of. They check and never convert: decoding and encoding give back the very
 * value they got, so that whatever the API sends, known to this version or not, goes back to it unchanged.
 */

/**
 * Makes a codec. Every codec of this folder is made inside one, so that the one annotation before the call
 * lets bundlers drop codecs that nobody uses.
 */
export const define = <C>(make: () => C): C => make();

type Properties = Readonly<Record<string, t.Mixed>>;

// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- properties, but none of them
type None = {};

/** The static side of a {@link StructC}. */
type Struct<R extends Properties, N extends Properties, O extends Properties> = {
  [K in keyof R]: t.TypeOf<R[K]>;
} & { [K in keyof N]: t.TypeOf<N[K]> | null } & { [K in keyof O]?: t.TypeOf<O[K]> };

/** A codec of objects made by {@link struct}. */
export interface StructC<R extends Properties, N extends Properties, O extends Properties> extends t.Type<
  Struct<R, N, O>
> {}

const isObject = (u: unknown): u is Record<string, unknown> =>
  typeof u === 'object' && u !== null && !Array.isArray(u);

/**
 * A codec of objects, open to fields it does not name.
 *
 * `required` fields must be there. `nullable` ones are typed as always there, the way the API documents them, but the
 * API leaves them out where a feature is not in use: they may be null or absent. `optional` ones may be absent.
 */
export const struct = <R extends Properties, N extends Properties = None, O extends Properties = None>(
  name: string,
  required: R,
  nullable?: N,
  optional?: O,
): StructC<R, N, O> => {
  const fields: readonly (readonly [key: string, codec: t.Mixed, mayBeAbsent: boolean])[] = [
    ...Object.entries(required).map(([key, codec]) => [key, codec, false] as const),
    ...Object.entries(nullable ?? {}).map(([key, codec]) => [key, orNull(codec), true] as const),
    ...Object.entries(optional ?? {}).map(([key, codec]) => [key, codec, true] as const),
  ];
  type A = Struct<R, N, O>;
  return new t.Type<A>(
    name,
    (u): u is A =>
      isObject(u) &&
      fields.every(([key, codec, mayBeAbsent]) =>
        u[key] === undefined && mayBeAbsent ? true : codec.is(u[key]),
      ),
    (u, context) => {
      if (!isObject(u)) return t.failure(u, context);
      const errors: t.Errors = [];
      for (const [key, codec, mayBeAbsent] of fields) {
        const value = u[key];
        if (value === undefined && mayBeAbsent) continue;
        const checked = codec.validate(value, t.appendContext(context, key, codec, value));
        if (checked._tag === 'Left') errors.push(...checked.left);
      }
      return errors.length > 0 ? t.failures(errors) : t.success(u as A);
    },
    t.identity,
  );
};

/** The codec's values, or null. */
export const orNull = <C extends t.Mixed>(codec: C): t.UnionC<[C, t.NullC]> => t.union([codec, t.null]);

/**
 * A string of a set that the API may extend: typed as the values known to this version, while every string is
 * accepted.
 */
export const known = <const S extends readonly [string, ...string[]]>(...values: S): t.Type<S[number]> =>
  new t.Type<S[number]>(
    values.map(value => JSON.stringify(value)).join(' | '),
    (u): u is S[number] => typeof u === 'string',
    (u, context) => (typeof u === 'string' ? t.success(u) : t.failure(u, context)),
    t.identity,
  );

/**
 * A union told apart by the string in the field `tag`: typed as the members known to this version, while objects with
 * another tag are accepted as they are. A known tag with fields of a wrong type is refused.
 *
 * Objects without the tag are those of the member `untagged`, or refused if none is given.
 */
export const variants = <M extends Readonly<Record<string, t.Mixed>>>(
  name: string,
  tag: string,
  members: M,
  untagged?: keyof M,
): t.Type<t.TypeOf<M[keyof M]>> => {
  type A = t.TypeOf<M[keyof M]>;
  const codecs = new Map<unknown, t.Mixed>(Object.entries(members));
  const member = (u: Record<string, unknown>): t.Mixed | undefined =>
    codecs.get((u[tag] === undefined || u[tag] === null) && untagged !== undefined ? untagged : u[tag]);
  return new t.Type<A>(
    name,
    (u): u is A => isObject(u) && (member(u)?.is(u) ?? typeof u[tag] === 'string'),
    (u, context) => {
      if (!isObject(u)) return t.failure(u, context);
      const codec = member(u);
      if (codec !== undefined) return codec.validate(u, context) as t.Validation<A>;
      return typeof u[tag] === 'string'
        ? t.success(u)
        : t.failure(u[tag], t.appendContext(context, tag, t.string, u[tag]));
    },
    t.identity,
  );
};

/** Anything JSON can say: everything but undefined. */
export const json = /*#__PURE__*/ define(
  () =>
    new t.Type<unknown>(
      'Json',
      (u): u is unknown => u !== undefined,
      (u, context) => (u === undefined ? t.failure(u, context) : t.success(u)),
      t.identity,
    ),
);
