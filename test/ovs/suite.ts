// Suites that need Open vSwitch. Where there is none they say so by name; in CI that is a failure, not a silence.
import { describe, expect, test } from 'vitest';
import { ensureOvs } from './install.ts';

const found = await ensureOvs();

export function ovsSuite(name: string, suite: () => void): void {
  if (found.kind === 'ready') {
    describe(name, suite);
    return;
  }
  const { reason } = found;
  const title = `${name}: needs Open vSwitch, ${reason}`;
  if (process.env['CI'] === 'true') {
    test(title, () => {
      expect.fail(`Open vSwitch is missing: ${reason}`);
    });
  } else {
    test.skip(title);
  }
}
