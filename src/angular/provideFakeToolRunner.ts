import type { EnvironmentProviders } from '@angular/core';
import type { ToolRunnerParams } from '../runner';
import { scripted, type MessageSource, type ScriptedReply } from '../sources';
import { provideToolRunner, withDefaults, withMessageSource } from './provideToolRunner';

/**
 * For `TestBed`: as {@link provideToolRunner}, with replies from a script and nothing sent anywhere. Give a list of
 * replies, which each injector plays from the start, or a source: of `scripted(...)` a test keeps the `requests`. There is a `model` and a `max_tokens`, so that
 * services find what their application provides; `defaults` replace them.
 *
 * @example
 * ```ts no-run
 * import { TestBed } from '@angular/core/testing';
 * import { finalMessage, scripted, type Message } from 'rx-tool-runner';
 * import { injectToolRunner, provideFakeToolRunner } from 'rx-tool-runner/angular';
 *
 * declare const reply: Message;
 *
 * const source = scripted([reply]);
 * TestBed.configureTestingModule({ providers: [provideFakeToolRunner(source)] });
 * const { toolRunner } = TestBed.runInInjectionContext(injectToolRunner);
 * toolRunner({ messages: [{ role: 'user', content: 'Hello' }] })
 *   .pipe(finalMessage())
 *   .subscribe(({ content }) => console.log(content, source.requests.length));
 * ```
 */
export const provideFakeToolRunner = (
  script: readonly ScriptedReply[] | MessageSource,
  defaults: Partial<ToolRunnerParams> = {},
): EnvironmentProviders =>
  provideToolRunner(
    withMessageSource(() => ('stream' in script ? script : scripted(script))),
    withDefaults({ model: 'claude-fake', max_tokens: 1024, ...defaults }),
  );
