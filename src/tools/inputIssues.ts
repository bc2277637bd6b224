import * as t from 'io-ts';
import { annotationOf } from './annotations';
import { known } from './codecs';
import { cut } from './inspect';
import type { ToolInputIssue } from './toolErrors';

interface Issue extends ToolInputIssue {
  /** The one constant that a property has to be, which may be the tag of a variant. */
  readonly tag?: unknown;
}

/** The codec within a codec that merely wraps it. */
const innerOf = (type: t.Mixed): t.Mixed | undefined => {
  const codec = known(type);
  switch (codec._tag) {
    case 'ReadonlyType':
    case 'ExactType':
    case 'RefinementType':
    case 'RecursiveType':
      return codec.type;
    default:
      return annotationOf(type)?.base;
  }
};

/** The codec that decides about a value's shape, without what is wrapped around it. */
const shapeOf = (type: t.Mixed): t.Mixed => {
  const inner = innerOf(type);
  return inner === undefined ? type : shapeOf(inner);
};

/** The constants that a property of these variants may be. */
const tagsOf = (type: t.Mixed, property: string): readonly unknown[] => {
  const shape = known(shapeOf(type));
  switch (shape._tag) {
    case 'InterfaceType': {
      const tag = shape.props[property];
      const literal = tag && known(shapeOf(tag));
      return literal?._tag === 'LiteralType' ? [literal.value] : [];
    }
    case 'IntersectionType':
    case 'UnionType':
      return shape.types.flatMap(member => tagsOf(member, property));
    default:
      return [];
  }
};

/** How much of a list of alternatives is shown. */
const EXPECTED_LIMIT = 300;

const anyOf = (texts: readonly string[]): string => cut([...new Set(texts)].join(' | '), EXPECTED_LIMIT);

const anyValueOf = (values: readonly unknown[]): string => anyOf(values.map(value => JSON.stringify(value)));

/** What the codec accepts, in words that mean something to whoever has never seen the codec. */
const expectedBy = (type: t.Mixed): string => {
  const codec = known(type);
  if (codec._tag === 'RefinementType') {
    if (codec.predicate === t.Int.predicate || codec.predicate === Number.isInteger) return 'integer';
    // io-ts has a name of its own making for a refinement that was given none.
    const predicate = t.getFunctionName(codec.predicate);
    const name = codec.name === `(${codec.type.name} | ${predicate})` ? predicate : codec.name;
    return `${expectedBy(codec.type)} (${name.startsWith('<') ? 'of certain values only' : name})`;
  }
  const inner = innerOf(type);
  if (inner !== undefined) return expectedBy(inner);
  switch (codec._tag) {
    case 'AnyDictionaryType':
    case 'InterfaceType':
    case 'PartialType':
    case 'DictionaryType':
      return 'object';
    case 'AnyArrayType':
    case 'ArrayType':
    case 'ReadonlyArrayType':
      return 'array';
    case 'TupleType':
      return `array of ${codec.types.length} items`;
    case 'KeyofType':
      return anyValueOf(Object.keys(codec.keys));
    case 'UnionType':
      return anyOf(
        codec.types
          .filter(member => known(member)._tag !== 'UndefinedType')
          .map(member => {
            const text = expectedBy(member);
            return text === 'object' || text === 'array' ? member.name : text;
          }),
      );
    default:
      return type.name;
  }
};

/** The issues of the variant that was meant, so that whoever mends them has a value that the union accepts. */
const issuesOfUnion = (
  codec: t.Mixed,
  actual: unknown,
  path: Issue['path'],
  variants: readonly (readonly Issue[])[],
): readonly Issue[] => {
  // Of variants that are of another type altogether, only the summary below speaks.
  const similar = variants.filter(issues => issues.every(issue => issue.path.length > path.length));
  const wrongTag = (issue: Issue): boolean => 'tag' in issue && issue.path.length === path.length + 1;
  const tagged = similar.filter(issues => !issues.some(wrongTag));
  if (tagged.length === 0) {
    const tags = similar.flatMap(issues => issues.filter(wrongTag));
    const [first] = tags;
    if (first !== undefined && tags.every(({ path }) => path.at(-1) === first.path.at(-1)))
      return [{ ...first, expected: anyValueOf(tags.map(({ tag }) => tag)) }];
  }
  const fewest = Math.min(...tagged.map(issues => issues.length));
  const [best, second] = tagged.filter(issues => issues.length === fewest);
  return best !== undefined && second === undefined ? best : [{ path, expected: expectedBy(codec), actual }];
};

/** The issues of errors that have the first `depth` entries of their context in common. */
const issuesAt = (errors: t.Errors, depth: number, path: Issue['path']): readonly Issue[] => {
  const entry = errors[0]?.context[depth];
  if (entry === undefined) return [];
  const { actual } = entry;
  const { type }: { readonly type: t.Mixed } = entry as t.ContextEntry & { readonly type: t.Mixed };
  const shape = known(shapeOf(type));

  const own = errors.find(error => error.context.length === depth + 1);
  if (own !== undefined) {
    if (shape._tag === 'UnionType' && shape.tag !== undefined && t.UnknownRecord.is(actual)) {
      const value = Object.hasOwn(actual, shape.tag) ? actual[shape.tag] : undefined;
      return [{ path: [...path, shape.tag], expected: anyValueOf(tagsOf(type, shape.tag)), actual: value }];
    }
    const expected = expectedBy(type) + (own.message === undefined ? '' : ` (${own.message})`);
    return [{ path, expected, actual, ...(shape._tag === 'LiteralType' ? { tag: shape.value } : {}) }];
  }

  const groups = new Map<string, t.Errors>();
  for (const error of errors) {
    const key = error.context[depth + 1]?.key ?? '';
    groups.set(key, [...(groups.get(key) ?? []), error]);
  }
  // The members of unions and intersections are entries of a context too, but no part of the path.
  const members = (): readonly (readonly Issue[])[] =>
    [...groups.values()].map(group => issuesAt(group, depth + 1, path));
  switch (shape._tag) {
    case 'UnionType': {
      const [first, ...others] = members();
      return first !== undefined && others.length === 0
        ? first
        : issuesOfUnion(type, actual, path, members());
    }
    case 'IntersectionType':
      return members().flat();
    default:
      return [...groups].flatMap(([key, group]) =>
        issuesAt(group, depth + 1, [...path, Array.isArray(actual) ? Number(key) : key]),
      );
  }
};

/** What io-ts found wrong with an input, each thing once, said with the property paths of the input. */
export const inputIssues = (errors: t.Errors): readonly ToolInputIssue[] => {
  const issues = new Map<string, ToolInputIssue>();
  for (const { path, expected, actual } of issuesAt(errors, 0, []))
    issues.set(JSON.stringify([path, expected]), { path, expected, actual });
  return [...issues.values()];
};
