// The project that callers of another one must learn nothing of: all of it has a marker, or is among the traces.
import { idOf, put, type Change } from '../../src/fleet/index.ts';
import { CLUSTER, DRAIN_REPORT, WORKER } from '../../src/kubernetes/index.ts';
import { SUBNET } from '../../src/network/index.ts';

export const MARKER = 'zq9';
export const HIDDEN = `${MARKER}-project`;
export const [VM, NET, FAR_PORT] = [`${MARKER}-vm`, `${MARKER}-net`, `port-${MARKER}`];
/** A host in a site of its own: neither is a project's to know, and an instance of the caller's project is moved off it. */
export const [PLACE, DRAINED] = [`${MARKER}-place`, `${MARKER}-host`];
export const TRACES = [MARKER, 'fa:16:3e:00:01:77', '10.7.0.177', 'central-0', 'central-1'];
export const CHANGED = { changedBy: 'test', changedAtMs: 1 };

/** A cluster of a project, with a worker on an instance of the hidden one that an operation on a host drains. */
export function clusterOf(project: string): Change[] {
  const name = `of-${project}`;
  const operation = `drain-5.${DRAINED}.workers`;
  const ready = { readiness: 'ready', readinessSinceMs: 1, createdAtMs: 1, ...CHANGED } as const;
  return [
    put(CLUSTER, idOf(CLUSTER, name), {
      ...{ name, project, kind: 'simulated', reach: 'none', whenHostLeaves: 'drain', drainsAtOnce: 1 },
      drainPolicy: { deadlineMs: 300_000, evictBare: false, keepEmptyDir: false },
      ...{ state: 'reachable', sinceMs: 1, ...CHANGED },
    }),
    put(WORKER, idOf(WORKER, `${name}.worker-1`), {
      ...{ cluster: name, node: 'worker-1', state: 'draining', stateSinceMs: 1, ...ready },
      ...{ instance: VM, work: { operation } },
    }),
    put(DRAIN_REPORT, idOf(DRAIN_REPORT, `${name}.worker-1`), {
      ...{ cluster: name, operation, left: 1, terminating: 0, moreBlockers: 0, atMs: 1, blockers: [] },
    }),
  ];
}

export function subnetChange(name: string, network: string, block: string): Change {
  return put(SUBNET, idOf(SUBNET, name), {
    ...{ name, network, cidr: `${block}.0/24`, version: 4 as const, ...CHANGED },
    pools: [{ first: `${block}.2`, last: `${block}.250` }],
  });
}
