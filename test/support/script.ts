import type { OperatorFunction } from 'rxjs';
import type { Message, ToolRunnerParams, TurnHandle } from 'rx-tool-runner';
import {
  assistant,
  block,
  reply,
  results,
  runAgent,
  user,
  type AgentDiagrams,
  type AgentParts,
  type AgentRun,
  type Drawn,
} from 'rx-tool-runner/testing';
import { end, params } from './operatorLaws';
import type { Runner } from './runners';
import { fakeTool } from './tools';

/** What the history of most runs begins with. */
export const go = user('go');

/** Two replies that call the tool `t`: with ids '1' and '2'. */
export const one = reply.toolUse('t', {}, '1');
export const two = reply.toolUse('t', {}, '2');

/** The tool that they call. */
export const tools = [fakeTool('t', () => 'x')];

/** The history when that tool has run for the first of them. */
export const answered = [go, assistant(one), results(block.toolResult('1', 'x'))];

/** The reply to a request that compacts. */
export const compacted = (content: string | null): Message =>
  reply.of([{ type: 'compaction', content, encrypted_content: null }], { stop_reason: 'compaction' });
export const summary = compacted('so far');

/**
 * Runs a script of diagrams through an operator, as `play` does one of replies.
 *
 * Unless the diagrams say else, the letters of `model` are `a` and `b` for replies that call tool `t`, `e` for the final
 * one and `s` for a summary, and the tool answers `x` at once.
 */
export const draw = <
  const Hot extends Readonly<Record<string, Drawn>> = Record<string, never>,
  const Cold extends Readonly<Record<string, Drawn>> = Record<string, never>,
>(
  run: Runner,
  operator: (parts: AgentParts<Hot, Cold>) => OperatorFunction<TurnHandle, unknown>,
  diagrams: Partial<AgentDiagrams<Hot, Cold>> & { readonly model: readonly string[] },
  more: Partial<ToolRunnerParams> = {},
): AgentRun =>
  runAgent<Hot, Cold>(
    parts => run(parts.source, { ...params, tools: parts.tools, ...more }).pipe(operator(parts)),
    { replies: { a: one, b: two, e: end, s: summary }, tools: { t: '(x|)' }, ...diagrams },
  );
