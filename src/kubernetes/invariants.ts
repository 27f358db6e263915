// What must never be untrue of clusters and workers.
import { idOf, type Invariant } from '../fleet/index.ts';
import { INSTANCE, type Instance } from '../instances/index.ts';
import { clusterOf, findWorkerOn, listTurns } from './evacuation/leaving-workers.ts';
import {
  CLUSTER,
  CLUSTER_TRANSITIONS,
  WORKER,
  WORKER_TRANSITIONS,
  WORKERS_BY_INSTANCE,
  type Cluster,
  type Worker,
} from './model.ts';

const legalTransitions: Invariant = {
  name: 'never: a worker or a cluster takes a step that its table does not have',
  check: (changed) =>
    changed.flatMap(({ kind, before, after }) => {
      if (before === undefined || after === undefined) return [];
      const tables: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
        [WORKER.name]: WORKER_TRANSITIONS,
        [CLUSTER.name]: CLUSTER_TRANSITIONS,
      };
      const [from, to] = [(before.doc as Worker | Cluster).state, (after.doc as Worker | Cluster).state];
      const table = tables[kind];
      return table === undefined || table[from]?.includes(to) === true ? [] : [`${kind}/${after.id}: ${from} to ${to}`];
    }),
};

const clusterOfEachWorker: Invariant = {
  name: 'never: a worker is of a cluster that is not there',
  check: (changed, fleet) =>
    changed.flatMap(({ kind, after }) => {
      if (kind !== WORKER.name || after === undefined) return [];
      const { cluster } = after.doc as Worker;
      return fleet.get(CLUSTER, idOf(CLUSTER, cluster)) === undefined ? [`worker/${after.id} of ${cluster}`] : [];
    }),
};

const oneWorkerPerInstance: Invariant = {
  name: 'never: two workers are on one instance',
  check: (changed, fleet) =>
    changed.flatMap(({ kind, after }) => {
      const instance = kind === WORKER.name ? (after?.doc as Worker | undefined)?.instance : undefined;
      if (instance === undefined || fleet.countOf(WORKERS_BY_INSTANCE, instance) <= 1) return [];
      return [`instance ${instance}`];
    }),
};

const cordonIsRemembered: Invariant = {
  name: 'never: a worker that is drained, or is being, without what was there before its cordon; nor a cordon on one in service',
  check: (changed) =>
    changed.flatMap(({ kind, after }) => {
      if (kind !== WORKER.name || after === undefined) return [];
      const { state, cordon } = after.doc as Worker;
      const isWrong =
        (state === 'draining' && cordon === undefined) || (state === 'in-service' && cordon !== undefined);
      return isWrong ? [`worker/${after.id} is ${state}`] : [];
    }),
};

const joinIsProved: Invariant = {
  name: 'never: a worker that was joined is in service without a Node that was seen Ready',
  check: (changed) =>
    changed.flatMap(({ kind, before, after }) => {
      if (kind !== WORKER.name || after === undefined) return [];
      const { state, providerId, nodeUid, readiness } = after.doc as Worker;
      const isJoined = state === 'in-service' && (before?.doc as Worker | undefined)?.state === 'joining';
      const isProved = providerId === undefined || (nodeUid !== undefined && readiness === 'ready');
      return isJoined && !isProved ? [`worker/${after.id} is ${state}, and its Node is ${readiness}`] : [];
    }),
};

const LEAVES: readonly Instance['state'][] = ['moving', 'shelving', 'deleting'];

const leavesDrained: Invariant = {
  name: "never: a worker's instance is moved, shelved or deleted before the worker is drained, unless it is forced or its cluster says that it moves as it is",
  check: (changed, fleet) =>
    changed.flatMap(({ kind, before, after }) => {
      const [was, is] = [before?.doc as Instance | undefined, after?.doc as Instance | undefined];
      if (kind !== INSTANCE.name || after === undefined || was?.state !== 'active') return [];
      const worker = is === undefined || !LEAVES.includes(is.state) ? undefined : findWorkerOn(fleet, after.id);
      if (worker === undefined || worker.doc.forced?.atMs === is?.changedAtMs) return [];
      const { state } = worker.doc;
      const movesAsItIs = is?.state === 'moving' && clusterOf(fleet, worker.doc).whenHostLeaves === 'move';
      const hasPods = state === 'in-service' || state === 'draining';
      return hasPods && !movesAsItIs
        ? [`instance ${after.id} is ${is?.state}, and worker ${worker.id} is ${state}`]
        : [];
    }),
};

/** Checked for turns that begin: a lowered limit stops no open one. */
const withinTurns: Invariant = {
  name: 'never: more workers of a cluster are out of service for leaving hosts at once than it allows',
  check: (changed, fleet) =>
    changed.flatMap(({ kind, before, after }) => {
      const [was, is] = [before?.doc as Worker | undefined, after?.doc as Worker | undefined];
      if (kind !== WORKER.name || is?.leaving?.turnAtMs === undefined || was?.leaving?.turnAtMs !== undefined)
        return [];
      const turns = listTurns(fleet, is.cluster).length;
      return turns > clusterOf(fleet, is).drainsAtOnce ? [`${turns} workers of cluster ${is.cluster}`] : [];
    }),
};

export const KUBERNETES_INVARIANTS: readonly Invariant[] = [
  legalTransitions,
  clusterOfEachWorker,
  oneWorkerPerInstance,
  cordonIsRemembered,
  joinIsProved,
  leavesDrained,
  withinTurns,
];
