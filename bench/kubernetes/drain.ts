// `muster workers drain --wait` beside `kubectl drain` of a twin, in turns: both as commands, from their start to their end.
import { atLeast, below, type Benchmark, type Figure, type Skipped } from '../benchmark.ts';
import { runPaired } from '../rounds.ts';
import type { BenchScope } from '../scope.ts';
import { runProgram, startBenchPlane, startBenchServer, Twin } from './twins.ts';

const PODS = 30;
const RATIO_MAX = 1.2;

interface DrainCase {
  readonly name: string;
  /** How many pods the budget keeps. */
  readonly minAvailable: number;
  readonly rounds: number;
  readonly seconds: number;
}

const CASES: readonly DrainCase[] = [
  // Half of them at a time: kubectl comes again every 5 s.
  { name: 'kubernetes-drain-half', minAvailable: PODS / 2, rounds: 3, seconds: 55 },
  // All at once: what is left is how fast both request evictions and read pods.
  { name: 'kubernetes-drain-all', minAvailable: 0, rounds: 5, seconds: 45 },
];

export const drainBenchmarks: readonly Benchmark[] = CASES.map((one) => ({
  name: one.name,
  about: `workers drain of a node with ${PODS} pods, of which a budget keeps ${one.minAvailable}, beside kubectl drain`,
  seconds: one.seconds,
  run: (scope) => measure(scope, one),
}));

async function measure(
  scope: BenchScope,
  { name, minAvailable, rounds }: DrainCase,
): Promise<readonly Figure[] | Skipped> {
  const plane = await startBenchPlane(scope);
  if ('skipped' in plane) return plane;
  const wanted = { pods: PODS, minAvailable };
  const [ours, theirs] = [await Twin.start(scope, plane, wanted), await Twin.start(scope, plane, wanted)];
  const { muster } = await startBenchServer(scope, plane);
  await muster('workers', 'adopt', ...ours.nodes.names, '--cluster', 'bench');
  const kubectl = (node: string) =>
    runProgram(plane.kubectl, ['--kubeconfig', plane.kubeconfigFile, 'drain', node, '--timeout=60s']);
  const workers = async (verb: string, node: string) => muster('workers', verb, node, '--cluster', 'bench', '--wait');
  let drained: string | undefined;
  const result = await runPaired(scope, rounds, async () => {
    if (drained !== undefined) await workers('return', drained);
    const oursMs = await ours.drain((node) => {
      drained = node;
      return workers('drain', node);
    });
    return [oursMs, await theirs.drain(kubectl)];
  });
  const fewest = ours.fewestReady;
  const peer = `kubectl drain: ${(result.peers / 1000).toFixed(2)} s`;
  return [
    { name, value: result.ours / 1000, unit: 's', peer, ...below(RATIO_MAX, result.ratio) },
    {
      ...{ name: `${name}-fewest-ready`, value: fewest, unit: 'pods', peer: `budget: ${minAvailable} pods` },
      ...atLeast(1, minAvailable === 0 ? 1 : fewest / minAvailable),
    },
  ];
}
