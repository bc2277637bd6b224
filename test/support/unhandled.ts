import { config } from 'rxjs';
import { afterEach, beforeEach, expect, vi, type Mock } from 'vitest';

/** Rejections and errors are reported in later turns of the event loop: by then they have been. */
export const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn++) await new Promise(resolve => setImmediate(resolve));
};

/** For the tests of a file: what is reported as unhandled, by RxJS or by Node; none is expected. */
export const expectNothingUnhandled = (): Mock<(error: unknown) => void> => {
  const unhandled = vi.fn<(error: unknown) => void>();
  beforeEach(() => {
    unhandled.mockClear();
    config.onUnhandledError = unhandled;
    process.on('unhandledRejection', unhandled);
    process.on('uncaughtException', unhandled);
  });
  afterEach(async () => {
    // RxJS reports from a timer of its own.
    await new Promise(resolve => setTimeout(resolve));
    await settled();
    config.onUnhandledError = null;
    process.off('unhandledRejection', unhandled);
    process.off('uncaughtException', unhandled);
    expect(unhandled.mock.calls).toEqual([]);
  });
  return unhandled;
};
