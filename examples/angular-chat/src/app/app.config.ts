import { provideHttpClient, withFetch } from '@angular/common/http';
import {
  provideBrowserGlobalErrorListeners,
  provideZonelessChangeDetection,
  type ApplicationConfig,
} from '@angular/core';
import { provideRouter } from '@angular/router';
import { provideToolRunner, withDefaults, withHttpClient, withMessagesApi } from 'rx-tool-runner/angular';
import { routes } from './app.routes';

export const appConfig: ApplicationConfig = {
  providers: [
    provideBrowserGlobalErrorListeners(),
    provideZonelessChangeDetection(),
    provideRouter(routes),
    provideHttpClient(withFetch()),
    provideToolRunner(
      // The backend adds the key.
      withMessagesApi({ baseURL: '/api' }),
      withHttpClient(),
      withDefaults({ model: 'claude-opus-5-5', max_tokens: 1024, max_iterations: 20 }),
    ),
  ],
};
