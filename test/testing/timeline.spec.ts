import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { differing, parsed, printed, type Lane, type Timeline } from '../../src/testing/timeline';

const lines = (...all: string[]): string => all.join('\n');

describe('printed', () => {
  it.each([
    ['values, groups and subscriptions', lines('turns:  --a---(b|)', 'model:  ^-!---^!', 'tool:   --^---!')],
    ['what never ends', lines('model:  ^-!', 'clicks:  ---^')],
    ['no time at all', 'tool:  --(^!)'],
    ['time in which nothing happens, everywhere', lines('turns:  --a 2000ms b', 'tool:   --^ 2000ms !')],
    ['time before anything happens', 'turns:  500ms a'],
    ['overlaps, on lines of their own', lines('tool:  ^--!', 'tool:  -^-!', 'tool:  ----^!')],
    ['values behind a group that covers their frames', lines('turns:  (ab)-d', 'turns:  -c')],
  ])('draws %s', (_, diagram) => {
    const again = printed(parsed(diagram));
    expect(printed(parsed(again))).toBe(again);
    expect(differing(parsed(diagram), parsed(again))).toBeUndefined();
  });

  it('draws what it reads, in columns', () => {
    const diagram = `
      turns:  -- a - 20ms (b|)
      tool:      -^!-^
      tool:      --^------!
    `;
    expect(printed(parsed(diagram))).toBe(
      lines('turns:  --a------- 14ms (b|)', 'tool:   -^!-^', 'tool:   --^------!'),
    );
  });

  const frame = fc.nat(60);
  const lane = fc.record({
    values: fc.array(fc.record({ frame, symbol: fc.constantFrom('a', 'b', '7', '|', '#') }), {
      maxLength: 8,
    }),
    spans: fc.array(
      fc
        .tuple(frame, fc.option(frame, { nil: Infinity }))
        .map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) })),
      { maxLength: 6 },
    ),
  });
  const inOrder = ({ values, spans }: Lane): Lane => ({
    values: [...values].sort((a, b) => a.frame - b.frame),
    spans: [...spans].sort((a, b) => a.from - b.from || (a.to === b.to ? 0 : a.to - b.to)),
  });
  const timeline = fc
    .dictionary(fc.constantFrom('turns', 'model', 'a tool', 'x'), lane)
    .map(
      (lanes): Timeline =>
        new Map(Object.entries(lanes).filter(([, { values, spans }]) => values.length + spans.length > 0)),
    );

  it('is read as what was printed, whatever happened', () => {
    fc.assert(
      fc.property(timeline, lanes => {
        const read = parsed(printed(lanes));
        expect([...read.keys()]).toEqual([...lanes.keys()]);
        for (const [label, each] of lanes) expect(inOrder(read.get(label)!)).toEqual(inOrder(each));
        expect(differing(lanes, read)).toBeUndefined();
      }),
    );
  });

  it('differs where the timelines do', () => {
    fc.assert(
      fc.property(timeline, timeline, (one, other) => {
        const same =
          printed(one).split('\n').sort().join('\n') === printed(other).split('\n').sort().join('\n');
        expect(differing(one, other) === undefined).toBe(same);
      }),
    );
  });
});

describe('parsed', () => {
  it.each([
    ['--a--', "a line of a diagram begins with a label, as in 'turns: --a': --a--"],
    ['x: --!', "'!' without a '^' before it: --!"],
    ['x: ^-^', "'^' after a '^' that has no '!': ^-^"],
  ])('refuses %s', (diagram, message) => {
    expect(() => parsed(diagram)).toThrow(new SyntaxError(message));
  });

  it.each(['\tturns:\t-a-\t(b|)\n\tmodel:\t^!', '\r\nturns: -a-(b|)\r\nmodel: ^!\r\n'])(
    'does not care what blanks and line breaks are made of: %j',
    diagram => {
      expect(printed(parsed(diagram))).toBe('turns:  -a-(b|)\nmodel:  ^!');
    },
  );
});

describe('differing', () => {
  it('prints both, aligned on one axis, and what is equal once', () => {
    const expected = parsed(lines('turns: --a---(b|)', 'model: ^-!---^!', 'gone: ^!'));
    const actual = parsed(lines('turns: --a---- 30ms (b|)', 'model: ^-!---^!', 'more: -^'));
    expect(differing(expected, actual)).toBe(
      lines(
        '- turns:  --a---(b|)',
        '+ turns:  --a------- 27ms (b|)',
        '  model:  ^-!---^!',
        '+ more:   -^',
        '- gone:   ^!',
      ),
    );
  });
});
