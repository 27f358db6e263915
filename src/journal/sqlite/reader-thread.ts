// Reads of history, of commits far back and of all documents, done by a thread: SQLite answers synchronously, and a page of large
// commits would keep the event loop, and with it the lease, waiting. The thread starts with the first request and does not keep the process alive.
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { ReaderReply, ReaderAnswer, ReaderQuery, SnapshotStep, ReaderRequest } from './reader-thread-main.ts';
import type { SnapshotPage } from './snapshot.ts';
import {
  type HistoryPage,
  type HistoryQuery,
  type Position,
  type ReadAnswer,
  type SnapshotAnswer,
  StoreUnavailable,
} from '../store.ts';

/** Texts are copied: there is nothing to transfer. */
const NO_TRANSFER: readonly never[] = [];

/**
 * What the thread reads is garbage as soon as it was handed over: a small heap is enough, and without a limit the garbage of a start
 * with 10^5 documents would add tens of megabytes to the process.
 */
const YOUNG_GENERATION_MB = 4;

type PendingQuery = PromiseWithResolvers<ReaderAnswer>;

export class SqliteReaderThread {
  readonly #path: string;
  readonly #pending = new Map<number, PendingQuery>();
  #thread: Worker | undefined;
  #serial = 0;
  #snapshots = 0;
  #isClosed = false;

  constructor(path: string) {
    this.#path = path;
  }

  async read(after: Position, limit: number): Promise<ReadAnswer> {
    return (await this.#request({ kind: 'read', after, limit })) as ReadAnswer;
  }

  async history(query: HistoryQuery): Promise<HistoryPage> {
    return (await this.#request({ kind: 'history', query })) as HistoryPage;
  }

  /** The thread reads the next page while this one is taken in. */
  async snapshot(take: (page: SnapshotPage) => void): Promise<SnapshotAnswer> {
    this.#snapshots += 1;
    const snapshot = this.#snapshots;
    const ask = (step: 'begin' | 'next'): Promise<SnapshotStep> =>
      this.#request({ kind: 'snapshot', snapshot, step }) as Promise<SnapshotStep>;
    let answer = await ask('begin');
    while (answer.kind === 'page') {
      const next = ask('next');
      try {
        take(answer.page);
      } catch (error) {
        await Promise.allSettled([next, this.#request({ kind: 'snapshot', snapshot, step: 'drop' })]);
        throw error;
      }
      answer = await next;
      // All messages that are there are handed out in one turn of the event loop, and the next page is there nearly always.
      await setImmediate();
    }
    return answer.answer;
  }

  /** Earlier requests are still answered. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const thread = this.#thread;
    if (thread === undefined) return;
    const ended = new Promise((resolve) => {
      thread.once('exit', resolve);
    });
    thread.ref();
    const end: ReaderRequest = undefined;
    thread.postMessage(end, NO_TRANSFER);
    await ended;
  }

  #request(question: ReaderQuery): Promise<ReaderAnswer> {
    if (this.#isClosed)
      return Promise.reject(new StoreUnavailable('SQLite: the store is closed', { outcome: 'failed' }));
    const thread = (this.#thread ??= this.#start());
    this.#serial += 1;
    const pending: PendingQuery = Promise.withResolvers();
    this.#pending.set(this.#serial, pending);
    thread.ref();
    const message: ReaderRequest = { ...question, serial: this.#serial };
    thread.postMessage(message, NO_TRANSFER);
    return pending.promise;
  }

  #start(): Worker {
    const thread = new Worker(new URL('./reader-thread-main.ts', import.meta.url), {
      workerData: this.#path,
      // The flags of this process are about its own program.
      execArgv: ['--disable-warning=ExperimentalWarning'],
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    });
    let cause: unknown;
    thread.unref();
    thread.on('message', (message: ReaderReply) => this.#settle(thread, message));
    thread.on('error', (error) => {
      cause = error;
    });
    thread.on('exit', () => this.#failAll(cause));
    return thread;
  }

  #settle(thread: Worker, message: ReaderReply): void {
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
