// Changes flows and groups of a switch in stages, each in force before the next. To find out whether a stage is in force, one of our drop
// flows is written again: never a flow that only a later stage adds, which must not be there sooner than the flows it belongs with.
import { isMod, type Mod } from './openflow/mods.ts';
import type { SwitchChange, SwitchContents } from '../switch/switch.ts';
import { findIdleFlow, waitForRevalidation, type Revalidation } from './revalidation-driver.ts';
import { stageBundles } from './bundle-stages.ts';

export interface FlowChangeContext extends Pick<Revalidation, 'clock' | 'waitForRevalidators'> {
  /** The contents before the change. */
  readonly before: SwitchContents;
  readonly bundle: (mods: readonly Mod[]) => Promise<void>;
  /** What follows after the last flow change. */
  readonly finish: () => Promise<void>;
}

export async function applyFlowChanges(changes: readonly SwitchChange[], to: FlowChangeContext): Promise<void> {
  const { before, bundle, finish } = to;
  const mods = changes.filter(isMod);
  // Where nothing of ours is left, no packet of ours passes the tables in halves.
  const stages = findIdleFlow(before, changes) === undefined ? [mods] : stageBundles(mods);
  const applied: Mod[] = [];
  for (const turn of stages) {
    if (applied.length > 0) await waitUntilInForce(applied, to);
    await bundle(turn);
    for (const mod of turn) applied.push(mod);
  }
  await finish();
  // The bundle is committed, but packets still match cached results of the flows before it.
  if (applied.length > 0) await waitUntilInForce(applied, to);
}

/** Where nothing of ours is left, there is nothing to write again: the cache is revalidated by itself in time. */
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
