// Every benchmark there is, in the order in which they run.
import { agentBenchmarks } from './agents/benchmarks.ts';
import { apiBenchmarks } from './api/benchmarks.ts';
import { signingBenchmark } from './agents/signing.ts';
import { checksBenchmarks } from './api/checks.ts';
import { baremetalBenchmarks } from './baremetal/benchmarks.ts';
import type { Benchmark } from './benchmark.ts';
import { coldStartBenchmarks } from './cold-start.ts';
import { dataplaneBenchmark } from './dataplane.ts';
import { electionBenchmark } from './election.ts';
import { failoverBenchmarks } from './failover.ts';
import { leaseKeptBenchmark } from './lease-kept.ts';
import { figuresPiecesBenchmark } from './figures-pieces.ts';
import { kubernetesBenchmarks } from './kubernetes/benchmarks.ts';
import { journalBenchmarks } from './journal/benchmarks.ts';
import { listsBenchmark } from './lists.ts';
import { openFlowBenchmark } from './openflow.ts';
import { placementBenchmarks } from './placements/benchmarks.ts';
import { decisionSlicesBenchmark } from './decision-slices.ts';
import { previewSlicesBenchmark } from './preview-slices.ts';
import { scaleInPlanBenchmarks } from './scale-in-plan.ts';
import { scaleInWholeBenchmark } from './scale-in-whole.ts';
import { schedulerDecisionBenchmark } from './scheduler-decision.ts';
import { schedulerPackingBenchmark } from './scheduler-packing.ts';

export const BENCHMARKS: readonly Benchmark[] = [
  ...journalBenchmarks,
  ...placementBenchmarks,
  ...baremetalBenchmarks,
  schedulerDecisionBenchmark,
  schedulerPackingBenchmark,
  electionBenchmark,
  ...scaleInPlanBenchmarks,
  previewSlicesBenchmark,
  decisionSlicesBenchmark,
  figuresPiecesBenchmark,
  scaleInWholeBenchmark,
  ...apiBenchmarks,
  ...checksBenchmarks,
  listsBenchmark,
  ...coldStartBenchmarks,
  ...agentBenchmarks,
  signingBenchmark,
  ...failoverBenchmarks,
  leaseKeptBenchmark,
  dataplaneBenchmark,
  openFlowBenchmark,
  ...kubernetesBenchmarks,
];
