/** What is common to all members of a union of types. */
type Intersection<U> = (U extends unknown ? (u: U) => void : never) extends (i: infer I) => void ? I : never;

type Flat<T> = T extends readonly unknown[] ? T : T extends object ? { [K in keyof T]: T[K] } : T;

type Mutable<T> = T extends object ? { -readonly [K in keyof T]: Mutable<T[K]> } : T;

type Keys<S> = S extends { readonly required: readonly (infer K extends string)[] } ? K : never;

type Properties<S, P> = {
  -readonly [K in keyof P as K extends Keys<S> ? K : never]: FromSchema<P[K]>;
} & {
  -readonly [K in keyof P as K extends Keys<S> ? never : K]?: FromSchema<P[K]>;
} & { [K in Exclude<Keys<S>, keyof P>]: unknown };

type FromObject<S> = S extends { readonly properties: infer P extends object }
  ? Flat<Properties<S, P>>
  : S extends { readonly additionalProperties: infer V extends object }
    ? { [property: string]: FromSchema<V> }
    : { [property: string]: unknown };

type Items<S> = S extends { readonly items: infer I } ? FromSchema<I> : unknown;

type FromArray<S> = S extends { readonly prefixItems: infer P extends readonly unknown[] }
  ? [
      ...(S extends { readonly minItems: P['length'] } ? FromSchemas<P> : Partial<FromSchemas<P>>),
      ...(S extends { readonly items: false } ? [] : Items<S>[]),
    ]
  : Items<S>[];

type FromSchemas<P extends readonly unknown[]> = { -readonly [K in keyof P]: FromSchema<P[K]> };

type FromType<S, T> = T extends 'string'
  ? string
  : T extends 'number' | 'integer'
    ? number
    : T extends 'boolean'
      ? boolean
      : T extends 'null'
        ? null
        : T extends 'array'
          ? FromArray<S>
          : T extends 'object'
            ? FromObject<S>
            : unknown;

/** What the schema says itself, without what it is combined of. */
type Own<S> = S extends { readonly const: infer C }
  ? Mutable<C>
  : S extends { readonly enum: readonly (infer E)[] }
    ? Mutable<E>
    : S extends { readonly type: readonly (infer T)[] }
      ? FromType<S, T>
      : S extends { readonly type: infer T }
        ? FromType<S, T>
        : unknown;

type Any<S, K extends string> = S extends { readonly [_ in K]: readonly (infer U)[] }
  ? U extends unknown
    ? FromSchema<U>
    : never
  : unknown;

// In a box each, so that the members' unions are not taken apart.
type All<S> = S extends { readonly allOf: readonly (infer U)[] }
  ? Intersection<U extends unknown ? { readonly box: FromSchema<U> } : never> extends {
      readonly box: infer T;
    }
    ? T
    : unknown
  : unknown;

/**
 * The type of the values that match a JSON Schema, `unknown` where it cannot tell. It reads `type` (lists too),
 * `properties`, `required`, `additionalProperties`, `items`, `prefixItems`, `enum`, `const`, `anyOf`, `oneOf` and
 * `allOf`. Properties that the schema does not name are no part of the type, as long as it names any.
 *
 * @example
 * ```ts
 * import type { FromSchema } from 'rx-tool-runner';
 *
 * type Input = FromSchema<{ type: 'object'; properties: { a: { type: 'number' } }; required: ['a'] }>;
 * const input: Input = { a: 1 };
 * ```
 */
export type FromSchema<S> = S extends boolean
  ? S extends false
    ? never
    : unknown
  : Own<S> & Any<S, 'anyOf'> & Any<S, 'oneOf'> & All<S>;
