// Waits until what was changed is in force. A switch goes through what it has cached of its flows when they change, and every half a
// second; what can be waited for is the end of the next time. The one that our change made it begin may be over when we ask, and
// the one that ends next may have begun before it. So it is made to begin once more while we wait, and that twice: the second one
// has begun after the change for certain.
import type { Clock } from '../../journal/index.ts';
import { flowKey } from '../compile/compile.ts';
import { isOurCookie } from '../switch/derived-ids.ts';
import type { Flow, SwitchChange, SwitchContents } from '../switch/switch.ts';

const TIMES = 2;
const AGAIN_MIN_MS = 50;
const AGAIN_MAX_MS = 200;
const DONE = 'done';

export interface Revalidation {
  readonly clock: Clock;
  /** Resolves at the end of the next time that the switch goes through what it has cached. */
  readonly waitForRevalidators: () => Promise<void>;
  /** Makes it begin. */
  readonly triggerRevalidation: () => Promise<void>;
}

export async function waitForRevalidation({
  clock,
  waitForRevalidators,
  triggerRevalidation,
}: Revalidation): Promise<void> {
  for (let time = 0; time < TIMES; time += 1) {
    const over = new AbortController();
    const waiting = waitForRevalidators().finally(() => over.abort(DONE));
    const nudging = async (): Promise<void> => {
      // Whoever waits must have asked before: then one time is enough, and each costs the switch something.
      await clock.turn();
      for (let ms = AGAIN_MIN_MS; !over.signal.aborted; ms = Math.min(2 * ms, AGAIN_MAX_MS)) {
        await triggerRevalidation();
        await clock.sleep(ms, over.signal);
      }
    };
    await Promise.all([waiting, nudging()]);
  }
}

/** A flow of ours that is there after these changes, and does nothing: written once more it is what it was. */
export function findIdleFlow(before: SwitchContents, changes: readonly SwitchChange[]): Flow | undefined {
  const changed = new Map<string, Flow | undefined>();
  for (const change of changes) {
    if (change.kind === 'put-flow') changed.set(flowKey(change.flow), change.flow);
    if (change.kind === 'remove-flow') changed.set(flowKey(change.flow), undefined);
  }
  return [...changed.values()].find(isIdle) ?? before.flows.find((flow) => isIdle(flow) && !changed.has(flowKey(flow)));
}

function isIdle(flow: Flow | undefined): boolean {
  return flow?.actions === 'drop' && isOurCookie(flow.cookie);
}
