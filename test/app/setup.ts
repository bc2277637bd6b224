import { buildApp } from '../../examples/angular-chat/server/build';

/** Builds the app, once. */
export default (): Promise<void> => buildApp();
