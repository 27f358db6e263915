// Makes the changes of flows and groups on a switch, in turns, each in force before the next. What is in force is looked for by
// writing a flow of ours once more that drops packets: never one that only a later turn puts, which must not be there sooner than what
// it goes together with.
import { isMod, type Mod } from './openflow/mods.ts';
import type { SwitchChange, SwitchContents } from '../switch/switch.ts';
import { findIdleFlow, waitForRevalidation, type Revalidation } from './revalidation-driver.ts';
import { stageBundles } from './bundle-stages.ts';

export interface FlowChangeContext extends Pick<Revalidation, 'clock' | 'waitForRevalidators'> {
  /** What was there before. */
  readonly before: SwitchContents;
  readonly bundle: (mods: readonly Mod[]) => Promise<void>;
  /** What comes after the last flow was changed. */
  readonly finish: () => Promise<void>;
}

export async function applyFlowChanges(changes: readonly SwitchChange[], to: FlowChangeContext): Promise<void> {
  const { before, bundle, finish } = to;
  const mods = changes.filter(isMod);
  // Where nothing of ours is left, nobody's packets go through it in halves.
  const stages = findIdleFlow(before, changes) === undefined ? [mods] : stageBundles(mods);
  const applied: Mod[] = [];
  for (const turn of stages) {
    if (applied.length > 0) await waitUntilInForce(applied, to);
    await bundle(turn);
    for (const mod of turn) applied.push(mod);
  }
  await finish();
  // The bundle is taken, and packets still follow what was cached of the flows before it.
  if (applied.length > 0) await waitUntilInForce(applied, to);
}

/** Where nothing of ours is left, nothing can be written once more: what is cached is gone through in time. */
async function waitUntilInForce(
  made: readonly Mod[],
  { before, clock, waitForRevalidators, bundle }: FlowChangeContext,
): Promise<void> {
  const idle = findIdleFlow(before, made);
  if (idle === undefined) return waitForRevalidators();
  return waitForRevalidation({
    clock,
    waitForRevalidators,
    triggerRevalidation: () => bundle([{ kind: 'put-flow', flow: idle }]),
  });
}
