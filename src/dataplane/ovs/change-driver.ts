// Makes the changes of flows and groups on a switch, in turns, each in force before the next. What is in force is looked for by
// writing a flow of ours once more that drops packets: never one that only a later turn puts, which must not be there sooner than what
// it goes together with.
import { isMod, type Mod } from '../openflow/mods.ts';
import type { SwitchChange, SwitchContents } from '../switch.ts';
import { idleFlow, untilInForce, type InForce } from './in-force-driver.ts';
import { inTurns } from './in-turns.ts';

export interface Changing extends Pick<InForce, 'clock' | 'wait'> {
  /** What was there before. */
  readonly found: SwitchContents;
  readonly bundle: (mods: readonly Mod[]) => Promise<void>;
  /** What comes after the last flow was changed. */
  readonly end: () => Promise<void>;
}

export async function changeFlows(changes: readonly SwitchChange[], to: Changing): Promise<void> {
  const { found, bundle, end } = to;
  const mods = changes.filter(isMod);
  // Where nothing of ours is left, nobody's packets go through it in halves.
  const turns = idleFlow(found, changes) === undefined ? [mods] : inTurns(mods);
  const made: Mod[] = [];
  for (const turn of turns) {
    if (made.length > 0) await inForce(made, to);
    await bundle(turn);
    for (const mod of turn) made.push(mod);
  }
  await end();
  // The bundle is taken, and packets still follow what was cached of the flows before it.
  if (made.length > 0) await inForce(made, to);
}

/** Where nothing of ours is left, nothing can be written once more: what is cached is gone through in time. */
async function inForce(made: readonly Mod[], { found, clock, wait, bundle }: Changing): Promise<void> {
  const idle = idleFlow(found, made);
  if (idle === undefined) return wait();
  return untilInForce({ clock, wait, nudge: () => bundle([{ kind: 'put-flow', flow: idle }]) });
}
