// Finds test files that hang in a way that vitest's own time limits cannot end: a file that spins never runs its timers, and
// loading a file has no limit at all. Such a file is named and its process ended; the run continues with the others. A slow
// file is not a hung one: every test and hook that ends is progress, and each has a limit of its own.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReportedHookContext, Reporter, TestCase, TestModule } from 'vitest/node';
import { killProcess } from './workers.ts';

/** Names the folder in which each worker process writes which file it runs (`worker-file.ts`). */
export const WORKERS_VARIABLE = 'MUSTER_TEST_WORKERS';

interface Running {
  readonly path: string;
  limitMs: number;
  progressAtMs: number;
}

export interface HangDetectorOptions {
  readonly nowMs: () => number;
  /** Beyond the longest limit that a test or hook of the file has: so long a silence is not a slow test. */
  readonly graceMs: number;
  readonly onHang: (path: string) => void;
}

export class HangDetector implements Reporter {
  readonly #options: HangDetectorOptions;
  readonly #running = new Map<string, Running>();

  constructor(options: HangDetectorOptions) {
    this.#options = options;
  }

  onTestModuleQueued(module: TestModule): void {
    const { testTimeout, hookTimeout } = module.project.config;
    const limitMs = Math.max(testTimeout, hookTimeout) + this.#options.graceMs;
    this.#running.set(module.id, { path: module.moduleId, limitMs, progressAtMs: this.#options.nowMs() });
  }

  onTestModuleCollected(module: TestModule): void {
    this.#progress(module);
    const running = this.#running.get(module.id);
    if (running === undefined) return;
    for (const { options } of module.children.allTests())
      running.limitMs = Math.max(running.limitMs, (options.timeout ?? 0) + this.#options.graceMs);
  }

  onTestModuleStart(module: TestModule): void {
    this.#progress(module);
  }

  onTestCaseReady({ module }: TestCase): void {
    this.#progress(module);
  }

  onTestCaseResult({ module }: TestCase): void {
    this.#progress(module);
  }

  onHookStart({ entity }: ReportedHookContext): void {
    this.#progress(entity.type === 'module' ? entity : entity.module);
  }

  onHookEnd({ entity }: ReportedHookContext): void {
    this.#progress(entity.type === 'module' ? entity : entity.module);
  }

  onTestModuleEnd(module: TestModule): void {
    this.#running.delete(module.id);
  }

  /** Reports each file that made no progress for longer than any of its tests may take, once. */
  check(): void {
    for (const [id, { path, limitMs, progressAtMs }] of this.#running) {
      if (this.#options.nowMs() - progressAtMs <= limitMs) continue;
      this.#running.delete(id);
      this.#options.onHang(path);
    }
  }

  #progress(module: TestModule): void {
    const running = this.#running.get(module.id);
    if (running !== undefined) running.progressAtMs = this.#options.nowMs();
  }
}

/** The folder in which workers say which file they run. */
export class WorkerFiles {
  readonly folder = mkdtempSync(join(tmpdir(), 'muster-test-workers-'));

  /** Ends every process that runs this file, and answers how many there were. */
  kill(path: string): number {
    const processes = readdirSync(this.folder).filter((pid) => readFileSync(join(this.folder, pid), 'utf8') === path);
    for (const pid of processes) killProcess(Number(pid));
    return processes.length;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
