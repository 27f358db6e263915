// Both simulated clusters pass the contract suite: the one in memory, and the one whose objects are documents.
import { Registry } from '../../../fleet/index.ts';
import { accept, Journal, type Ids } from '../../../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../../../journal/runtime.ts';
import type { ClusterApi } from '../cluster-api.ts';
import { describeClusterApi, type ClusterHarness, type WantedPods } from '../contract.ts';
import { FleetObjects } from './fleet-objects.ts';
import { MemoryCluster } from './memory-cluster.ts';
import { simulatedClusterModel } from './model.ts';
import { simulatedNode, workload } from '../../workers-fixture.ts';
import type { ClusterObjects } from './objects.ts';
import { SimulatedCalls } from './calls.ts';
import { SimulatedCluster } from './simulated-cluster-driver.ts';

const EDGE = 'edge';

function fill(objects: ClusterObjects): void {
  for (const node of ['a', 'b']) objects.nodes.put(node, simulatedNode(node));
}

function addPods(objects: ClusterObjects, { name, ...facts }: WantedPods, nowMs: number): void {
  objects.workloads.put(name, workload(name, facts));
  new SimulatedCalls(objects, nowMs).listNodes();
}

interface Parts {
  readonly api: ClusterApi;
  readonly change: (edit: (objects: ClusterObjects) => void) => Promise<void>;
  readonly pass: (ms: number) => void;
  readonly nowMs: () => number;
}

async function harnessOf({ api, change, pass, nowMs }: Parts): Promise<ClusterHarness> {
  await change(fill);
  return {
    api,
    nodes: ['a', 'b'],
    deploy: (pods) => change((objects) => addPods(objects, pods, nowMs())),
    until: async (what, holds) => {
      for (let nth = 0; nth < 100; nth += 1) {
        if (await holds()) return;
        pass(1000);
      }
      throw new Error(`it never came to this: ${what}`);
    },
    close: async () => undefined,
  };
}

describeClusterApi('in memory', () => {
  let nowMs = 1_000_000;
  const api = new MemoryCluster(EDGE, () => nowMs);
  return harnessOf({
    api,
    change: async (edit) => edit(api.objects),
    pass: (ms) => {
      nowMs += ms;
    },
    nowMs: () => nowMs,
  });
});

describeClusterApi('as documents', async () => {
  let nowMs = 1_000_000;
  const clock = { nowMs: () => nowMs, sleep: async () => undefined, turn: async () => undefined };
  const disk = new MemoryDisk({ journalId: 'test', nowMs: () => nowMs });
  const store = new MemoryStore(disk);
  let last = 0;
  const next = (prefix: string): string => `${prefix}-${(last += 1)}`;
  const ids: Ids = { next, secret: () => next('secret') };
  const journal = new Journal({ store, registry: new Registry([simulatedClusterModel]), clock, ids });
  await journal.open();
  const lease = await store.acquireLease({ name: 'fleet', url: 'x', holder: 'test', ttlMs: 10 ** 12 });
  if (lease.kind !== 'held') throw new Error('the lease is taken');
  await journal.lead({ lease: 'fleet', epoch: lease.lease.epoch });
  return harnessOf({
    api: new SimulatedCluster({ cluster: EDGE, journal, clock, ids }),
    change: async (edit) => {
      await journal.submit({
        by: 'test',
        decide: (fleet) => {
          const objects = new FleetObjects(fleet, EDGE);
          edit(objects);
          return accept(objects.changes(), null);
        },
      });
    },
    pass: (ms) => {
      nowMs += ms;
    },
    nowMs: () => nowMs,
  });
});
