import { existsSync } from 'node:fs';
import { configDefaults, defineConfig } from 'vitest/config';
import { LongestFirst } from './scripts/test/longest-first.ts';

/** What starts real switches, as root. */
const LAB_WITH_SWITCHES = 'lab/real/**/*.test.ts';
/** Packets are counted: only what gives way to them may run beside them. */
const PACKETS = ['lab/real/packets.test.ts', 'lab/real/sick-router.test.ts'];
/** Takes minutes and makes network namespaces: by its own script. */
const HIGH_AVAILABILITY = 'test/ha/**/*.test.ts';
/** Takes minutes and fetches a Debian: by its own script. */
const PACKAGES = 'test/packaging/built/**/*.test.ts';
/** Takes minutes and starts a real Ironic: by its own script. */
const IRONIC = 'test/ironic/**/*.test.ts';
/** By a run of its own, because its control plane runs until the run ends. */
const KUBERNETES = 'test/kubernetes/**/*.test.ts';
/** Builds a kubelet, and makes a machine in namespaces: by its own script. */
const DEEP = 'test/kubernetes-deep/**/*.test.ts';
/** A whole control plane in one process, in simulated time: as fast as unit tests. */
const ACCEPTANCE = 'test/acceptance/**/*.test.ts';
/** Real HTTP with the server in the test's own process, beside nothing but what is of the file. */
const IN_PROCESS = 'test/{agent,api,restconf}/**/*.test.ts';
const POSTGRES_SETUP = 'test/postgres/global-setup.ts';
const KUBERNETES_SETUP = 'test/kubernetes/global-setup.ts';

export default defineConfig({
  test: {
    // Twice the two cores of a small CI machine: suites with real processes wait for those half of their time.
    maxWorkers: 4,
    // Processes, not threads: a test file that spins can then be ended without ending the run.
    pool: 'forks',
    setupFiles: ['scripts/test/worker-file.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'lab/**/*.test.ts', ACCEPTANCE],
          exclude: [...configDefaults.exclude, LAB_WITH_SWITCHES],
          testTimeout: 10_000,
          // Many small files of the same modules: a worker process loads and compiles each module once, not once per file. A test
          // puts back what it changes of the process; spies are undone after each.
          isolate: false,
          restoreMocks: true,
        },
      },
      {
        extends: true,
        test: {
          name: 'sim',
          include: ['sim/**/*.test.ts'],
          // Long, because it gives way to everything else: the test command runs it beside all suites with real parts.
          testTimeout: 900_000,
          setupFiles: ['scripts/test/give-way.ts'],
          maxWorkers: 2,
          sequence: { groupOrder: 3 },
        },
      },
      {
        extends: true,
        test: {
          name: 'real',
          include: ['test/**/*.test.ts'],
          exclude: [
            ...configDefaults.exclude,
            HIGH_AVAILABILITY,
            PACKAGES,
            IRONIC,
            KUBERNETES,
            DEEP,
            ACCEPTANCE,
            IN_PROCESS,
          ],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          globalSetup: existsSync(POSTGRES_SETUP) ? [POSTGRES_SETUP] : [],
        },
      },
      {
        extends: true,
        test: {
          name: 'in-process',
          include: [IN_PROCESS],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          // As for unit tests: nearly all modules of a server are loaded by nearly every file.
          isolate: false,
          restoreMocks: true,
        },
      },
      {
        extends: true,
        test: {
          name: 'ha',
          include: [HIGH_AVAILABILITY],
          testTimeout: 900_000,
          hookTimeout: 600_000,
          fileParallelism: false,
        },
      },
      {
        extends: true,
        test: { name: 'ironic', include: [IRONIC], testTimeout: 300_000, hookTimeout: 600_000 },
      },
      {
        extends: true,
        test: { name: 'deep', include: [DEEP], testTimeout: 900_000, hookTimeout: 600_000 },
      },
      {
        extends: true,
        test: { name: 'packaging', include: [PACKAGES], testTimeout: 900_000, hookTimeout: 1_800_000 },
      },
      // The lab itself, by its own script: what the test command needs of it, packets show.
      {
        extends: true,
        test: {
          name: 'lab',
          include: [LAB_WITH_SWITCHES],
          exclude: [...configDefaults.exclude, ...PACKETS],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'packets',
          include: PACKETS,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'kubernetes',
          include: [KUBERNETES],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          globalSetup: existsSync(KUBERNETES_SETUP) ? [KUBERNETES_SETUP] : [],
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
