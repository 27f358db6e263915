// Watches as the lease holder keeps them: opened where something is to be seen, begun again ever less often while they fail, and never the cause of more looks than is said.
import { describe, expect, test } from 'vitest';
import { Fleet, idOf, put, Registry, remove, type Change, type Reason } from '../../fleet/index.ts';
import { VirtualClock } from '../../journal/virtual-clock-fixture.ts';
import { ITEM, newOperation, OPERATION, operationsModel, type Item } from '../../operations/index.ts';
import {
  ClusterRefused,
  ClusterUnreachable,
  type ClusterCallOptions,
  type WatchedChange,
  type WatchedKind,
} from '../cluster-api/cluster-api.ts';
import { MemoryCluster } from '../cluster-api/simulated/memory-cluster.ts';
import { CLUSTER, DRAIN_REPORT, WORKER } from '../model.ts';
import { cluster, EDGE, worker, WORKER_MODELS } from '../workers-fixture.ts';
import { ClusterWatches } from './cluster-watches-controller.ts';

const LOG = { info: () => undefined, warn: () => undefined, error: () => expect.fail('nothing is wrong here') };
const POD: WatchedChange = { kind: 'pod', namespace: 'default', node: 'a' };
const node = (name: string): WatchedChange => ({ kind: 'node', node: name });

interface OpenedWatch {
  readonly what: WatchedKind;
  readonly atMs: number;
  readonly show: (change: WatchedChange) => void;
  readonly end: (error?: Error) => void;
  readonly signal: AbortSignal;
}

class Watching {
  readonly clock = new VirtualClock();
  readonly fleet = new Fleet(new Registry([operationsModel, ...WORKER_MODELS]));
  readonly opened: OpenedWatch[] = [];
  readonly looks: number[] = [];
  readonly early: string[] = [];
  readonly watches: ClusterWatches;
  fence: { lease: string; epoch: number } | undefined = { lease: 'fleet', epoch: 1 };
  /** What becomes of each watch when it is begun. */
  onOpen: (watch: OpenedWatch) => void = () => undefined;

  constructor(...changes: readonly Change[]) {
    this.apply(cluster(), worker('a'), worker('b'), ...changes);
    const api = new MemoryCluster(EDGE, () => this.clock.nowMs());
    api.watch = (what, show, how) => this.#open(what, show, how);
    const { clock, fleet, looks, early } = this;
    const fenceOf = () => this.fence;
    this.watches = new ClusterWatches({
      journal: {
        fleet,
        get fence() {
          return fenceOf();
        },
      },
      ...{ clock, log: LOG, apis: { apiOf: () => api } },
      operations: { lookEarly: (items) => void early.push(...[...items].map(({ id }) => id)) },
      lookAt: () => void looks.push(clock.nowMs()),
    });
  }

  apply(...changes: readonly Change[]): void {
    this.fleet.apply(this.fleet.revision + 1, changes);
  }

  get open(): readonly string[] {
    return this.opened.filter(({ signal }) => !signal.aborted).map(({ what }) => what);
  }

  last(what: WatchedKind): OpenedWatch {
    const found = this.opened.findLast((one) => one.what === what);
    if (found === undefined) throw new Error(`no watch of ${what} was begun`);
    return found;
  }

  #open(what: WatchedKind, show: (change: WatchedChange) => void, { signal }: ClusterCallOptions): Promise<void> {
    const ended = Promise.withResolvers<undefined>();
    const end = (error?: Error) => (error === undefined ? ended.resolve(undefined) : ended.reject(error));
    signal.addEventListener('abort', () => ended.reject(new Error('aborted')), { once: true });
    const watch = { what, show, end, signal, atMs: this.clock.nowMs() };
    this.opened.push(watch);
    this.onOpen(watch);
    return ended.promise;
  }
}

const OP = idOf(OPERATION, 'op-1');
const draining = (name: string) => worker(name, { state: 'draining', work: { operation: OP } });

/** One operation with a waiting item for each worker. */
function waiting(reasons: Readonly<Record<string, Reason>>, step = 'evict'): Change[] {
  const items = Object.keys(reasons).map((name) => {
    const id = `${EDGE}.${name}`;
    return { key: id, target: { kind: WORKER.name, id }, step };
  });
  const made = newOperation({ id: OP, kind: 'worker-drain', title: 'x', by: 'ann', nowMs: 0, deadlineMs: 1, items });
  return made.map((change) => {
    if (change.kind !== ITEM.name || change.doc === null) return change;
    const doc = change.doc as Item;
    const reason = reasons[doc.target.id.slice(EDGE.length + 1)];
    return put(ITEM, idOf(ITEM, change.id), {
      ...doc,
      state: 'waiting',
      retryAtMs: 10 ** 12,
      ...(reason && { reason }),
    });
  });
}

const report = (name: string, namespace: string): Change =>
  put(DRAIN_REPORT, idOf(DRAIN_REPORT, `${EDGE}.${name}`), {
    ...{ cluster: EDGE, operation: OP, left: 1, terminating: 0, moreBlockers: 0, atMs: 0 },
    blockers: [{ node: name, namespace, pod: 'web-0', reason: 'budget' }],
  });

describe('which are open', () => {
  test('nodes-of-each-cluster, and pods while a worker of it is drained', async () => {
    const world = new Watching();
    world.watches.keep();
    expect(world.open).toEqual(['nodes']);
    world.apply(draining('a'));
    world.watches.keep();
    world.watches.keep();
    expect(world.open).toEqual(['nodes', 'pods']);
    world.apply(worker('a'));
    world.watches.keep();
    expect(world.open).toEqual(['nodes']);
    world.apply(remove(WORKER, idOf(WORKER, 'edge.a')), remove(WORKER, idOf(WORKER, 'edge.b')));
    world.apply(remove(CLUSTER, idOf(CLUSTER, EDGE)));
    world.watches.keep();
    expect(world.open).toEqual([]);
  });

  test('only-at-the-lease-holder', () => {
    const world = new Watching();
    world.watches.keep();
    world.fence = undefined;
    world.watches.keep();
    expect(world.open).toEqual([]);
    world.watches.keep();
    expect(world.opened).toHaveLength(1);
  });

  test('with-other-credentials-it-is-another-watch', () => {
    const world = new Watching();
    world.watches.keep();
    world.apply(cluster({ sinceMs: 5 }));
    world.watches.keep();
    expect(world.opened).toHaveLength(1);
    world.apply(cluster({ endpoint: 'https://elsewhere' }));
    world.watches.keep();
    expect(world.opened.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  });

  test('closed-means-all, and nothing is begun again', async () => {
    const world = new Watching(draining('a'));
    world.watches.keep();
    world.watches.close();
    await world.clock.pass(3_600_000);
    expect([world.open, world.opened.length]).toEqual([[], 2]);
  });
});

describe('one that ends is begun again', () => {
  const pauses = ({ opened }: Watching) => opened.slice(1).map(({ atMs }, nth) => atMs - (opened[nth]?.atMs ?? 0));

  test.each<[string, Error | undefined]>([
    ['it breaks', new ClusterUnreachable('cut off')],
    ['404', new ClusterRefused(404, 'NotFound', 'no')],
    ['410', new ClusterRefused(410, 'Expired', 'no')],
    ['500', new ClusterRefused(500, 'InternalError', 'no')],
    ['it ends well, at once', undefined],
  ])('%s: ever later, and at least each minute', async (_, error) => {
    const world = new Watching();
    world.onOpen = ({ end }) => end(error);
    world.watches.keep();
    await world.clock.pass(250_000);
    expect(pauses(world).map((ms) => ms / 1000)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  test('soon, when it has lasted for a while', async () => {
    const world = new Watching();
    world.onOpen = ({ end }) => void world.clock.sleep(240_000).then(() => end());
    world.watches.keep();
    await world.clock.pass(1_000_000);
    expect(new Set(pauses(world))).toEqual(new Set([241_000]));
  });
});

describe('a change', () => {
  test('of-the-node-of-a-worker makes the look at its cluster sooner; of another one nothing', async () => {
    const world = new Watching();
    world.watches.keep();
    world.last('nodes').show(node('c'));
    await world.clock.pass(5000);
    expect(world.looks).toEqual([]);
    const nowMs = world.clock.nowMs();
    world.last('nodes').show(node('a'));
    await world.clock.settle();
    expect(world.looks).toEqual([nowMs]);
  });

  test('of-a-pod ends the wait of a drain on its node, and of those that a budget of its namespace blocks', async () => {
    const reasons = {
      a: { code: 'pods-leaving' },
      b: { code: 'budget-blocks' },
      c: { code: 'budget-blocks' },
      d: { code: 'pods-leaving' },
    };
    const workers = Object.keys(reasons).map(draining);
    const world = new Watching(...workers, ...waiting(reasons), report('b', 'default'), report('c', 'other'));
    world.watches.keep();
    world.last('pods').show(POD);
    await world.clock.settle();
    expect(world.early.toSorted()).toEqual(['op-1.edge.a', 'op-1.edge.b']);
    expect(world.looks).toEqual([]);
  });

  test('of-a-node ends the wait of a join for it, and no wait for an API that is away', async () => {
    const reasons = { a: { code: 'node-awaited' }, b: { code: 'cluster-unreachable' } };
    const world = new Watching(draining('a'), draining('b'), ...waiting(reasons, 'await-node'));
    world.watches.keep();
    world.last('pods').show(POD);
    world.last('nodes').show(node('b'));
    await world.clock.settle();
    expect(world.early).toEqual([]);
    await world.clock.pass(1000);
    world.last('nodes').show(node('a'));
    await world.clock.settle();
    expect(world.early).toEqual(['op-1.edge.a']);
  });

  test('a-flood-is-one-look-a-second, and four for what waits; the last of it is seen', async () => {
    const world = new Watching(draining('a'), ...waiting({ a: { code: 'pods-leaving' } }));
    world.watches.keep();
    for (let nth = 0; nth < 10_000; nth += 1) {
      world.last('nodes').show(node('a'));
      world.last('pods').show(POD);
      if (nth % 10 === 0) await world.clock.pass(1);
    }
    await world.clock.pass(5000);
    const beganMs = world.looks[0] ?? 0;
    expect(world.looks.map((ms) => ms - beganMs)).toEqual([0, 1000, 2000]);
    // Those of Nodes and of pods, in the second that the flood lasted and once afterwards.
    expect(world.early.length).toBeLessThanOrEqual(2 * 6);
  });

  test('after-its-end-shows-nothing', async () => {
    const world = new Watching(draining('a'), ...waiting({ a: { code: 'pods-leaving' } }));
    world.watches.keep();
    world.last('nodes').show(node('a'));
    world.watches.close();
    world.last('nodes').show(node('a'));
    await world.clock.pass(5000);
    expect([world.looks, world.early]).toEqual([[], []]);
  });
});
