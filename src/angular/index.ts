export { injectToolRunner, type InjectedToolRunner, type RunParams } from './injectToolRunner';
export { injectTools } from './injectTools';
export { provideFakeToolRunner } from './provideFakeToolRunner';
export {
  provideToolRunner,
  withDefaults,
  withHttpClient,
  withMessagesApi,
  withMessageSource,
  type ToolRunnerFeature,
} from './provideToolRunner';
export { runnerResource, type RunnerResourceOptions } from './runnerResource';
export type { RunSnapshot } from './runSnapshots';
export { toRunSignals, type RunSignals, type RunSignalsOptions } from './toRunSignals';
