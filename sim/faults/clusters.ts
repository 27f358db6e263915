// Clusters whose API is away, slow, loses answers or answers by errors; whose kubelets fall silent or are sick, and whose pods do not end.
import type { SimCluster } from '../world/clusters/sim-cluster.ts';
import type { World } from '../world/world.ts';
import type { Fault } from './fault.ts';

interface ClusterFault {
  readonly name: string;
  readonly weight: number;
  readonly forMs: readonly [number, number];
  /** Undefined when it cannot be done now; else what takes it back. */
  readonly begin: (
    cluster: SimCluster,
    world: World,
  ) => { readonly what: string; readonly end: () => void } | undefined;
}

function clusterFault({ name, weight, forMs: [least, most], begin }: ClusterFault): Fault {
  return {
    name,
    weight,
    strike: (world) => {
      if (world.clusters.length === 0) return undefined;
      const cluster = world.rng.pick(world.clusters);
      const begun = begin(cluster, world);
      if (begun === undefined) return undefined;
      const forMs = world.rng.between(least, most);
      world.scheduler.after(forMs, `${name} of ${cluster.name} is over`, begun.end);
      return `${begun.what} of ${cluster.name} for ${forMs} ms`;
    },
  };
}

export const apiAway = clusterFault({
  name: 'api-away',
  weight: 5,
  forMs: [500, 30_000],
  begin: ({ path }) => {
    path.cut = true;
    return { what: 'the API', end: () => (path.cut = false) };
  },
});

export const apiSlow = clusterFault({
  name: 'api-slow',
  weight: 4,
  forMs: [1000, 20_000],
  begin: ({ path }, { rng }) => {
    path.slowMs = rng.pick([300, 2000, 6000]);
    return { what: 'the API', end: () => (path.slowMs = 0) };
  },
});

export const apiLoses = clusterFault({
  name: 'api-loses',
  weight: 8,
  forMs: [1000, 20_000],
  begin: ({ path }, { rng }) => {
    path.failPercent = rng.pick([20, 50, 80]);
    return { what: 'calls', end: () => (path.failPercent = 0) };
  },
});

export const apiErrs = clusterFault({
  name: 'api-errs',
  weight: 7,
  forMs: [1000, 15_000],
  begin: (cluster, { rng }) => {
    cluster.errorPercent = rng.pick([10, 30, 70]);
    return { what: 'calls', end: () => (cluster.errorPercent = 0) };
  },
});

export const driverRepliesLost = clusterFault({
  name: 'driver-replies-lost',
  weight: 5,
  forMs: [1000, 20_000],
  begin: (cluster, { rng }) => {
    cluster.lostReplyPercent = rng.pick([20, 50]);
    return { what: 'answers', end: () => (cluster.lostReplyPercent = 0) };
  },
});

export const kubeletSilent = clusterFault({
  name: 'kubelet-silent',
  weight: 7,
  forMs: [2000, 60_000],
  begin: (cluster, { rng }) => {
    const names = cluster.memory.objects.nodes.list().flatMap(([name, node]) => (node.isControlPlane ? [] : [name]));
    if (names.length === 0) return undefined;
    const name = rng.pick(names);
    cluster.silenceKubelet(name);
    return { what: name, end: () => cluster.wakeKubelet(name) };
  },
});

export const nodeSick = clusterFault({
  name: 'node-sick',
  weight: 4,
  forMs: [1000, 30_000],
  begin: (cluster, { rng }) => {
    const { nodes } = cluster.memory.objects;
    const [name, node] = rng.pick(nodes.list());
    nodes.put(name, { ...node, isSick: true });
    return {
      what: name,
      end: () => {
        const { isSick: _, ...well } = nodes.get(name) ?? node;
        if (nodes.get(name) !== undefined) nodes.put(name, well);
      },
    };
  },
});

export const podsStuck = clusterFault({
  name: 'pods-stuck',
  weight: 4,
  forMs: [2000, 40_000],
  begin: (cluster, { rng }) => {
    const { workloads } = cluster.memory.objects;
    const fit = workloads.list().filter(([, { ends, ownerKind }]) => ends === undefined && ownerKind === 'ReplicaSet');
    if (fit.length === 0) return undefined;
    const [name, workload] = rng.pick(fit);
    workloads.put(name, { ...workload, ends: 'never' });
    return { what: `pods ${name}`, end: () => cluster.endStuckPods() };
  },
});
