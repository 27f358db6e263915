// Planning a drain, without the cluster: what becomes of each of many thousand pods, under as many budgets as a busy cluster has.
import { planDrain, type NodeContents } from '../../src/kubernetes/runtime.ts';
import { below, type Benchmark, type Figure } from '../benchmark.ts';
import { median } from '../rounds.ts';
import type { BenchScope } from '../scope.ts';
import { threadCpuMs } from '../slices.ts';

const NODES = 100;
const PODS = 110;
/** Each has a budget. */
const WORKLOADS = 100;
const NAMESPACES = 10;
const ROUNDS = 15;
const LIMIT_MS = 50;
const POLICY = { deadlineMs: 300_000, evictBare: false, keepEmptyDir: false };

export const planBenchmark: Benchmark = {
  name: 'kubernetes-plan',
  about: `planning a drain of ${NODES} nodes with ${PODS} pods each, under ${WORKLOADS} budgets`,
  seconds: 3,
  run: measure,
};

async function measure(scope: BenchScope): Promise<readonly Figure[]> {
  const nodes = Array.from({ length: NODES }, (_, nth) => composeContents(nth));
  const planned = nodes.map((contents, nth) => planDrain(`node-${nth}`, contents, POLICY).pods.length);
  if (planned.some((count) => count !== PODS)) throw new Error('a plan has not all pods');
  const rounds = Array.from({ length: ROUNDS }, () => {
    scope.check();
    const began = threadCpuMs();
    for (const [nth, contents] of nodes.entries()) planDrain(`node-${nth}`, contents, POLICY);
    return threadCpuMs() - began;
  });
  const value = median(rounds);
  const worst = Math.max(...rounds).toFixed(1);
  const peer = `limit: ${LIMIT_MS} ms; worst of ${ROUNDS} rounds ${worst} ms`;
  return [{ name: `kubernetes-plan-${NODES * PODS}`, value, unit: 'ms', peer, ...below(1, value / LIMIT_MS) }];
}

function composeContents(node: number): NodeContents {
  const workload = (nth: number) => (node * PODS + nth * 7) % WORKLOADS;
  return {
    node: {
      ...{ name: `node-${node}`, uid: `uid-${node}`, resourceVersion: '1', readiness: 'ready', createdAtMs: 0 },
      ...{ isUnschedulable: true, isExcludedFromLoadBalancers: true, isControlPlane: false },
    },
    pods: Array.from({ length: PODS }, (_, nth) => composePod(`pod-${node}-${nth}`, workload(nth))),
    // Each look reads them anew.
    budgets: Array.from({ length: WORKLOADS }, (_, nth) => ({
      ...{ namespace: namespaceOf(nth), name: `budget-${nth}`, disruptionsAllowed: 2 },
      selector: { matchLabels: { app: `app-${nth}`, tier: 'web' } },
    })),
    localVolumes: [{ namespace: namespaceOf(0), claim: 'data-0', volume: 'disk-0' }],
  };
}

function composePod(name: string, workload: number): NodeContents['pods'][number] {
  const isDaemon = workload % 20 === 0;
  return {
    ...{ namespace: namespaceOf(workload), name, uid: `uid-${name}`, labels: { app: `app-${workload}`, tier: 'web' } },
    owner: { kind: isDaemon ? 'DaemonSet' : 'ReplicaSet', name: `app-${workload}`, uid: `uid-${workload}` },
    ...{ isMirror: false, isFinished: false, isTerminating: false, isReady: true, graceSeconds: 30 },
    ...{ hasEmptyDir: workload % 3 === 0, claims: workload % 10 === 1 ? [`data-${workload}`] : [] },
  };
}

function namespaceOf(workload: number): string {
  return `namespace-${workload % NAMESPACES}`;
}
