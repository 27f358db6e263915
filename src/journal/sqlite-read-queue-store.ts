// Reads of history and of commits far back, done by a thread: SQLite answers synchronously, and a page of large commits would
// keep the event loop, and with it the lease, waiting. The thread starts with the first question and keeps no process alive.
import { Worker } from 'node:worker_threads';
import type { FromReader, ReadQuestion, ToReader } from './sqlite-read-thread-store.ts';
import { type HistoryPage, type HistoryQuery, type Position, type ReadAnswer, StoreUnavailable } from './store.ts';

/** Texts are copied: there is nothing to transfer. */
const NO_TRANSFER: readonly never[] = [];

type Pending = PromiseWithResolvers<ReadAnswer | HistoryPage>;

export class SqliteReader {
  readonly #path: string;
  readonly #pending = new Map<number, Pending>();
  #thread: Worker | undefined;
  #serial = 0;

  constructor(path: string) {
    this.#path = path;
  }

  async read(after: Position, limit: number): Promise<ReadAnswer> {
    return (await this.#ask({ kind: 'read', after, limit })) as ReadAnswer;
  }

  async history(query: HistoryQuery): Promise<HistoryPage> {
    return (await this.#ask({ kind: 'history', query })) as HistoryPage;
  }

  /** What was asked before is still answered. */
  async close(): Promise<void> {
    const thread = this.#thread;
    if (thread === undefined) return;
    const ended = new Promise((resolve) => {
      thread.once('exit', resolve);
    });
    thread.ref();
    const end: ToReader = undefined;
    thread.postMessage(end, NO_TRANSFER);
    await ended;
  }

  #ask(question: ReadQuestion): Promise<ReadAnswer | HistoryPage> {
    const thread = (this.#thread ??= this.#start());
    this.#serial += 1;
    const pending: Pending = Promise.withResolvers();
    this.#pending.set(this.#serial, pending);
    thread.ref();
    const message: ToReader = { ...question, serial: this.#serial };
    thread.postMessage(message, NO_TRANSFER);
    return pending.promise;
  }

  #start(): Worker {
    const thread = new Worker(new URL('./sqlite-read-thread-store.ts', import.meta.url), {
      workerData: this.#path,
      // The flags of this process are about its own program.
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    let cause: unknown;
    thread.unref();
    thread.on('message', (message: FromReader) => this.#settle(thread, message));
    thread.on('error', (error) => {
      cause = error;
    });
    thread.on('exit', () => this.#failAll(cause));
    return thread;
  }

  #settle(thread: Worker, message: FromReader): void {
    const pending = this.#pending.get(message.serial);
    this.#pending.delete(message.serial);
    if (this.#pending.size === 0) thread.unref();
    if (message.kind === 'answered') pending?.resolve(message.answer);
    else pending?.reject(Object.assign(new Error(message.message), { code: message.code, errcode: message.errcode }));
  }

  /** Nothing was changed by a read: the next one gets a new thread. */
  #failAll(cause: unknown): void {
    this.#thread = undefined;
    for (const pending of this.#pending.values())
      pending.reject(new StoreUnavailable('SQLite: the thread that reads has ended', { outcome: 'failed', cause }));
    this.#pending.clear();
  }
}
