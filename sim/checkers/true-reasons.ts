// A sentence is true of the case that it is shown in: what an operation waits for is so, and what it ended for was so when it ended.
import type { Fleet } from '../../src/fleet/index.ts';
import { ITEM, type Item } from '../../src/operations/index.ts';
import type { Checker } from './checker.ts';
import { isServerDisturbed } from './drains.ts';
import { isReasonTrue } from './reason-claims.ts';

const OPEN_STATES: readonly Item['state'][] = ['pending', 'running', 'waiting'];
/** An item is planned again when what it waits for changes, and at the latest after its backoff. */
const STALE_MAX_MS = 30_000;

export const reasonsTrue: Checker = {
  name: 'never: an item says for long what is not so, or ends with it',
  watch: (violated, world) => {
    const open = new Map<string, Item>();
    const untrueSinceMs = new Map<string, number>();
    let epoch = 0;
    return {
      onApplied: ({ truth, applied, entry: { fence } }) => {
        const { nowMs } = world.scheduler;
        if (fence?.epoch !== epoch || world.servers.some(isServerDisturbed)) untrueSinceMs.clear();
        epoch = fence?.epoch ?? 0;
        for (const { kind, before, after } of applied) {
          if (kind !== ITEM.name) continue;
          const id = (after ?? before)?.id ?? '';
          const item = after?.doc as Item | undefined;
          if (item !== undefined && OPEN_STATES.includes(item.state)) open.set(id, item);
          else if (open.delete(id) && item !== undefined && !isReasonTrue(truth, item)) violated(describe(id, item));
        }
        for (const [id, item] of untrueAmong(truth, open, untrueSinceMs)) {
          const saying = `${id} ${JSON.stringify(item.reason)}`;
          const sinceMs = untrueSinceMs.get(saying) ?? nowMs;
          untrueSinceMs.set(saying, sinceMs);
          if (nowMs - sinceMs > STALE_MAX_MS) violated(`${describe(id, item)}, for ${nowMs - sinceMs} ms`);
        }
      },
    };
  },
};

/** Forgets what is true again, or is not said any more. */
function untrueAmong(
  truth: Fleet,
  open: ReadonlyMap<string, Item>,
  untrueSinceMs: Map<string, number>,
): (readonly [string, Item])[] {
  const untrue = [...open].filter(([, item]) => !isReasonTrue(truth, item));
  const said = new Set(untrue.map(([id, { reason }]) => `${id} ${JSON.stringify(reason)}`));
  for (const one of [...untrueSinceMs.keys()]) if (!said.has(one)) untrueSinceMs.delete(one);
  return untrue;
}

function describe(id: string, { state, step, reason }: Item): string {
  return `${id} is ${state} at ${step}: ${JSON.stringify(reason)}`;
}
