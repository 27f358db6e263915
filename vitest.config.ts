import { existsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

const POSTGRES_SETUP = 'test/postgres/global-setup.ts';

export default defineConfig({
  test: {
    // Two cores is what a small CI machine has; more workers only make the suites with real processes late.
    maxWorkers: 2,
    // Processes, not threads: a test file that spins can then be ended without ending the run.
    pool: 'forks',
    projects: [
      { extends: true, test: { name: 'unit', include: ['src/**/*.test.ts'], testTimeout: 10_000 } },
      { extends: true, test: { name: 'sim', include: ['sim/**/*.test.ts'], testTimeout: 180_000 } },
      {
        extends: true,
        test: {
          name: 'real',
          include: ['test/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          globalSetup: existsSync(POSTGRES_SETUP) ? [POSTGRES_SETUP] : [],
        },
      },
    ],
  },
});
