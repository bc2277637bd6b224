import { storyOf, type Episode } from './story';

const row = 26;
const margin = 12;
const letter = 8;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const style =
  'text{font:13px ui-monospace,Menlo,Consolas,monospace;fill:#1f2328}.label,.time{fill:#59636e}' +
  '.request{fill:#ddf4ff;stroke:#0969da}.tool{fill:#dafbe1;stroke:#1a7f37}.failed{fill:#ffebe9;stroke:#cf222e}' +
  '.cancelled{stroke-dasharray:4 3}.arrival{fill:#0969da}.edit{fill:#9a6700}.grid{stroke:#d1d9e0}';

/** A round number of milliseconds between two marks of the axis. */
const step = (until: number): number => {
  for (let power = 1; ; power *= 10)
    for (const digit of [1, 2, 5]) if (until / (digit * power) <= 8) return digit * power;
};

/**
 * A recorded run as a picture: a lane for each request, each run of a tool, and the edits that show in the requests,
 * over time. A broken outline is what was unsubscribed or had not ended; red is what failed.
 *
 * Throws a `SyntaxError` for what is no cassette.
 *
 * @param width pixels of the time axis
 *
 * @example
 * ```ts
 * import { readFileSync, writeFileSync } from 'node:fs';
 * import { toSvg } from 'rx-tool-runner/testing';
 *
 * const draw = (file: string) => writeFileSync(`${file}.svg`, toSvg(readFileSync(file, 'utf8'), { width: 1200 }));
 * ```
 */
export const toSvg = (cassette: string, { width = 800 } = {}): string => {
  const { episodes: lanes, edits, until } = storyOf(cassette);
  const labels = [...lanes.map(({ label }) => label), ...(edits.length > 0 ? ['edits'] : [])];
  const left = margin + Math.max(0, ...labels.map(label => label.length)) * letter + 12;
  const x = (at: number): number => Math.round((left + (at / Math.max(until, 1)) * width) * 10) / 10;
  const y = (index: number): number => margin + row * (index + 1);
  const [bottom, total] = [y(labels.length), left + width + 2 * margin + 60];

  const grid: string[] = [];
  for (let at = 0; at <= until; at += step(until)) {
    grid.push(
      `<path class="grid" d="M${x(at)} ${margin + 8}V${bottom}"/>`,
      `<text class="time" x="${x(at)}" y="${margin + 4}">${at} ms</text>`,
    );
  }
  const label = (text: string, index: number): string =>
    `<text class="label" x="${margin}" y="${y(index) + 17}">${escaped(text)}</text>`;
  const lane = (episode: Episode, index: number): string[] => {
    const { from, to, ended, arrivals, kind } = episode;
    const cancelled = ended === undefined || ended === 'unsubscribe';
    const classes = [kind, ...(ended === 'error' ? ['failed'] : []), ...(cancelled ? ['cancelled'] : [])];
    const wide = Math.max(2, Math.round((x(to ?? until) - x(from)) * 10) / 10);
    return [
      label(episode.label, index),
      `<rect class="${classes.join(' ')}" x="${x(from)}" y="${y(index) + 4}" width="${wide}" height="${row - 8}" rx="3"/>`,
      ...arrivals.map(({ at }) => `<circle class="arrival" cx="${x(at)}" cy="${y(index) + row / 2}" r="2"/>`),
    ];
  };
  const edited = edits.map(
    ({ at, what }) => `<text class="edit" x="${x(at)}" y="${y(lanes.length) + 17}">▴ ${escaped(what)}</text>`,
  );
  const height = bottom + margin;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${total}" height="${height}" viewBox="0 0 ${total} ${height}" role="img" aria-label="A recorded run">
<style>${style}</style>
<rect width="${total}" height="${height}" fill="#fff"/>
${[...grid, ...lanes.flatMap(lane), ...(edits.length > 0 ? [label('edits', lanes.length)] : []), ...edited].join('\n')}
</svg>
`;
};
