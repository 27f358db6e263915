// The store as one incarnation of a server reaches it: every call takes a link that delays, loses and repeats. The database at the other
// end is the real memory store; what it accepts is recorded in the ledger.
import {
  StoreUnavailable,
  type CommitGroup,
  type HistoryPage,
  type HistoryQuery,
  type Lease,
  type LeaseAnswer,
  type LeaseRequest,
  type VacancyWait,
  type Position,
  type ReadAnswer,
  type StoredResource,
  type SnapshotAnswer,
  type Store,
  type WriteAnswer,
} from '../../src/journal/index.ts';
import type { Program, ReplyHandle } from '../kernel/program.ts';
import type { Rng } from '../kernel/rng.ts';
import type { StoreLink } from './store-link.ts';

/** The result of a request about a lease. */
export interface LeaseChange {
  readonly before: Lease | undefined;
  readonly after: Lease | undefined;
  readonly asker: string;
  /** Whether the session of the previous holder existed until then. */
  readonly hadSession: boolean;
}

/** Called with what the database did, at the moment it did it. */
export interface StoreObserver {
  onWrite(group: CommitGroup, written: WriteAnswer, lease: Lease | undefined, writer: string): void;
  /** Whether the session of this tenure's holder still exists. */
  hasSession(lease: Lease): boolean;
  onLease(change: LeaseChange): void;
  fault(who: string, what: string): void;
}

export interface StorePortOptions {
  readonly database: Store;
  readonly program: Program;
  readonly link: StoreLink;
  readonly rng: Rng;
  readonly witness: StoreObserver;
}

export class StorePort implements Store {
  readonly #options: StorePortOptions;
  /** Requests on hanging connections: they arrive just before the next write. */
  readonly #stuck: (() => Promise<unknown>)[] = [];

  constructor(options: StorePortOptions) {
    this.#options = options;
  }

  get journalId(): string {
    return this.#options.database.journalId;
  }

  write(group: CommitGroup): Promise<WriteAnswer> {
    const { database, witness, program } = this.#options;
    return this.#exchange('write', async () => {
      const lease = group.fence === undefined ? undefined : await database.readLease(group.fence.lease);
      const written = await database.write(group);
      witness.onWrite(group, written, lease, program.name);
      return written;
    });
  }

  read(after: Position, limit: number): Promise<ReadAnswer> {
    return this.#exchange('read', () => this.#options.database.read(after, limit));
  }

  async snapshot(take: (page: readonly StoredResource[]) => void): Promise<SnapshotAnswer> {
    const { position, pages } = await this.#exchange('snapshot', async () => {
      const read: (readonly StoredResource[])[] = [];
      return { position: await this.#options.database.snapshot((page) => read.push(page)), pages: read };
    });
    for (const page of pages) take(page);
    return position;
  }

  history(query: HistoryQuery): Promise<HistoryPage> {
    return this.#exchange('history', () => this.#options.database.history(query));
  }

  /** A notification that may be early, late or never; here it is lost whenever the link has a fault. */
  waitForChange(revision: number, signal: AbortSignal): Promise<void> {
    return this.#options.program.call('store', 'changed', (reply) => {
      signal.addEventListener('abort', () => reply.answer(0, undefined), { once: true });
      void this.#hint(revision, signal, reply);
    });
  }

  async #hint(revision: number, signal: AbortSignal, reply: ReplyHandle<undefined>): Promise<void> {
    const { link, database } = this.#options;
    if (link.cut) return;
    await database.waitForChange(revision, signal);
    if (!signal.aborted && !link.cut) reply.answer(2, undefined);
  }

  compact(beforeMs: number, limit: number): Promise<number> {
    return this.#exchange('compact', () => this.#options.database.compact(beforeMs, limit));
  }

  acquireLease(request: LeaseRequest): Promise<LeaseAnswer> {
    return this.#exchange('acquire', () =>
      this.#observed(request.name, () => this.#options.database.acquireLease(request)),
    );
  }

  renewLease(request: LeaseRequest & { readonly epoch: number }): Promise<LeaseAnswer> {
    return this.#exchange('renew', () =>
      this.#observed(request.name, () => this.#options.database.renewLease(request)),
    );
  }

  releaseLease(name: string, epoch: number): Promise<void> {
    return this.#exchange('release', () =>
      this.#observed(name, () => this.#options.database.releaseLease(name, epoch)),
    );
  }

  readLease(name: string): Promise<Lease | undefined> {
    return this.#exchange('readLease', () => this.#options.database.readLease(name));
  }

  readLeases(prefix: string): Promise<readonly Lease[]> {
    return this.#exchange('readLeases', () => this.#options.database.readLeases(prefix));
  }

  /** A notification, lost like those of `changed`. */
  awaitVacancy({ name, signal }: VacancyWait): Promise<void> {
    return this.#options.program.call('store', 'awaitVacancy', (reply) => {
      signal.addEventListener('abort', () => reply.answer(0, undefined), { once: true });
      if (signal.aborted) reply.answer(0, undefined);
      void this.#vacancy(name, signal, reply);
    });
  }

  async #vacancy(name: string, signal: AbortSignal, reply: ReplyHandle<undefined>): Promise<void> {
    const { link, database, rng } = this.#options;
    if (link.cut) return;
    await database.awaitVacancy({ name, signal });
    if (!signal.aborted && !link.cut) reply.answer(rng.between(1, 200), undefined);
  }

  async close(): Promise<void> {}

  async #observed<T>(lease: string, change: () => Promise<T>): Promise<T> {
    const { database, witness, program } = this.#options;
    const before = await database.readLease(lease);
    const hadSession = before !== undefined && witness.hasSession(before);
    const answer = await change();
    witness.onLease({ before, after: await database.readLease(lease), asker: program.name, hadSession });
    return answer;
  }

  #exchange<T>(name: string, serve: () => Promise<T>): Promise<T> {
    const { program, link, rng, witness } = this.#options;
    const fate = link.draw(rng);
    return program.call('store', name, (reply) => {
      if (fate.kind !== 'served') witness.fault(program.name, `${name} ${fate.kind}`);
      switch (fate.kind) {
        case 'served':
          return this.#deliver(name, fate.requestMs, () => void this.#serve(serve, reply, fate.replyMs));
        case 'refused':
          return void reply.fail(fate.afterMs, unreachable('failed'));
        case 'request-lost':
          return void reply.fail(fate.afterMs, unreachable('unknown'));
        case 'reply-lost':
        case 'served-late':
          reply.fail(fate.afterMs, unreachable('unknown'));
          return this.#deliver(name, fate.requestMs, () => void serve());
        case 'served-before-next':
          reply.fail(fate.afterMs, unreachable('unknown'));
          this.#stuck.push(serve);
      }
    });
  }

  /** The request arrives at the database. If the sender crashes in the first half of that time, the request was never sent. */
  #deliver(name: string, afterMs: number, serve: () => void): void {
    const { program, rng } = this.#options;
    program.scheduler.after(afterMs, `database gets ${name} of ${program.name}`, () => {
      const late = name === 'write' ? this.#stuck.splice(0) : [];
      const isSent = program.alive || rng.chance(0.5);
      void this.#serveInOrder(late, isSent ? serve : undefined);
    });
  }

  /** One after the other: what each has done is observed before the next one begins. */
  async #serveInOrder(late: readonly (() => Promise<unknown>)[], serve: (() => void) | undefined): Promise<void> {
    for (const one of late) await one();
    serve?.();
  }

  async #serve<T>(serve: () => Promise<T>, reply: ReplyHandle<T>, replyMs: number): Promise<void> {
    const { link, rng, program, witness } = this.#options;
    // A link that was cut while the request was in flight lost the request or the reply.
    if (link.cut && rng.chance(0.5)) {
      witness.fault(program.name, 'request cut off');
      reply.fail(rng.between(10, 400), unreachable('unknown'));
      return;
    }
    const value = await serve();
    if (link.cut) {
      witness.fault(program.name, 'reply cut off');
      reply.fail(rng.between(10, 400), unreachable('unknown'));
    } else reply.answer(replyMs, value);
  }
}

function unreachable(outcome: 'failed' | 'unknown'): StoreUnavailable {
  return new StoreUnavailable(`the link to the database broke (${outcome})`, { outcome });
}
