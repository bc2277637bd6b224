import { defer, firstValueFrom, from, lastValueFrom, of, ReplaySubject, skip, Subject, toArray } from 'rxjs';
import type { MessageParam, MessageSource, RunnerError } from 'rx-tool-runner';
import { afterAll, expect, it, vi } from 'vitest';
import * as allMessages from '../../examples/guide/allMessages';
import * as approval from '../../examples/guide/approval';
import * as cacheInnerBlock from '../../examples/guide/cacheInnerBlock';
import * as cacheToolResults from '../../examples/guide/cacheToolResults';
import * as changeParams from '../../examples/guide/changeParams';
import * as classTools from '../../examples/guide/classTools';
import * as codecTools from '../../examples/guide/codecTools';
import * as compactOnDemand from '../../examples/guide/compactOnDemand';
import * as definitions from '../../examples/guide/definitions';
import * as errorAsResult from '../../examples/guide/errorAsResult';
import * as finalMessage from '../../examples/guide/finalMessage';
import * as followUp from '../../examples/guide/followUp';
import * as forAwait from '../../examples/guide/forAwait';
import * as jsonSchemaTools from '../../examples/guide/jsonSchemaTools';
import * as lastTurn from '../../examples/guide/lastTurn';
import * as lifecycle from '../../examples/guide/lifecycle';
import * as limits from '../../examples/guide/limits';
import * as logging from '../../examples/guide/logging';
import * as logToolErrors from '../../examples/guide/logToolErrors';
import * as mapToolResults from '../../examples/guide/mapToolResults';
import * as optionalFields from '../../examples/guide/optionalFields';
import * as ownHistory from '../../examples/guide/ownHistory';
import * as parallelTools from '../../examples/guide/parallelTools';
import * as replaceToolErrors from '../../examples/guide/replaceToolErrors';
import * as retryOnMaxTokens from '../../examples/guide/retryOnMaxTokens';
import * as serverCompaction from '../../examples/guide/serverCompaction';
import * as stepping from '../../examples/guide/stepping';
import * as stopOnToolError from '../../examples/guide/stopOnToolError';
import * as streamEvents from '../../examples/guide/streamEvents';
import * as streamInputs from '../../examples/guide/streamInputs';
import * as streamText from '../../examples/guide/streamText';
import * as streamTextAndInput from '../../examples/guide/streamTextAndInput';
import * as strictTools from '../../examples/guide/strictTools';
import * as summarizeHistory from '../../examples/guide/summarizeHistory';
import * as toolError from '../../examples/guide/toolError';
import * as zodTools from '../../examples/guide/zodTools';
import type { Example } from '../../examples/guide/support/main';
import type { Script } from '../../examples/server';
import { key, startApi, type Api } from '../support/api';
import { collect, type Collected } from '../support/collect';
import { recordingLogger } from '../support/logger';
import { settled } from '../support/unhandled';
import { examples } from './outline';

/** What the model of the local server says of itself. */
const model: Script = () => undefined;

interface Shown extends Api {
  readonly printed: Collected<string>;
}

/** Runs an example to its end, over a server of the test's own. */
const show = async (example: Example, script: Script = model): Promise<Shown> => {
  const api = await startApi(script);
  const printed = collect(from(example(api.source)));
  await printed.ended;
  return { ...api, printed };
};

const histories = ({ bodies }: Api) => bodies().map(({ messages }) => messages);

const tested = new Set<string>();

/** A test of an example. */
const shows = (name: string, what: string, test: () => Promise<void>): void => {
  tested.add(name);
  it(`${name}: ${what}`, test);
};

afterAll(() => {
  expect([...tested].sort()).toEqual(examples());
});

/** For tools that fail: the console hears of it. */
const onConsole = () => vi.spyOn(console, 'warn').mockImplementation(() => undefined);

const weatherAndSum = 'What is the weather in Lisbon, and how much is 19 + 23?';
const weather = 'What is the weather in Lisbon?';
const bothCalls = [
  { type: 'text', text: "I'll use get_weather and calculate_sum." },
  { type: 'tool_use', id: 'toolu_0001_1', name: 'get_weather', input: { city: 'Lisbon' } },
  { type: 'tool_use', id: 'toolu_0001_2', name: 'calculate_sum', input: { a: 19, b: 23 } },
];
const said = [
  "I'll use get_weather and calculate_sum.",
  'Weather (Lisbon): Lisbon: 21 °C, cloudy. 19 + 23 = 42.',
];

const user = (content: MessageParam['content']) => ({ role: 'user', content });
const assistant = (...content: readonly object[]) => ({ role: 'assistant', content });
const result = (id: string, content: unknown, fields: object = {}) => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...fields,
});
const answers = (...content: readonly object[]) => ({ role: 'user', content });

/** The history of the question about the weather, up to its result. */
const askedWeather = (content: unknown, fields: object = {}) => [
  user(weather),
  assistant(
    { type: 'text', text: "I'll use get_weather." },
    { type: 'tool_use', id: 'toolu_0001_1', name: 'get_weather', input: { city: 'Lisbon' } },
  ),
  answers(result('toolu_0001_1', content, fields)),
];
const cloudy = 'Lisbon: 21 °C, cloudy';

const object = (properties: object, required: readonly string[], closed = true) => ({
  type: 'object',
  properties,
  required,
  ...(closed && { additionalProperties: false }),
});
const sumOf = (input_schema: object, fields: object = {}) => ({
  name: 'calculate_sum',
  description: 'The sum of two numbers',
  input_schema,
  ...fields,
});
const celsius = ['celsius', 'fahrenheit'];

shows('codecTools', 'schemas, the default, and both requests', async () => {
  const api = await show(codecTools.example);
  expect(api.printed.values).toEqual([
    JSON.stringify(bothCalls),
    JSON.stringify([
      { type: 'text', text: 'Weather (Lisbon): temperature 21, unit celsius, sky cloudy. 19 + 23 = 42.' },
    ]),
  ]);
  for (const { model: name, max_tokens, tools } of api.bodies()) {
    expect({ name, max_tokens }).toEqual({ name: 'claude-opus-5-5', max_tokens: 1024 });
    expect(tools).toEqual([
      {
        name: 'get_weather',
        description: 'The weather of a city at this moment',
        input_schema: object(
          {
            city: {
              type: 'string',
              description: 'Name of the city, and of its country if there are two: Córdoba, Spain',
            },
            unit: {
              type: 'string',
              enum: celsius,
              default: 'celsius',
              description: 'Unit of the temperature',
            },
          },
          ['city'],
        ),
      },
      sumOf(
        object(
          {
            a: { type: 'integer', description: 'First summand' },
            b: { type: 'integer', description: 'Second summand' },
          },
          ['a', 'b'],
        ),
      ),
    ]);
  }
  expect(histories(api)).toEqual([
    [user(weatherAndSum)],
    [
      user(weatherAndSum),
      assistant(...bothCalls),
      answers(
        result('toolu_0001_1', '{"temperature":21,"unit":"celsius","sky":"cloudy"}'),
        result('toolu_0001_2', '42'),
      ),
    ],
  ]);
});

shows(
  'codecTools',
  'an input that does not validate goes back to the model, and never to the tool',
  async () => {
    const wrong = { type: 'tool_use', id: 'toolu_1', name: 'calculate_sum', input: { a: 1.5, b: 'two' } };
    const api = await show(codecTools.example, [{ content: [wrong] }, 'Sorry.']);
    expect(histories(api)[1]?.at(-1)).toEqual(
      answers(
        result(
          'toolu_1',
          expect.stringMatching(
            /^Error: Invalid input for tool 'calculate_sum':\n- a: expected \S+.*\n- b: expected/,
          ),
          { is_error: true },
        ),
      ),
    );
  },
);

shows('zodTools', 'the schema of what goes in, and the default that comes out', async () => {
  const api = await show(zodTools.example);
  expect(api.printed.values).toEqual([`Weather (Lisbon): ${cloudy}.`]);
  expect(api.bodies()[0]?.tools).toEqual([
    {
      name: 'get_weather',
      description: 'The weather of a city at this moment',
      input_schema: object(
        {
          city: { type: 'string', description: 'Name of the city' },
          unit: { type: 'string', enum: celsius, default: 'celsius', description: 'Unit of the temperature' },
        },
        ['city'],
        false,
      ),
    },
  ]);
  expect(histories(api)).toEqual([[user(weather)], askedWeather(cloudy)]);
});

shows('jsonSchemaTools', 'the schema as it is, and the one final text', async () => {
  const api = await show(jsonSchemaTools.example);
  expect(api.printed.values).toEqual(['19 + 23 = 42.']);
  expect(api.bodies()[0]?.tools).toEqual([
    sumOf(
      object(
        {
          a: { type: 'number', description: 'First summand' },
          b: { type: 'number', description: 'Second summand' },
        },
        ['a', 'b'],
        false,
      ),
    ),
  ]);
});

shows('jsonSchemaTools', 'validates for itself', async () => {
  using _warn = onConsole();
  const wrong = { type: 'tool_use', id: 'toolu_1', name: 'calculate_sum', input: { a: 'x' } };
  const api = await show(jsonSchemaTools.example, [{ content: [wrong] }, 'Sorry.']);
  expect(histories(api)[1]?.at(-1)).toEqual(
    answers(result('toolu_1', 'Error: a and b must be numbers', { is_error: true })),
  );
});

shows('definitions', 'prints texts and calls; run gets the call', async () => {
  const api = await show(definitions.example);
  expect(api.printed.values).toEqual([
    said[0],
    '[calls get_weather]',
    '[calls calculate_sum]',
    'Weather (Lisbon): city Lisbon, temperature 21, asked toolu_0001_1. 19 + 23 = 42.',
  ]);
  expect(api.bodies()[0]?.tools?.[0]).toEqual({
    name: 'get_weather',
    description: 'The weather of a city at this moment',
    input_schema: object(
      { city: { type: 'string', description: 'Name of the city' }, unit: { type: 'string', enum: celsius } },
      ['city'],
      false,
    ),
  });
});

shows('optionalFields', 'the schema that the guide prints for Go, and results in blocks', async () => {
  const api = await show(optionalFields.example);
  expect(api.printed.values).toEqual([
    said[0],
    'Weather (Lisbon, fahrenheit): Lisbon: 70 °F, cloudy. 19 + 23 = 42.',
  ]);
  const [getWeather, calculateSum] = api.bodies()[0]?.tools ?? [];
  expect(getWeather?.input_schema).toEqual(
    object(
      {
        city: { type: 'string', description: 'Name of the city' },
        unit: { type: 'string', enum: celsius, description: 'Unit of the temperature' },
      },
      ['city'],
      false,
    ),
  );
  expect(calculateSum).toEqual(
    sumOf(
      object(
        {
          a: { type: 'integer', description: 'First summand' },
          b: { type: 'integer', description: 'Second summand' },
        },
        ['a', 'b'],
        false,
      ),
    ),
  );
  expect(histories(api)[1]?.at(-1)).toEqual(
    answers(
      result('toolu_0001_1', [{ type: 'text', text: 'Lisbon: 70 °F, cloudy' }]),
      result('toolu_0001_2', [{ type: 'text', text: '42' }]),
    ),
  );
});

shows('optionalFields', 'an error ends the run, and is handled', async () => {
  const { printed } = await show(optionalFields.example, [{ misbehave: '400;message=no' }]);
  expect(printed.values).toEqual(['failed: 400 invalid_request_error: no']);
  expect(printed.completed).toBe(true);
});

shows(
  'strictTools',
  'the schema that the guide prints for Java, strict and closed, under its beta',
  async () => {
    const api = await show(strictTools.example);
    expect(api.printed.values).toEqual([
      said[0],
      'Weather (Lisbon, celsius): Lisbon: 21 °C, cloudy (request 1). 19 + 23 = 42.',
    ]);
    expect(api.bodies()[0]?.tools).toEqual([
      {
        name: 'get_weather',
        description: 'The weather of a city at this moment',
        strict: true,
        input_schema: object(
          {
            city: { type: 'string', description: 'Name of the city' },
            unit: { type: 'string', enum: celsius, description: 'Unit of the temperature' },
          },
          ['city', 'unit'],
        ),
      },
      sumOf(
        object(
          {
            a: { type: 'number', description: 'First summand' },
            b: { type: 'number', description: 'Second summand' },
          },
          ['a', 'b'],
        ),
        { strict: true },
      ),
    ]);
    expect(api.server.requests.map(({ headers }) => headers['anthropic-beta'])).toEqual(
      Array(2).fill('structured-outputs-2025-11-13'),
    );
  },
);

shows('classTools', 'run keeps its this', async () => {
  const api = await show(classTools.example);
  expect(api.printed.values).toEqual(said);
  expect(api.bodies()[0]?.tools?.map(({ input_schema }) => input_schema)).toEqual([
    object(
      { city: { type: 'string', description: 'Name of the city' }, unit: { type: 'string', enum: celsius } },
      ['city'],
    ),
    object({ a: { type: 'integer' }, b: { type: 'integer' } }, ['a', 'b']),
  ]);
});

shows('finalMessage', 'the last reply alone', async () => {
  const api = await show(finalMessage.example);
  expect(api.printed.values).toEqual([said[1]]);
  expect(api.bodies()).toHaveLength(2);
});

shows('lastTurn', 'one run, looked at and waited for', async () => {
  const reasons: (string | null)[] = [];
  const api = await show(source => lastTurn.example(source, reason => reasons.push(reason)));
  expect(api.printed.values).toEqual([said[1]]);
  expect(reasons).toEqual(['tool_use', 'end_turn']);
  expect(api.bodies()).toHaveLength(2);
});

shows('allMessages', 'the whole conversation, its cost and its end', async () => {
  const { printed } = await show(allMessages.example);
  expect(printed.values).toEqual([
    `user: ${JSON.stringify(weatherAndSum)}`,
    `assistant: ${JSON.stringify(bothCalls)}`,
    `user: ${JSON.stringify([result('toolu_0001_1', cloudy), result('toolu_0001_2', '42')])}`,
    `assistant: ${JSON.stringify([{ type: 'text', text: said[1] }])}`,
    '2 turns, ended by end_turn, 32 tokens written',
  ]);
});

shows('limits', 'a run that is left sends nothing more; one that is limited has run its tools', async () => {
  const api = await show(limits.example);
  expect(api.printed.values).toEqual([
    `left after: ${said[0] ?? ''}`,
    '1 turn, ended by max_iterations, 3 messages',
  ]);
  expect(histories(api)).toEqual([[user(weatherAndSum)], [user(weatherAndSum)]]);
});

shows('lifecycle', 'what happens, in its order', async () => {
  const { printed } = await show(lifecycle.example);
  expect(printed.values).toEqual([
    'request: user',
    'reply: tool_use',
    'get_weather: start',
    'get_weather: end',
    'results: 1',
    'next: request, since tool_use',
    'request: user, assistant, user',
    'reply: end_turn',
    'next: end, since end_turn',
  ]);
});

shows('parallelTools', 'two at a time, results in the order of the calls', async () => {
  const api = await show(parallelTools.example);
  expect(api.printed.values).toEqual([
    'start {"city":"Lisbon"}',
    'start {"city":"Porto"}',
    'end {"city":"Porto"}',
    'start {"city":"Faro"}',
    'end {"city":"Lisbon"}',
    'end {"city":"Faro"}',
  ]);
  expect(histories(api)[1]?.at(-1)).toEqual(
    answers(
      ...['Lisbon', 'Porto', 'Faro'].map((city, at) =>
        result(`toolu_0001_${at + 1}`, `${city}: 21 °C, cloudy`),
      ),
    ),
  );
});

shows('approval', 'what is denied does not run, and the model hears why', async () => {
  const questions: string[] = [];
  const api = await show(source =>
    approval.example(source, question => {
      questions.push(question);
      return of(question.includes('draft'));
    }),
  );
  expect(questions).toEqual(
    ['draft.txt', 'report.txt'].map(path => `May it delete_file ${JSON.stringify({ path })}?`),
  );
  expect(histories(api)[1]?.at(-1)).toEqual(
    answers(
      result('toolu_0001_1', 'draft.txt is deleted'),
      result('toolu_0001_2', 'The user wants to keep it', { is_error: true }),
    ),
  );
  expect(api.printed.values).toEqual([
    "Delete file (draft.txt): draft.txt is deleted. I'm sorry, delete_file failed (report.txt): The user wants to keep it.",
  ]);
});

shows('followUp', 'the reply, its results, the follow-up; the run ends as it would have', async () => {
  const api = await show(followUp.example);
  expect(histories(api)).toEqual([[user(weather)], [...askedWeather(cloudy), user('One sentence will do.')]]);
  expect(api.printed.values).toHaveLength(2);
});

shows('ownHistory', 'sends what it builds, and runs the tool once', async () => {
  const api = await show(ownHistory.example);
  expect(histories(api)).toEqual([[user(weather)], [...askedWeather(cloudy), user('One sentence will do.')]]);
  expect(api.printed.values).toHaveLength(2);
  expect(api.printed.completed).toBe(true);
});

shows('ownHistory', 'a failed result goes out without what was thrown', async () => {
  const wrong = { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: {} };
  const api = await show(ownHistory.example, [{ content: [wrong] }, 'Sorry.']);
  expect(api.printed.error).toBeUndefined();
  expect(histories(api)[1]?.slice(1)).toEqual([
    assistant(wrong),
    answers(result('toolu_1', expect.stringContaining('city: expected string'), { is_error: true })),
    user('One sentence will do.'),
  ]);
});

shows('changeParams', 'from the next request on, the history untouched', async () => {
  const api = await show(changeParams.example);
  expect(api.printed.values).toEqual([
    "1024 tokens at most: I'll use get_weather.",
    `2048 tokens at most: ${said[1]?.replace(' 19 + 23 = 42.', '') ?? ''}`,
  ]);
  expect(api.bodies().map(({ max_tokens }) => max_tokens)).toEqual([1024, 2048]);
  expect(histories(api)).toEqual([[user(weather)], askedWeather(cloudy)]);
});

shows('retryOnMaxTokens', 'the same messages with twice the budget', async () => {
  const api = await show(retryOnMaxTokens.example);
  expect(api.printed.values).toEqual([
    expect.stringMatching(/^tool_use: \d+ tokens of 1024$/),
    'cut at 1024 tokens, once more with twice as many',
    expect.stringMatching(/^end_turn: \d+ tokens of 2048$/),
  ]);
  expect(api.bodies().map(({ max_tokens }) => max_tokens)).toEqual([1024, 1024, 2048]);
  const [, cut, again] = histories(api);
  expect(again).toEqual(cut);
  expect(cut?.at(-1)?.content).toHaveLength(10);
});

shows('retryOnMaxTokens', 'ends at the ceiling', async () => {
  const cut = { content: [{ type: 'text', text: 'All work and' }], stop_reason: 'max_tokens' };
  const api = await show(retryOnMaxTokens.example, () => cut);
  expect(api.printed.values).toEqual([
    ...[1024, 2048, 4096].map(tokens => `cut at ${tokens} tokens, once more with twice as many`),
    'cut at 8192 tokens, which have to do',
  ]);
  expect(api.printed.completed).toBe(true);
  expect(api.bodies().map(({ max_tokens }) => max_tokens)).toEqual([1024, 2048, 4096, 8192]);
  expect(new Set(histories(api).map(messages => JSON.stringify(messages))).size).toBe(1);
});

const porto = 'And what is the weather in Porto?';

shows('stepping', 'one request a click, and what was fed in goes out behind the results', async () => {
  const clicks$ = new Subject<void>();
  const printed$ = new ReplaySubject<string>(Infinity);
  const api = await startApi(model);
  let sent = 0;
  const create: MessageSource['create'] = request =>
    defer(() => {
      sent++;
      return api.source.create(request);
    });
  stepping.example({ ...api.source, create }, clicks$).subscribe(printed$);
  for (const step of [1, 2]) {
    await firstValueFrom(printed$.pipe(skip(step - 1)));
    // Whatever would follow by itself has done so by now.
    await settled();
    expect(sent).toBe(step);
    clicks$.next();
    expect(sent).toBe(step + 1);
  }
  const lines = await lastValueFrom(printed$.pipe(toArray()));
  expect(lines.map(line => line.slice(0, 20))).toEqual([
    '1024 tokens at most:',
    '2048 tokens at most:',
    '2048 tokens at most:',
  ]);
  expect(histories(api)[1]).toEqual([...askedWeather(cloudy), user(porto)]);
  expect(api.bodies().map(({ max_tokens }) => max_tokens)).toEqual([1024, 2048, 2048]);
  expect(clicks$.observed).toBe(false);
});

shows('forAwait', 'the body has the turn, and its results if it asks', async () => {
  const api = await show(forAwait.example);
  expect(api.printed.values).toEqual([
    "1024 tokens at most: I'll use get_weather.",
    '1 results',
    "2048 tokens at most: I'll use get_weather.",
    '1 results',
    '2048 tokens at most: Weather (Lisbon): Lisbon: 21 °C, cloudy. Weather (Porto): Porto: 21 °C, cloudy.',
    '0 results',
  ]);
  expect(histories(api)[1]).toEqual([...askedWeather(cloudy), user(porto)]);
});

const compaction = { type: 'compaction', content: 'So far: nothing.', encrypted_content: 'ZW5j' };
const getWeatherCall = { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Lisbon' } };

shows('serverCompaction', 'the param is on every request, and a paused reply goes back', async () => {
  const api = await show(
    source => serverCompaction.example(source, 60_000),
    [{ content: [compaction], stop_reason: 'compaction' }, { content: [getWeatherCall] }, 'Cloudy.'],
  );
  expect(api.printed.values).toEqual(['compaction: compaction', 'tool_use: tool_use', 'end_turn: text']);
  for (const { context_management } of api.bodies()) {
    expect(context_management).toEqual({
      edits: [
        {
          type: 'compact_20260112',
          trigger: { type: 'input_tokens', value: 60_000 },
          pause_after_compaction: true,
        },
      ],
    });
  }
  expect(histories(api)[1]).toEqual([user(weather), assistant(compaction)]);
  expect(api.server.requests.map(({ headers }) => headers['anthropic-beta'])).toEqual(
    Array(3).fill('compact-2026-01-12'),
  );
});

shows('compactOnDemand', 'a request of its own, and then the summary alone', async () => {
  const api = await show(compactOnDemand.example);
  expect(api.printed.values).toEqual([
    "reply to 1 messages: I'll use get_weather.",
    'compaction to 3 messages: ',
    'reply to 1 messages: All done.',
  ]);
  expect(api.bodies()[1]).toMatchObject({
    compaction: { type: 'summarize', instructions: 'Keep every temperature.' },
    messages: askedWeather(cloudy),
  });
  expect(histories(api)[2]).toMatchObject([{ role: 'assistant', content: [{ type: 'compaction' }] }]);
});

shows('summarizeHistory', 'asks for a summary above the threshold, and goes on from it', async () => {
  const summaries: string[] = [];
  const usage = (input_tokens: number) => ({ usage: { input_tokens, output_tokens: 10 } });
  const api = await show(
    source => summarizeHistory.example(source, 1000, line => summaries.push(line)),
    [{ content: [getWeatherCall], ...usage(2000) }, 'Lisbon is cloudy, Porto and Faro are left.', 'Done.'],
  );
  expect(summaries).toEqual(['summary: Lisbon is cloudy, Porto and Faro are left.']);
  expect(api.printed.values).toEqual(['to 1 messages: ', 'to 1 messages: Done.']);
  const [first, asked, last] = histories(api);
  expect(asked?.slice(0, -1)).toEqual([
    ...(first ?? []),
    assistant(getWeatherCall),
    answers(result('toolu_1', cloudy)),
  ]);
  expect(last).toEqual([user('Lisbon is cloudy, Porto and Faro are left.')]);
});

for (const level of ['info', 'debug']) {
  shows('logging', `ANTHROPIC_LOG=${level}: requests, turns and tools, and no secret`, async () => {
    vi.stubEnv('ANTHROPIC_LOG', level);
    const logger = recordingLogger();
    const { source } = await startApi(model, {}, { logger });
    const printed = collect(logging.example(source, logger));
    await printed.ended;
    expect(printed.values).toEqual([
      "I'm sorry, get_weather failed (Lisbon): Error: no station in Lisbon. 19 + 23 = 42.",
    ]);
    const lines = logger.lines.map(([at, line]) => `${at} ${String(line).replace(/\d+ ms/, '_ ms')}`);
    expect(lines).toEqual(
      expect.arrayContaining([
        'info POST /v1/messages 200 in _ ms, request-id req_0001',
        'info turn 0: request of claude-opus-5-5, 1 message',
        'warn Tool "get_weather" failed: Error: no station in Lisbon',
        'info turn 0: tool "get_weather" failed after _ ms',
        'info turn 0: tool "calculate_sum" ok after _ ms',
        'info turn 0: request, since tool_use',
        'info turn 1: end, since end_turn',
      ]),
    );
    expect(lines.some(line => line.startsWith('debug '))).toBe(level === 'debug');
    const text = JSON.stringify(logger.lines);
    expect(text.includes(weatherAndSum)).toBe(level === 'debug');
    expect(text).not.toContain(key);
  });
}

shows('logging', 'without ANTHROPIC_LOG a tool that fails is logged all the same', async () => {
  vi.stubEnv('ANTHROPIC_LOG', 'warn');
  const logger = recordingLogger();
  const api = await startApi(model);
  await collect(logging.example(api.source, logger)).ended;
  expect(logger.lines).toEqual([['warn', 'Tool "get_weather" failed: Error: no station in Lisbon']]);
});

const momo = 'Find the book "Momo"';
const bookAnswered = (content: string) => [
  user(momo),
  assistant(
    { type: 'text', text: "I'll use find_book." },
    { type: 'tool_use', id: 'toolu_0001_1', name: 'find_book', input: { title: 'Momo' } },
  ),
  answers(result('toolu_0001_1', content, { is_error: true })),
];

shows('stopOnToolError', 'ends the run before anything more is sent', async () => {
  using warn = onConsole();
  const api = await show(stopOnToolError.example);
  const error = api.printed.error as RunnerError;
  expect(error.message).toBe('a tool has failed: "Error: the catalogue is closed"');
  expect(api.printed.values).toEqual(["I'll use find_book."]);
  expect(histories(api)).toEqual([[user(momo)]]);
  expect(error.state.pending?.message.content).toHaveLength(2);
  expect(warn.mock.calls).toEqual([['Tool "find_book" failed: Error: the catalogue is closed']]);
});

shows('logToolErrors', 'looks at what failed, and lets it go on', async () => {
  using _warn = onConsole();
  const lines: string[] = [];
  const api = await show(source => logToolErrors.example(source, line => lines.push(line)));
  expect(lines).toEqual(['Error: "Error: the catalogue is closed"']);
  expect(histories(api)[1]).toEqual(bookAnswered('Error: the catalogue is closed'));
  expect(api.printed.completed).toBe(true);
});

shows('replaceToolErrors', 'sends another content, still as an error', async () => {
  using _warn = onConsole();
  const api = await show(replaceToolErrors.example);
  expect(histories(api)[1]).toEqual(bookAnswered('Closed until Monday.'));
});

shows('toolError', 'its blocks are what the model gets, and nothing is logged', async () => {
  using warn = onConsole();
  const api = await show(toolError.example);
  const blocks = ['The weather service does not answer.', 'The forecast of yesterday was: rain.'];
  expect(histories(api)[1]).toEqual(
    askedWeather(
      blocks.map(text => ({ type: 'text', text })),
      { is_error: true },
    ),
  );
  expect(warn).not.toHaveBeenCalled();
});

shows('errorAsResult', 'is a success to the model', async () => {
  const api = await show(errorAsResult.example);
  expect(histories(api)[1]).toEqual(askedWeather('Nothing is known of Lisbon today.'));
});

/** The blocks of a request that are marked for the cache. */
const marked = (messages: unknown): unknown[] => {
  const found: unknown[] = [];
  JSON.stringify(messages, (_, value: unknown) => {
    if (typeof value === 'object' && value !== null && 'cache_control' in value) found.push(value);
    return value;
  });
  return found;
};

shows('cacheToolResults', 'one mark, on the last result', async () => {
  const api = await show(cacheToolResults.example);
  const long = (query: string): string => `Of ${query} there is a lot to read. `.repeat(20).trim();
  const cache_control = { type: 'ephemeral' };
  expect(histories(api).map(marked)).toEqual([
    [],
    [result('toolu_0001_1', long('fog'), { cache_control })],
    [result('toolu_0002_1', long('rain'), { cache_control })],
  ]);
  expect(api.printed.values).toEqual([
    '0 tokens read from the cache',
    '0 tokens read from the cache',
    expect.stringMatching(/^[1-9]\d* tokens read from the cache$/),
  ]);
});

const searched = (content: unknown, fields: object = {}) => [
  user('Search for "fog"'),
  assistant(
    { type: 'text', text: "I'll use search_documents." },
    { type: 'tool_use', id: 'toolu_0001_1', name: 'search_documents', input: { query: 'fog' } },
  ),
  answers(result('toolu_0001_1', content, fields)),
];

shows('mapToolResults', 'what it returns is what is sent', async () => {
  const api = await show(mapToolResults.example);
  expect(histories(api)[1]).toEqual(
    searched('Of fog there is a lot to read. …', { cache_control: { type: 'ephemeral' } }),
  );
});

shows('cacheInnerBlock', 'the mark is on the block inside', async () => {
  const api = await show(cacheInnerBlock.example);
  expect(histories(api)[1]).toEqual(
    searched([{ type: 'text', text: '3 documents are about fog', cache_control: { type: 'ephemeral' } }]),
  );
});

shows('streamEvents', 'every event of every turn, and its message', async () => {
  const api = await show(streamEvents.example);
  const start = ['message_start', 'content_block_start', 'content_block_delta'];
  expect(api.printed.values.filter(line => start.includes(line.replace('event: ', '')))).not.toEqual([]);
  const turns = api.printed.values.join('\n').split(/^message: .*$/m);
  expect(turns).toHaveLength(3);
  for (const turn of turns.slice(0, 2)) {
    const types = turn.match(/(?<=^event: )\w+$/gm) ?? [];
    expect(types.slice(0, 3)).toEqual(start);
    expect(types.slice(-3)).toEqual(['content_block_stop', 'message_delta', 'message_stop']);
  }
  expect(api.printed.values.filter(line => line.startsWith('message: '))).toEqual([
    `message: ${JSON.stringify([
      { type: 'text', text: "I'll use calculate_sum." },
      { type: 'tool_use', id: 'toolu_0001_1', name: 'calculate_sum', input: { a: 19, b: 23 } },
    ])}`,
    `message: ${JSON.stringify([{ type: 'text', text: '19 + 23 = 42.' }])}`,
  ]);
  expect(api.server.requests.map(({ body }) => body?.stream)).toEqual([true, true]);
});

shows('streamText', 'text in pieces, a line a reply', async () => {
  const { printed } = await show(streamText.example);
  expect(printed.values.join('')).toBe("I'll use calculate_sum.\n19 + 23 = 42.\n");
  expect(printed.values.length).toBeGreaterThan(4);
});

shows('streamTextAndInput', 'text and inputs in pieces', async () => {
  const { printed } = await show(streamTextAndInput.example);
  expect(printed.values.join('')).toBe(`I'll use calculate_sum.{"a":19,"b":23}\n19 + 23 = 42.\n`);
  expect(printed.values).not.toContain('{"a":19,"b":23}');
});

shows('streamInputs', 'a field as soon as it is certain', async () => {
  const { printed } = await show(streamInputs.example);
  expect([...new Set(printed.values)]).toEqual(['… + … …', '19 + … …', '19 + 23 …', '19 + 23']);
});
