import type { BetaMessage, BetaRawMessageStreamEvent } from '@anthropic-ai/sdk/resources/beta/messages';
import { expectTypeOf, it } from 'vitest';
import type { Script, ScriptEntry } from '../../examples/server';
import type { Message, MessageStreamEvent } from '../../src/messages';

it('takes in a script what the library and the SDK call a message and an event', () => {
  expectTypeOf<BetaMessage>().toExtend<ScriptEntry>();
  expectTypeOf<readonly BetaRawMessageStreamEvent[]>().toExtend<ScriptEntry>();
  expectTypeOf<Message>().toExtend<ScriptEntry>();
  expectTypeOf<readonly MessageStreamEvent[]>().toExtend<ScriptEntry>();
  expectTypeOf<(request: { model: string }) => Promise<Message>>().toExtend<Script>();
  expectTypeOf<{ content: string }>().not.toExtend<ScriptEntry>();
});
