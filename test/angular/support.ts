import {
  provideZonelessChangeDetection,
  RendererFactory2,
  type EnvironmentProviders,
  type Provider,
} from '@angular/core';
import { TestBed, TestComponentRenderer } from '@angular/core/testing';
import { BrowserTestingModule, platformBrowserTesting } from '@angular/platform-browser/testing';
import { afterEach } from 'vitest';

/** Injectors, signals and effects need no DOM; components are tested in test/browser, which has one. */
const nothingRendered: readonly Provider[] = [
  { provide: RendererFactory2, useValue: {} },
  { provide: TestComponentRenderer, useValue: new TestComponentRenderer() },
];

/** Sets Angular's TestBed up, without zone.js and without a DOM. */
export const setUpTestBed = (): void => {
  TestBed.initTestEnvironment(BrowserTestingModule, platformBrowserTesting());
  afterEach(() => {
    TestBed.resetTestingModule();
  });
};

export const configure = (...providers: readonly (Provider | EnvironmentProviders)[]): void => {
  TestBed.configureTestingModule({
    providers: [provideZonelessChangeDetection(), nothingRendered, ...providers],
  });
};
