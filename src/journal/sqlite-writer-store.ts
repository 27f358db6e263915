// Groups to a thread that writes them, so that the main thread decides meanwhile. It is started by the first group that is
// worth it, and keeps no process alive but while it writes.
import { Worker } from 'node:worker_threads';
import { flatGroup } from './flat-group.ts';
import type { FromThread, ToThread } from './sqlite-thread-store.ts';
import { type Group, StoreUnavailable, type Written } from './store.ts';

/** Texts are copied: there is nothing that could change hands. */
const NOTHING_MOVES: readonly never[] = [];

export class SqliteWriter {
  readonly #path: string;
  readonly #nowMs: () => number;
  #thread: Worker | undefined;
  #isReady = false;
  #asked: PromiseWithResolvers<Written> | undefined;

  constructor(path: string, nowMs: () => number) {
    this.#path = path;
    this.#nowMs = nowMs;
  }

  /** Starts the thread if it has not been started. False while it does not write yet: it would keep the group waiting. */
  prepare(): boolean {
    this.#thread ??= this.#start();
    return this.#isReady;
  }

  get isBusy(): boolean {
    return this.#asked !== undefined;
  }

  /** Resolves when what is being written is answered. Somebody else may have been faster with the next: look again. */
  async idle(): Promise<void> {
    await this.#asked?.promise.catch(() => undefined);
  }

  /** One group at a time. Rejects with what SQLite said, as it would in this thread. */
  write({ batches, ...group }: Group): Promise<Written> {
    const asked = Promise.withResolvers<Written>();
    this.#asked = asked;
    const thread = (this.#thread ??= this.#start());
    thread.ref();
    const message: ToThread = { ...group, batches: flatGroup(batches), clockSkewMs: this.#nowMs() - Date.now() };
    thread.postMessage(message, NOTHING_MOVES);
    return asked.promise;
  }

  async close(): Promise<void> {
    while (this.isBusy) await this.idle();
    const thread = this.#thread;
    if (thread === undefined) return;
    const ended = new Promise((resolve) => {
      thread.once('exit', resolve);
    });
    thread.ref();
    const end: ToThread = undefined;
    thread.postMessage(end, NOTHING_MOVES);
    await ended;
  }

  #start(): Worker {
    // The flags of this process are about its own program. On an older Node, SQLite would say here that it is experimental.
    const execArgv = ['--disable-warning=ExperimentalWarning'];
    const thread = new Worker(new URL('./sqlite-thread-store.ts', import.meta.url), {
      workerData: this.#path,
      execArgv,
    });
    let cause: unknown;
    thread.unref();
    thread.on('message', (message: FromThread) => {
      if (message.kind === 'ready') this.#isReady = true;
      else this.#answered(thread, message);
    });
    thread.on('error', (error) => {
      cause = error;
    });
    thread.on('exit', () => this.#ended(cause));
    return thread;
  }

  #answered(thread: Worker, answer: Exclude<FromThread, { readonly kind: 'ready' }>): void {
    const asked = this.#asked;
    this.#asked = undefined;
    thread.unref();
    if (answer.kind === 'answered') asked?.resolve(answer.written);
    else asked?.reject(Object.assign(new Error(answer.message), { code: answer.code, errcode: answer.errcode }));
  }

  /** Nobody knows how far it came. The next group gets a new thread. */
  #ended(cause: unknown): void {
    const asked = this.#asked;
    this.#thread = undefined;
    this.#isReady = false;
    this.#asked = undefined;
    asked?.reject(new StoreUnavailable('SQLite: the thread that writes has ended', { outcome: 'unknown', cause }));
  }
}
