// Every scenario that the lab proves, in the order in which they are run.
import { oneOfFifty } from './one-of-fifty.ts';
import { handover, handoverRepeated, handoverOnePort, handoverToNewcomer, handoverWithLateHost } from './handover.ts';
import { lossOfHost, lossOfSwitch } from './loss.ts';
import { manyFlows } from './many-flows.ts';
import { nothingHappens } from './nothing-happens.ts';
import { scaleIn } from './scale-in.ts';
import type { LabScenario } from './scenario.ts';
import { sickRouter } from './sick-router.ts';
import { targetDies } from './target-dies.ts';
import { withoutServer } from './without-server.ts';

export const SCENARIOS: readonly LabScenario[] = [
  nothingHappens,
  handover,
  handoverRepeated,
  handoverOnePort,
  handoverWithLateHost,
  handoverToNewcomer,
  scaleIn,
  sickRouter,
  withoutServer,
  lossOfSwitch,
  lossOfHost,
  targetDies,
  manyFlows,
  oneOfFifty,
];
