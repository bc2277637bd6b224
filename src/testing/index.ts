export { agentMatchers, assertAsked, type Asked, type MatcherResult } from './asked';
export { expectCancellable, type CancellationConfig, type CancellationProbe } from './expectCancellable';
export { events } from './events';
export { marbleSource, type MarbleHelpers, type MarbleSource, type SubscriptionLogs } from './marbleSource';
export { assistant, block, reply, results, user } from './reply';
export { scripted, type ScriptedReply, type ScriptedSource } from '../sources/scripted';
export {
  runAgent,
  type AgentDiagrams,
  type AgentParts,
  type AgentRun,
  type Drawn,
  type DrawnValue,
} from './runAgent';
export { record, type RecordConfig, type RecordedSource } from './record';
export { replay, type ReplayConfig } from './replay';
export { toMarbles } from './toMarbles';
export { toSvg } from './toSvg';
