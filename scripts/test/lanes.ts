// What the test command runs beside what. One lane only computes and gives way to the other, whose suites wait for real programs most of the time:
// together they use both cores of a small machine.
import type { TestPart } from './options.ts';

export type TestSuite = Exclude<TestPart, 'checks'>;

/** The static checks, or suites that one run of vitest has. */
export type TestStep = 'checks' | readonly TestSuite[];

/** Its steps run one after the other. */
type Lane = readonly TestStep[];

const COMPUTING: Lane = ['checks', ['sim']];
/**
 * Kubernetes has a run of its own, since a set-up lasts until its run ends: beside a control plane of Kubernetes packets would not be counted alone. It
 * comes first, when the checks compute and nothing else does.
 */
const WITH_REAL_PARTS: Lane = [['kubernetes'], ['unit', 'real', 'packets']];

export function lanesOf(parts: readonly TestPart[]): readonly Lane[] {
  return [COMPUTING, WITH_REAL_PARTS].map((lane) => lane.map((step) => only(step, parts)).filter(hasParts));
}

function only(step: TestStep, parts: readonly TestPart[]): TestStep {
  if (step === 'checks') return parts.includes(step) ? step : [];
  return step.filter((suite) => parts.includes(suite));
}

function hasParts(step: TestStep): boolean {
  return step.length > 0;
}
