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
