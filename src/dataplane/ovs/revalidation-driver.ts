// Waits until a change is in force. A switch revalidates its flow caches when flows change, and every half second; what can be waited for
// is the end of a revalidation. The one that our change started may be over when we start to wait, and the one that ends next may have
// started before the change. So another one is triggered while we wait, twice: the second one has certainly started after the change.
import type { Clock } from '../../journal/index.ts';
import { isOurCookie } from '../switch/derived-ids.ts';
import { flowKey, type Flow, type SwitchChange, type SwitchContents } from '../switch/switch.ts';

const TIMES = 2;
const AGAIN_MIN_MS = 50;
const AGAIN_MAX_MS = 200;
const DONE = 'done';

export interface Revalidation {
  readonly clock: Clock;
  /** Resolves at the end of the next revalidation. */
  readonly waitForRevalidators: () => Promise<void>;
  /** Triggers a revalidation. */
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
      // The waiter must be registered first: then one trigger is enough, and each costs the switch something.
      await clock.turn();
      for (let ms = AGAIN_MIN_MS; !over.signal.aborted; ms = Math.min(2 * ms, AGAIN_MAX_MS)) {
        await triggerRevalidation();
        await clock.sleep(ms, over.signal);
      }
    };
    await Promise.all([waiting, nudging()]);
  }
}

/** One of our drop flows that exists after these changes: written again, it changes nothing. */
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
