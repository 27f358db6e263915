import { existsSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

const POSTGRES_SETUP = 'test/postgres/global-setup.ts';

export default defineConfig({
  test: {
    // Two cores is what a small CI machine has; more workers only make the suites with real processes late.
    maxWorkers: 2,
    projects: [
      {
        test: { name: 'unit', include: ['src/**/*.test.ts'], pool: 'threads', testTimeout: 10_000 },
      },
      {
        test: { name: 'sim', include: ['sim/**/*.test.ts'], pool: 'threads', testTimeout: 180_000 },
      },
      {
        // Processes of their own: these suites kill, signal and wait for real programs.
        test: {
          name: 'real',
          include: ['test/**/*.test.ts'],
          pool: 'forks',
          testTimeout: 120_000,
          hookTimeout: 120_000,
          globalSetup: existsSync(POSTGRES_SETUP) ? [POSTGRES_SETUP] : [],
        },
      },
    ],
  },
});
