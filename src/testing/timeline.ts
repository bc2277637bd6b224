/** What stands in one frame: one symbol, or several in the order in which they came. */
interface Cell {
  readonly frame: number;
  readonly symbols: string;
}

/** Cells that belong on one line: a value, or the begin and end of a subscription. */
type Stroke = readonly Cell[];

/** From when to when something was subscribed to; `Infinity` for what has not ended. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** What happened in a lane: values in frames, and spans of subscription. */
export interface Lane {
  readonly values: readonly { readonly frame: number; readonly symbol: string }[];
  readonly spans: readonly Span[];
}

/** Lanes by label, in the order in which they are drawn. */
export type Timeline = ReadonlyMap<string, Lane>;

const cut = 12;

const textOf = ({ symbols }: Cell): string => (symbols.length > 1 ? `(${symbols})` : symbols);

/** The last frame that a cell takes: as in RxJS, a group takes one for each of its characters. */
const lastOf = (cell: Cell): number => cell.frame + textOf(cell).length - 1;

const strokesOf = ({ values, spans }: Lane): Stroke[] => {
  const cells = new Map<number, string>();
  for (const { frame, symbol } of values) cells.set(frame, (cells.get(frame) ?? '') + symbol);
  const strokes: Stroke[] = [
    ...Array.from(cells, ([frame, symbols]): Stroke => [{ frame, symbols }]),
    ...spans.map(({ from, to }): Stroke =>
      from === to
        ? [{ frame: from, symbols: '^!' }]
        : [{ frame: from, symbols: '^' }, ...(to === Infinity ? [] : [{ frame: to, symbols: '!' }])],
    ),
  ];
  const key = (stroke: Stroke): [number, number] => [stroke[0]?.frame ?? 0, stroke[1]?.frame ?? Infinity];
  return strokes.sort((a, b) => {
    const [[from, to], [otherFrom, otherTo]] = [key(a), key(b)];
    return from === otherFrom ? (to === otherTo ? 0 : to - otherTo) : from - otherFrom;
  });
};

/** Strokes on as few lines as keep them apart; nothing follows a subscription that has not ended. */
const linesOf = (lane: Lane): Stroke[] => {
  const lines: { cells: Cell[]; until: number }[] = [];
  for (const stroke of strokesOf(lane)) {
    const [first] = stroke;
    if (first === undefined) continue;
    const open = stroke.length === 1 && first.symbols === '^';
    const until = open ? Infinity : Math.max(...stroke.map(lastOf));
    const line = lines.find(each => each.until < first.frame);
    if (line === undefined) lines.push({ cells: [...stroke], until });
    else {
      line.cells.push(...stroke);
      line.until = until;
    }
  }
  return lines.map(({ cells }) => cells);
};

/** Draws cells behind each other, on an axis of the frames in which anything is drawn. */
const draw = (cells: readonly Cell[], axis: readonly number[]): string => {
  const at = new Map(cells.map(cell => [cell.frame, textOf(cell)]));
  const end = Math.max(...cells.map(cell => cell.frame));
  let drawn = '';
  let covered = -1;
  let previous = -1;
  for (const frame of axis) {
    if (frame > end) break;
    const gap = frame - previous - 1;
    drawn += gap > cut ? `${drawn === '' ? '' : ' '}${gap}ms ` : '-'.repeat(gap);
    previous = frame;
    if (frame <= covered) continue;
    const text = at.get(frame) ?? '-';
    drawn += text;
    covered = frame + text.length - 1;
  }
  return drawn;
};

/** Lines of each lane of some timelines, on an axis that they have in common. */
const drawnOn = (timelines: readonly Timeline[]): ReadonlyMap<string, readonly string[]>[] => {
  const laid = timelines.map(
    timeline => new Map(Array.from(timeline, ([label, lane]) => [label, linesOf(lane)] as const)),
  );
  const frames = new Set<number>();
  for (const cell of laid.flatMap(lanes => [...lanes.values()].flat(2)))
    for (let frame = cell.frame; frame <= lastOf(cell); frame++) frames.add(frame);
  const axis = [...frames].sort((a, b) => a - b);
  return laid.map(
    lanes => new Map(Array.from(lanes, ([label, lines]) => [label, lines.map(line => draw(line, axis))])),
  );
};

const columns = (lines: readonly (readonly [mark: string, label: string, drawn: string])[]): string => {
  const width = Math.max(0, ...lines.map(([, label]) => label.length + 1));
  return lines
    .map(([mark, label, drawn]) => `${mark}${`${label}:`.padEnd(width)}  ${drawn}`.trimEnd())
    .join('\n');
};

/**
 * A timeline as a diagram, a line a lane, in the notation of RxJS: a column is a frame, the frames of a group are counted
 * by its characters, and frames in which nothing happens anywhere are a number of milliseconds. What would overlap in a
 * lane has a line of its own, with the same label.
 */
export const printed = (timeline: Timeline): string => {
  const [lanes = new Map<string, readonly string[]>()] = drawnOn([timeline]);
  return columns([...lanes].flatMap(([label, lines]) => lines.map(line => ['', label, line] as const)));
};

const progression = /^(\d+(?:\.\d+)?)(ms|s|m)(?: |$)/;
const milliseconds: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

/** What a line of a diagram says. */
const parseLine = (marbles: string): Lane => {
  const values: { frame: number; symbol: string }[] = [];
  const spans: Span[] = [];
  let frame = 0;
  let group: number | undefined;
  let opened: number | undefined;
  for (let index = 0; index < marbles.length; index++) {
    const symbol = marbles.charAt(index);
    if (symbol === ' ') continue;
    const time = index === 0 || marbles[index - 1] === ' ' ? progression.exec(marbles.slice(index)) : null;
    if (time !== null) {
      const [text, amount, unit = ''] = time;
      frame += Number(amount) * (milliseconds[unit] ?? 1);
      index += text.trimEnd().length - 1;
      continue;
    }
    const at = group ?? frame;
    if (symbol === '(') group = frame;
    else if (symbol === ')') group = undefined;
    else if (symbol === '^') {
      if (opened !== undefined) throw new SyntaxError(`'^' after a '^' that has no '!': ${marbles}`);
      opened = at;
    } else if (symbol === '!') {
      if (opened === undefined) throw new SyntaxError(`'!' without a '^' before it: ${marbles}`);
      spans.push({ from: opened, to: at });
      opened = undefined;
    } else if (symbol !== '-') values.push({ frame: at, symbol });
    frame++;
  }
  if (opened !== undefined) spans.push({ from: opened, to: Infinity });
  return { values, spans };
};

/**
 * Reads what `printed` prints, and what a person draws in its place.
 *
 * Throws a `SyntaxError` for a line without a label, and for subscriptions that end before they begin.
 */
export const parsed = (diagram: string): Timeline => {
  const lanes = new Map<string, Lane>();
  const lines = diagram.replaceAll('\t', ' ').split('\n');
  for (const line of lines.filter(each => each.trim() !== '')) {
    const [, label, marbles] = /^\s*([^:]+?)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
    if (label === undefined || marbles === undefined)
      throw new SyntaxError(`a line of a diagram begins with a label, as in 'turns: --a': ${line.trim()}`);
    const { values, spans } = parseLine(marbles);
    const known = lanes.get(label);
    const all = { values: [...(known?.values ?? []), ...values], spans: [...(known?.spans ?? []), ...spans] };
    if (all.values.length + all.spans.length > 0) lanes.set(label, all);
  }
  return lanes;
};

/** Where two timelines differ, drawn one above the other on one axis; undefined where they do not. */
export const differing = (expected: Timeline, actual: Timeline): string | undefined => {
  const [drawn, seen] = drawnOn([expected, actual]);
  const lines: (readonly [string, string, string])[] = [];
  let equal = true;
  for (const label of new Set([...(seen?.keys() ?? []), ...(drawn?.keys() ?? [])])) {
    const [wanted, got] = [drawn?.get(label) ?? [], seen?.get(label) ?? []];
    const same = wanted.join('\n') === got.join('\n');
    equal &&= same;
    if (same) lines.push(...got.map(line => ['  ', label, line] as const));
    else {
      lines.push(...wanted.map(line => ['- ', label, line] as const));
      lines.push(...got.map(line => ['+ ', label, line] as const));
    }
  }
  return equal ? undefined : columns(lines);
};
