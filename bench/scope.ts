// What a benchmark has open: folders, processes, servers, connections. All of it is closed when the benchmark ends, in the
// reverse order, whether it ended by itself, by a failure or by Ctrl-C.
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** The run was cut short by the person who started it. */
export class Interrupted extends Error {
  constructor() {
    super('interrupted');
    this.name = 'Interrupted';
  }
}

export class BenchScope {
  readonly signal: AbortSignal;
  readonly #folder: string;
  readonly #closers: (() => Promise<void> | void)[] = [];

  /** `folder` must be on a real disk: a flush to memory costs nothing. */
  constructor(folder: string, signal: AbortSignal) {
    this.#folder = folder;
    this.signal = signal;
  }

  onClose(close: () => Promise<void> | void): void {
    this.#closers.push(close);
  }

  /** Called between rounds: where a benchmark can stop. */
  check(): void {
    if (this.signal.aborted) throw new Interrupted();
  }

  async tempDir(): Promise<string> {
    await mkdir(this.#folder, { recursive: true });
    const path = await mkdtemp(join(this.#folder, 'bench-'));
    this.onClose(() => rm(path, { recursive: true, force: true }));
    return path;
  }

  async close(): Promise<void> {
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) await close();
  }
}
