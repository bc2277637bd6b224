/**
 * Faults on request. In a header, a CLI word or a script they are written as a comma list of `kind;option=value`:
 *
 * - `429`, `500`, `529`, any status: answer with that error; options `retry-after` (seconds), `retry-after-ms`,
 *   `should-retry`, `type`, `message`
 * - `error-event`: an error event inside a 200; options `after`, `type`, `message`
 * - `cut`: the socket dies; `end`: the body ends early, but properly; `malformed`: an event that is no JSON;
 *   `stall`: silence until the client goes; option `after`
 * - `refuse-connection`: the socket dies before any answer
 * - `slow`: `bytes` at a time (default 1), every piece in a turn of the event loop of its own or `ms` apart
 *
 * `after=N` lets N events pass first (pings not counted; in a plain reply N bytes of its body). `times=N` makes only the
 * first N attempts fail. Faults of a list are tried in order, so `429;times=1, 529;times=1` fails twice, differently.
 */
export interface Fault {
  readonly kind:
    'status' | 'error-event' | 'cut' | 'end' | 'malformed' | 'stall' | 'refuse-connection' | 'slow';
  readonly status?: number;
  readonly type?: string;
  readonly message?: string;
  readonly details?: object;
  readonly retryAfter?: string;
  readonly retryAfterMs?: number;
  readonly shouldRetry?: boolean;
  readonly after?: number;
  readonly bytes?: number;
  readonly ms?: number;
  readonly times?: number;
  /** Scripts only. Ends a `stall`, after which the reply goes on. */
  readonly until?: PromiseLike<unknown>;
}

const KINDS = ['error-event', 'cut', 'end', 'malformed', 'stall', 'refuse-connection', 'slow'] as const;

const ERROR_TYPES: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  408: 'timeout_error',
  409: 'conflict_error',
  413: 'request_too_large',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

const ERROR_MESSAGES: Readonly<Record<number, string>> = {
  429: 'This request would exceed your rate limit. Please try again later.',
  500: 'Internal server error',
  529: 'Overloaded',
};

export const errorType = (status: number): string => ERROR_TYPES[status] ?? 'api_error';
export const errorMessage = (status: number): string =>
  ERROR_MESSAGES[status] ?? `Status ${status}, on request`;

/** Reads the comma list of faults; throws a `TypeError` that names what it can't read. */
export function parseFaults(text: string): Fault[] {
  return text
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')
    .map(parseFault);
}

function parseFault(text: string): Fault {
  const [name = '', ...options] = text.split(';').map(part => part.trim());
  const status = /^[1-5]\d\d$/.test(name) ? Number(name) : undefined;
  const kind = status === undefined ? KINDS.find(known => known === name) : 'status';
  if (kind === undefined) throw new TypeError(`misbehave: unknown fault '${name}'`);
  const fault: { -readonly [Key in keyof Fault]: Fault[Key] } = { kind };
  if (status !== undefined) fault.status = status;
  for (const option of options) {
    const [key = '', value = ''] = option.split('=');
    switch (key) {
      case 'after':
      case 'bytes':
      case 'ms':
      case 'times':
        fault[key] = whole(key, value);
        break;
      case 'retry-after':
        fault.retryAfter = value;
        break;
      case 'retry-after-ms':
        fault.retryAfterMs = whole(key, value);
        break;
      case 'should-retry':
        fault.shouldRetry = value !== 'false';
        break;
      case 'type':
      case 'message':
        fault[key] = value;
        break;
      default:
        throw new TypeError(`misbehave: unknown option '${key}' of '${name}'`);
    }
  }
  return fault;
}

function whole(key: string, value: string): number {
  if (!/^\d+$/.test(value)) throw new TypeError(`misbehave: ${key} is a whole number, not '${value}'`);
  return Number(value);
}

const WORDS: Readonly<Record<string, string>> = {
  overloaded: '529;times=1;retry-after-ms=1',
  'rate limit': '429;times=1;retry-after=1',
  error: '500',
  'error event': 'error-event;after=3',
  cut: 'cut;after=3',
  slow: 'slow;bytes=8;ms=20',
  stall: 'stall;after=3',
  malformed: 'malformed;after=3',
};

/** Faults asked for in the user's own words: `[overloaded]`, `[slow]`, or in full `[misbehave 529;times=2]`. */
export function faultsInWords(text: string): Fault[] {
  if (!text.includes('[')) return [];
  return [...text.matchAll(/\[([^\]]+)\]/g)].flatMap(([, words = '']) => {
    const long = /^misbehave (.*)$/i.exec(words)?.[1];
    const known = long ?? WORDS[words.toLowerCase()];
    return known === undefined ? [] : parseFaults(known);
  });
}

/**
 * Counts attempts, so that `times=N` ends: `take` gives the faults that still hold for this request, up to and with
 * the first that answers it. Attempts are told apart by what was asked, for a retry sends the same bytes again.
 */
export function faultCounter(): { take(faults: readonly Fault[], attempt: string): Fault[] } {
  const spent = new Map<string, number>();
  return {
    take(faults, attempt) {
      const taken: Fault[] = [];
      for (const [at, fault] of faults.entries()) {
        const key = `${at} ${JSON.stringify(fault)} ${attempt}`;
        if (fault.times !== undefined) {
          const before = spent.get(key) ?? 0;
          if (before >= fault.times) continue;
          spent.set(key, before + 1);
        }
        taken.push(fault);
        if (fault.kind !== 'slow') break;
      }
      return taken;
    },
  };
}
