import type * as t from 'io-ts';

/** The io-ts codecs that this package knows its way in, told apart by `_tag`. */
export type Codec =
  | t.StringType
  | t.NumberType
  | t.BooleanType
  | t.NullType
  | t.UndefinedType
  | t.VoidType
  | t.UnknownType
  | { readonly _tag: 'AnyType' }
  | t.AnyArrayType
  | t.AnyDictionaryType
  | t.LiteralType<string | number | boolean>
  | t.KeyofType<Record<string, unknown>>
  | t.RefinementType<t.Mixed>
  | t.ReadonlyType<t.Mixed>
  | t.RecursiveType<t.Mixed>
  | t.ExactType<t.Mixed>
  | t.ArrayType<t.Mixed>
  | t.ReadonlyArrayType<t.Mixed>
  | t.TupleType<[t.Mixed, ...t.Mixed[]]>
  | t.InterfaceType<t.Props>
  | t.PartialType<t.Props>
  | t.DictionaryType<t.Mixed, t.Mixed>
  | t.IntersectionType<t.Mixed[]>
  | (t.UnionType<t.Mixed[]> & { /** Of a union that io-ts tells apart by a tag. */ readonly tag?: string });

/** The codec as one of a known kind. Other codecs have no `_tag`, or one that no `switch` over these has a case for. */
export const known = (codec: t.Mixed): Codec => codec as unknown as Codec;
