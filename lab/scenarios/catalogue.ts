// Every scenario that the lab proves, in the order in which they are run.
import { nothingHappens } from './nothing-happens.ts';
import type { Scenario } from './scenario.ts';

export const SCENARIOS: readonly Scenario[] = [nothingHappens];
