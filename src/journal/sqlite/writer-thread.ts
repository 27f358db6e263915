// Sends groups to a thread that writes them, so that the main thread decides meanwhile. The thread is started by the first large
// group, and keeps the process alive only while it writes.
import { Worker } from 'node:worker_threads';
import { flattenGroup } from '../flat-group.ts';
import { monotonicMs } from './lease-clock.ts';
import type { WriterReply, WriterRequest } from './writer-thread-main.ts';
import { type CommitGroup, StoreUnavailable, type WriteAnswer } from '../store.ts';

/** Texts are copied: there is nothing that could change hands. */
const NO_TRANSFER: readonly never[] = [];

export class SqliteWriterThread {
  readonly #path: string;
  readonly #nowMs: () => number;
  #thread: Worker | undefined;
  #isReady = false;
  #pending: PromiseWithResolvers<WriteAnswer> | undefined;

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
    return this.#pending !== undefined;
  }

  /** Resolves when the current write is answered. Another caller may have started the next one: check again. */
  async idle(): Promise<void> {
    await this.#pending?.promise.catch(() => undefined);
  }

  /** One group at a time. Rejects with what SQLite said, as it would in this thread. */
  write({ batches, ...group }: CommitGroup): Promise<WriteAnswer> {
    const answer = Promise.withResolvers<WriteAnswer>();
    this.#pending = answer;
    const thread = (this.#thread ??= this.#start());
    thread.ref();
    const message: WriterRequest = {
      ...group,
      batches: flattenGroup(batches),
      clockOffsetMs: this.#nowMs() - monotonicMs(),
    };
    thread.postMessage(message, NO_TRANSFER);
    return answer.promise;
  }

  async close(): Promise<void> {
    while (this.isBusy) await this.idle();
    const thread = this.#thread;
    if (thread === undefined) return;
    const ended = new Promise((resolve) => {
      thread.once('exit', resolve);
    });
    thread.ref();
    const end: WriterRequest = undefined;
    thread.postMessage(end, NO_TRANSFER);
    await ended;
  }

  #start(): Worker {
    // The flags of this process are about its own program. On an older Node, SQLite would say here that it is experimental.
    const execArgv = ['--disable-warning=ExperimentalWarning'];
    const thread = new Worker(new URL('./writer-thread-main.ts', import.meta.url), {
      workerData: this.#path,
      execArgv,
    });
    let cause: unknown;
    thread.unref();
    thread.on('message', (message: WriterReply) => {
      if (message.kind === 'ready') this.#isReady = true;
      else this.#settle(thread, message);
    });
    thread.on('error', (error) => {
      cause = error;
    });
    thread.on('exit', () => this.#onExit(cause));
    return thread;
  }

  #settle(thread: Worker, answer: Exclude<WriterReply, { readonly kind: 'ready' }>): void {
    const request = this.#pending;
    this.#pending = undefined;
    thread.unref();
    if (answer.kind === 'answered') request?.resolve(answer.written);
    else request?.reject(Object.assign(new Error(answer.message), { code: answer.code, errcode: answer.errcode }));
  }

  /** How far it came is not known. The next group gets a new thread. */
  #onExit(cause: unknown): void {
    const request = this.#pending;
    this.#thread = undefined;
    this.#isReady = false;
    this.#pending = undefined;
    request?.reject(new StoreUnavailable('SQLite: the thread that writes has ended', { outcome: 'unknown', cause }));
  }
}
