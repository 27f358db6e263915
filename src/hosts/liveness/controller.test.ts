// Heartbeats over time: which hosts go down, which come back, and that a holder's own absence is not held against any host.
import { expect, test } from 'vitest';
import { alarmsModel } from '../../alarms/index.ts';
import { idOf, put, Registry, SETTING } from '../../fleet/index.ts';
import { Journal } from '../../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../../journal/runtime.ts';
import { operationsModel } from '../../operations/index.ts';
import { SITE, sitesModel } from '../../sites/index.ts';
import { LivenessController } from './controller.ts';
import { hostsModel } from '../fleet-model.ts';
import { HOST, type Host } from '../model.ts';

const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

const hostNamed = (name: string): Host => ({
  name,
  site: 'central',
  zone: 'default',
  aggregates: [],
  capacity: { vcpus: 1, memoryMiB: 1, diskGiB: 1, ratios: { vcpus: 1, memory: 1, disk: 1 } },
  traits: [],
  physicalNetworks: [],
  baseWeight: 0,
  state: 'active',
  connection: { state: 'unknown', sinceMs: 0 },
  serviceVersion: 1,
  changedBy: 'test',
  changedAtMs: 0,
});

class LivenessWorld {
  nowMs = 0;
  /** How much time passes whenever the clock is read. */
  tickMs = 0;
  readonly #disk = new MemoryDisk({ journalId: 'j', nowMs: () => this.nowMs });
  #epochs = 0;
  #slept: (ms: number) => void = () => undefined;
  /** Called whenever other work has its turn. */
  onTurn: () => void = () => undefined;
  journal!: Journal;
  liveness!: LivenessController;

  /** The same server gets the lease again and still has its heartbeat times. */
  async leadAgain(): Promise<void> {
    const { store } = this.journal;
    await store.releaseLease('fleet', this.#epochs);
    this.#epochs += 1;
    const answer = await store.acquireLease({ name: 'fleet', holder: `s${this.#epochs}`, url: 'http://s', ttlMs: 1e9 });
    if (answer.kind !== 'held') throw new Error('no lease');
    await this.journal.lead({ lease: 'fleet', epoch: answer.lease.epoch });
  }

  /** Another server gets the lease: it has the fleet and no heartbeat times. */
  async takeOver(): Promise<void> {
    this.#epochs += 1;
    const sleep = async (ms: number): Promise<void> => this.#slept(ms);
    const clock = { nowMs: () => (this.nowMs += this.tickMs), sleep, turn: async () => this.onTurn() };
    let count = 0;
    const ids = { next: (prefix: string) => `${prefix}-${this.#epochs}-${(count += 1)}`, secret: () => 's' };
    const registry = new Registry([operationsModel, alarmsModel, sitesModel, hostsModel, { kinds: [SETTING] }]);
    const store = new MemoryStore(this.#disk);
    this.journal = new Journal({ store, registry, clock, ids });
    await this.journal.open();
    await store.releaseLease('fleet', this.#epochs - 1);
    const answer = await store.acquireLease({ name: 'fleet', holder: `s${this.#epochs}`, url: 'http://s', ttlMs: 1e9 });
    if (answer.kind !== 'held') throw new Error('no lease');
    await this.journal.lead({ lease: 'fleet', epoch: answer.lease.epoch });
    this.liveness = new LivenessController({ journal: this.journal, clock, log });
  }

  async addHosts(...names: string[]): Promise<void> {
    const site = put(SITE, idOf(SITE, 'central'), { name: 'central', changedBy: 'test', changedAtMs: 0 });
    const changes = [site, ...names.map((name) => put(HOST, idOf(HOST, name), hostNamed(name)))];
    await this.journal.submit({ by: 'test', decide: () => ({ kind: 'accept', changes, answer: null }) });
  }

  /** Seconds pass; these hosts send a heartbeat every five of them. */
  async pass(seconds: number, ...beating: string[]): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      if (second % 5 === 0) for (const host of beating) this.liveness.recordHeartbeat(host);
      await this.liveness.reconcile();
      this.nowMs += 1000;
    }
    await this.liveness.reconcile();
  }

  /** Runs the controller's own loop; `slept` receives each sleep time. */
  async run(signal: AbortSignal, slept: (ms: number) => void): Promise<void> {
    this.#slept = slept;
    await this.liveness.run(signal);
    this.#slept = () => undefined;
  }

  connectionOf(host: string): Host['connection'] | undefined {
    return this.journal.fleet.get(HOST, idOf(HOST, host))?.doc.connection;
  }

  get states(): string {
    return [...this.journal.fleet.all(HOST)].map(({ id, doc }) => `${id} ${doc.connection.state}`).join(', ');
  }
}

async function startWorld(...names: string[]): Promise<LivenessWorld> {
  const world = new LivenessWorld();
  await world.takeOver();
  await world.addHosts(...names);
  return world;
}

test('a-host-that-falls-silent-is-suspect-then-down-and-up-again-once-its-heartbeats-are-steady', async () => {
  const world = await startWorld('c1', 'c2');
  await world.pass(10, 'c1', 'c2');
  expect(world.states).toBe('c1 up, c2 up');
  await world.pass(12, 'c1');
  expect(world.states).toBe('c1 up, c2 suspect');
  await world.pass(48, 'c1');
  expect(world.states).toBe('c1 up, c2 down');
  await world.pass(4, 'c1', 'c2');
  expect(world.states).toBe('c1 up, c2 down');
  await world.pass(20, 'c1', 'c2');
  expect(world.states).toBe('c1 up, c2 up');
});

test('a-site-is-quiet-before-the-first-of-many-is-suspect-and-one-silent-host-does-not-make-it-so', async () => {
  const world = await startWorld('c1', 'c2', 'c3', 'c4');
  expect(world.liveness.maybePartitioned('central')).toBe(true);
  await world.pass(10, 'c1', 'c2', 'c3', 'c4');
  expect(world.liveness.maybePartitioned('central')).toBe(false);
  await world.pass(20, 'c2', 'c3', 'c4');
  expect(world.states).toBe('c1 suspect, c2 up, c3 up, c4 up');
  expect(world.liveness.maybePartitioned('central')).toBe(false);
  await world.pass(10, 'c1', 'c2', 'c3', 'c4');
  expect(world.states).toBe('c1 up, c2 up, c3 up, c4 up');
  // They send heartbeats one after the other, and are cut off all at once.
  for (const host of ['c1', 'c2', 'c3', 'c4']) {
    world.liveness.recordHeartbeat(host);
    await world.pass(1);
  }
  for (let second = 0; second < 30 && !world.states.includes('suspect'); second += 1) await world.pass(1);
  expect(world.states).toBe('c1 suspect, c2 up, c3 up, c4 up');
  expect(world.liveness.maybePartitioned('central')).toBe(true);
  await world.pass(30);
  expect(world.liveness.maybePartitioned('central')).toBe(true);
  // A server that takes over meanwhile knows no better.
  await world.takeOver();
  expect(world.liveness.maybePartitioned('central')).toBe(true);
  await world.pass(30, 'c1', 'c2', 'c3', 'c4');
  expect(world.liveness.maybePartitioned('central')).toBe(false);
});

test.each([30, 370, 990])('a-silent-host-is-suspect-on-time-and-not-at-the-next-pass: %i ms', async (laterMs) => {
  const world = await startWorld('c1', 'c2');
  await world.pass(10, 'c1', 'c2');
  world.nowMs += laterMs;
  world.liveness.recordHeartbeat('c2');
  const lastHeartbeatMs = world.nowMs;
  const over = new AbortController();
  const slept: number[] = [];
  await world.run(over.signal, (ms) => {
    slept.push(ms);
    world.nowMs += ms;
    if (slept.length % 4 === 0) world.liveness.recordHeartbeat('c1');
    if (world.states.includes('suspect') || slept.length > 100) over.abort();
  });
  expect(world.states).toBe('c1 up, c2 suspect');
  expect(world.connectionOf('c2')?.sinceMs).toBe(lastHeartbeatMs + 15_000);
  // No pass earlier than every second before that.
  expect(slept.length).toBeLessThan(20);
});

test('hosts-that-fall-silent-one-after-the-other-are-not-each-looked-for', async () => {
  const names = Array.from({ length: 100 }, (_, nth) => `c${nth}`);
  const world = await startWorld('up', ...names);
  await world.pass(10, 'up', ...names);
  for (const name of names) {
    world.nowMs += 7;
    world.liveness.recordHeartbeat(name);
  }
  const over = new AbortController();
  let looks = 0;
  await world.run(over.signal, (ms) => {
    looks += 1;
    world.nowMs += ms;
    world.liveness.recordHeartbeat('up');
    if (!/c\d+ up/.test(world.states) || looks > 1000) over.abort();
  });
  expect(world.states).toContain('c99 suspect');
  expect(looks).toBeLessThan(15 + 10);
});

test('a-new-holder-starts-every-silence-anew-and-finds-hosts-that-send-it-no-heartbeat', async () => {
  const world = await startWorld('c1', 'c2');
  await world.pass(10, 'c1', 'c2');
  world.nowMs += 50_000;
  await world.takeOver();
  await world.pass(14, 'c1');
  expect(world.states).toBe('c1 up, c2 up');
  await world.pass(50, 'c1');
  expect(world.states).toBe('c1 up, c2 down');
});

test('a-holder-that-stood-still-suspects-no-host', async () => {
  const world = await startWorld('c1', 'c2', 'c3', 'c4');
  await world.pass(10, 'c1', 'c2', 'c3', 'c4');
  world.nowMs += 300_000;
  const { revision } = world.journal.fleet;
  await world.pass(10);
  expect(world.journal.fleet.revision).toBe(revision);
});

test('a-holder-that-stood-still-takes-no-host-for-back-without-a-heartbeat-since', async () => {
  const world = await startWorld('c1', 'c2');
  await world.pass(10, 'c1', 'c2');
  await world.pass(80, 'c1');
  expect(world.states).toBe('c1 up, c2 down');
  world.nowMs += 300_000;
  await world.pass(10, 'c1');
  expect(world.states).toBe('c1 up, c2 down');
  await world.pass(30, 'c1', 'c2');
  expect(world.states).toBe('c1 up, c2 up');
});

test('a-server-that-gets-the-lease-again-goes-by-heartbeats-since', async () => {
  const world = await startWorld('c1', 'c2');
  await world.pass(10, 'c1', 'c2');
  const down = { ...hostNamed('c2'), connection: { state: 'down' as const, sinceMs: 0 } };
  const changes = [put(HOST, idOf(HOST, 'c2'), down)];
  await world.journal.submit({ by: 'test', decide: () => ({ kind: 'accept', changes, answer: null }) });
  // Its clock stood still while another server decided: its heartbeat times look recent.
  world.liveness.recordHeartbeat('c2');
  world.nowMs += 1;
  await world.leadAgain();
  await world.pass(4, 'c1');
  expect(world.states).toBe('c1 up, c2 down');
  await world.pass(30, 'c1', 'c2');
  expect(world.states).toBe('c1 up, c2 up');
});

test('a-host-with-a-heartbeat-before-the-first-pass-of-a-term-is-up-at-that-pass', async () => {
  const world = await startWorld('c1');
  world.liveness.recordHeartbeat('c1');
  world.nowMs += 700;
  await world.liveness.reconcile();
  expect(world.states).toBe('c1 up');
});

test('a-host-that-has-left-is-not-up-by-a-heartbeat-from-before', async () => {
  const world = await startWorld('c1', 'c2');
  const become = (facts: Partial<Host>): Promise<unknown> =>
    world.journal.submit({
      by: 'test',
      decide: () => ({
        kind: 'accept',
        changes: [put(HOST, idOf(HOST, 'c1'), { ...hostNamed('c1'), ...facts })],
        answer: null,
      }),
    });
  const leaving = { operation: 'op-1', drain: true, by: 'test', atMs: 0 };
  const down = { state: 'down' as const, sinceMs: 0 };
  await become({ state: 'drained', leaving, credential: 'tk', connection: down });
  world.liveness.recordHeartbeat('c1');
  await become({ state: 'drained', leaving, connection: down });
  await world.pass(3, 'c2');
  expect(world.states).toBe('c1 down, c2 up');
  await become({ state: 'finalizing', leaving, connection: down });
  await world.pass(3, 'c2');
  expect(world.states).toBe('c1 down, c2 up');
});

test('a-host-without-a-heartbeat-stays-unknown-and-one-that-is-gone-is-forgotten', async () => {
  const world = await startWorld('c1', 'c2');
  await world.pass(10, 'c2');
  await world.journal.submit({
    by: 'test',
    decide: () => ({ kind: 'accept', changes: [{ kind: 'host', id: 'c2', doc: null }], answer: null }),
  });
  await world.pass(100);
  expect(world.states).toBe('c1 unknown');
});

test('a-host-that-joins-again-is-not-up-by-a-heartbeat-from-before-it-was-removed', async () => {
  const world = await startWorld('c1');
  const unknown = { state: 'unknown' as const, sinceMs: 0 };
  const become = (facts: Partial<Host>): Promise<unknown> =>
    world.journal.submit({
      by: 'test',
      decide: () => ({
        kind: 'accept',
        changes: [put(HOST, idOf(HOST, 'c1'), { ...hostNamed('c1'), ...facts })],
        answer: null,
      }),
    });
  await become({ state: 'finalizing', connection: { state: 'down', sinceMs: 0 } });
  world.liveness.recordHeartbeat('c1');
  await become({ state: 'removed', connection: unknown });
  await become({ state: 'joining', connection: unknown, readmitted: true });
  await world.pass(1);
  expect(world.states).toBe('c1 unknown');
  await become({ state: 'joining', connection: unknown, readmitted: true, credential: 'tk' });
  await world.pass(1, 'c1');
  expect(world.states).toBe('c1 up');
});

test('a-host-whose-document-cannot-be-written-holds-no-other-up', async () => {
  const world = await startWorld('c1', 'c2');
  await world.pass(10, 'c1', 'c2');
  // As an older version may have left it: with a field that this one does not allow.
  const body = JSON.stringify({ ...world.journal.fleet.get(HOST, idOf(HOST, 'c1'))?.doc, retired: true });
  const note = { id: 'old', atMs: 0, by: 'an older version', preconditions: [] };
  await world.journal.store.write({ batches: [{ ...note, changes: [{ kind: 'host', id: 'c1', body }] }] });
  await world.takeOver();
  await world.pass(20);
  expect(world.states).toBe('c1 up, c2 suspect');
});

test('a-pass-over-many-silent-hosts-lets-other-work-run-and-counts-the-heartbeats-that-come-meanwhile', async () => {
  const names = Array.from({ length: 2100 }, (_, at) => `h${String(at).padStart(5, '0')}`);
  const world = await startWorld(...names);
  for (const name of names) world.liveness.recordHeartbeat(name);
  await world.pass(14);
  world.nowMs += 1000;
  world.tickMs = 1;
  let turns = 0;
  world.onTurn = () => {
    turns += 1;
    world.liveness.recordHeartbeat('h00000');
  };
  await world.liveness.reconcile();
  expect(turns).toBeGreaterThan(0);
  expect(world.connectionOf('h00000')).toMatchObject({ state: 'up' });
  expect(world.connectionOf('h00001')).toMatchObject({ state: 'suspect' });
  expect(world.connectionOf('h02099')).toMatchObject({ state: 'suspect' });
  expect(world.liveness.maybePartitioned('central')).toBe(true);
  for (const name of names) world.liveness.recordHeartbeat(name);
  await world.liveness.reconcile();
  expect(world.liveness.maybePartitioned('central')).toBe(false);
});
