import { InjectionToken } from '@angular/core';
import type { ToolRunnerParams } from '../runner';
import type { Fetch, MessageSource } from '../sources';

/** Where the runs of an injector get their replies from; {@link provideToolRunner} provides it. */
export const MESSAGE_SOURCE = /* @__PURE__ */ new InjectionToken<MessageSource>(
  'the MessageSource of provideToolRunner',
);

/** Params that every run of an injector starts from. */
export const RUN_DEFAULTS = /* @__PURE__ */ new InjectionToken<Partial<ToolRunnerParams>>(
  'the defaults of provideToolRunner',
);

/** What sends the requests of `withMessagesApi`, where that is not messagesApi's own fetch. */
export const FETCH = /* @__PURE__ */ new InjectionToken<Fetch>('the fetch of provideToolRunner');
