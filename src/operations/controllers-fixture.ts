// Servers with an engine and a lease keeper on a store in memory, under a clock that the test moves.
import { Type } from 'typebox';
import { idOf, put, Registry, schemaKind } from '../fleet/index.ts';
import { Journal, type Clock, type Log, type Store } from '../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../journal/runtime.ts';
import { OperationsController } from './controller.ts';
import { newOperation } from './decide.ts';
import { record, wait, type Driver, type OperationKind } from './kind.ts';
import { LeaseController } from './lease-controller.ts';
import { OPERATION, operationsModel } from './model.ts';

const THING = schemaKind('thing', Type.Object({ ready: Type.Boolean() }, { additionalProperties: false }));
export const OP = idOf(OPERATION, 'op-1');
const quiet: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Sleepers wake when the test moves time. */
class JumpingClock implements Clock {
  #nowMs = 0;
  #jumpedMs = 0;
  #sleepers: { at: number; wake: () => void }[] = [];
  nowMs(): number {
    return this.#nowMs;
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) resolve();
      const wake = (): void => {
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      signal?.addEventListener('abort', wake, { once: true });
      this.#sleepers.push({ at: this.#nowMs + ms, wake });
    });
  }
  async turn(): Promise<void> {}
  jumpedMs(): number {
    return this.#jumpedMs;
  }
  /** Sets the wall clock. No time passes: sleeps are not shortened. */
  async setAhead(ms: number): Promise<void> {
    this.#nowMs += ms;
    this.#jumpedMs += ms;
    this.#sleepers = this.#sleepers.map(({ at, wake }) => ({ at: at + ms, wake }));
    await flushMicrotasks();
  }
  /** A second at a time: leases are renewed as often. */
  async pass(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= 1000) await this.#step(Math.min(leftMs, 1000));
  }
  async #step(ms: number): Promise<void> {
    this.#nowMs += ms;
    for (const { wake } of this.#sleepers.filter(({ at }) => at <= this.#nowMs)) wake();
    this.#sleepers = this.#sleepers.filter(({ at }) => at > this.#nowMs);
    await flushMicrotasks();
  }
}

export async function flushMicrotasks(): Promise<void> {
  for (let turn = 0; turn < 200; turn += 1) await Promise.resolve();
}

export const whenReady: OperationKind = {
  name: 'when-ready',
  steps: ['look'],
  cancel: { kind: 'none', because: 'test' },
  retry: { kind: 'does', what: 'looks again' },
  plan: (fleet, items) =>
    items.map((item) => {
      const thing = fleet.get(THING, idOf(THING, item.doc.target.id));
      if (thing?.doc.ready === true) return record(item, { state: 'done', step: 'look' });
      return wait(item, { code: 'not-ready' });
    }),
};

export interface TestServer {
  readonly store: Store;
  readonly journal: Journal;
  readonly lease: LeaseController;
  readonly engine: OperationsController;
  readonly clock: MachineClock;
}

/** The clock of one machine: it goes as the others do, and may be off. */
export class MachineClock implements Clock {
  readonly #time: JumpingClock;
  #offMs: number;
  #jumpedMs = 0;

  /** `offMs`: by how much it was off before its server started. */
  constructor(time: JumpingClock, offMs: number) {
    this.#time = time;
    this.#offMs = offMs;
  }
  nowMs(): number {
    return this.#time.nowMs() + this.#offMs;
  }
  jumpedMs(): number {
    return this.#time.jumpedMs() + this.#jumpedMs;
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#time.sleep(ms, signal);
  }
  turn(): Promise<void> {
    return this.#time.turn();
  }
  setAhead(ms: number): void {
    this.#offMs += ms;
    this.#jumpedMs += ms;
  }
}

export interface ControllersWorld {
  readonly clock: JumpingClock;
  readonly server: (name: string, offMs?: number) => TestServer;
}

export function world(
  kind: OperationKind = whenReady,
  drivers = new Map<string, Driver>(),
  log: Log = quiet,
): ControllersWorld {
  const time = new JumpingClock();
  // The database has a clock of its own.
  const disk = new MemoryDisk({ journalId: 'j', nowMs: () => time.nowMs() - time.jumpedMs() });
  const server = (name: string, offMs = 0) => {
    const clock = new MachineClock(time, offMs);
    const store = new MemoryStore(disk);
    let count = 0;
    const ids = { next: (prefix: string) => `${prefix}-${name}-${(count += 1)}`, secret: () => 'secret' };
    const journal = new Journal({ store, registry: new Registry([operationsModel, { kinds: [THING] }]), clock, ids });
    const lease = new LeaseController({ journal, clock, log, holder: name, url: () => `http://${name}` });
    const kinds = new Map([[kind.name, kind]]);
    const engine = new OperationsController({ journal, clock, kinds, drivers, log });
    return { store, journal, lease, engine, clock };
  };
  return { clock: time, server };
}

/** A server that holds the lease, until `stop`. */
export async function startLeading(
  server: ControllersWorld['server'],
): Promise<TestServer & { readonly stop: AbortController }> {
  const one = server('s1');
  const stop = new AbortController();
  void one.lease.run(stop.signal);
  await flushMicrotasks();
  return { ...one, stop };
}

export function start(journal: Journal, ready: boolean, deadlineMs = 1e9, nowMs = 0): Promise<unknown> {
  return journal.submit({
    by: 'test',
    decide: () => {
      const items = [{ key: 'a', target: { kind: 'thing', id: 'a' }, step: 'look' }];
      const operation = { id: OP, kind: 'when-ready', title: 'look', by: 'test', nowMs, deadlineMs, items };
      const changes = [put(THING, idOf(THING, 'a'), { ready }), ...newOperation(operation)];
      return { kind: 'accept', changes, answer: null };
    },
  });
}

export const makeReady = (journal: Journal): Promise<unknown> =>
  journal.submit({
    by: 'test',
    decide: () => ({ kind: 'accept', changes: [put(THING, idOf(THING, 'a'), { ready: true })], answer: null }),
  });
