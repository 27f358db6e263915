// Who may act on a node, over time: epochs only grow and each stands for one right, and no manager is declared lost, or loses a node, while its lease in the store lasts.
import { idOf, type AppliedChange, type Fleet } from '../../../src/fleet/index.ts';
import { MANAGER, NODE, type Manager, type Node } from '../../../src/baremetal/index.ts';
import { OPERATION } from '../../../src/operations/index.ts';
import type { Checker } from '../checker.ts';
import { LeaseBook } from './lease-book.ts';

interface NodeChange {
  readonly id: string;
  readonly before: Node | undefined;
  readonly after: Node | undefined;
}

export function nodeChanges(applied: readonly AppliedChange[]): NodeChange[] {
  return applied.flatMap(({ kind, before, after }) => {
    const id = (after ?? before)?.id;
    if (kind !== NODE.name || id === undefined) return [];
    return [{ id, before: before?.doc as Node | undefined, after: after?.doc as Node | undefined }];
  });
}

/** Over the whole run: also when a node is removed and comes back. */
export const oneRightPerEpoch: Checker = {
  name: 'never: an epoch of a node comes back, or stands for the right of two',
  watch: (violated) => {
    const highest = new Map<string, number>();
    const rights = new Map<string, string>();
    return {
      onApplied: ({ applied }) => {
        for (const { id, after } of nodeChanges(applied)) {
          const { epoch = -1, manager, managerEpoch, instance } = after ?? {};
          const before = highest.get(id) ?? 0;
          if (epoch < before) violated(`node ${id} is at epoch ${epoch}, and was at ${before}`);
          highest.set(id, Math.max(before, epoch));
          if (manager === undefined) continue;
          const right = `${manager} under lease ${managerEpoch}, for ${instance}`;
          const known = rights.get(`${id}/${epoch}`);
          if (known !== undefined && known !== right)
            violated(`epoch ${epoch} of node ${id} is that of ${known}, and of ${right}`);
          rights.set(`${id}/${epoch}`, right);
        }
      },
    };
  },
};

/** Decisions reach the disk some time after they were made. */
const COMMIT_MAX_MS = 30_000;

export const takenOverAfterLease: Checker = {
  name: 'never: a manager is lost, or its node goes to another, while its lease lasts; or a node goes to one without a lease',
  watch: (violated, world) => {
    const leases = new LeaseBook(world);
    const leftMs = (manager: string, epoch: number): number => leases.untilMs(manager, epoch) - world.scheduler.nowMs;
    return {
      onLease: (change) => leases.note(change),
      onApplied: ({ truth, applied }) => {
        for (const { kind, before, after } of applied) {
          if (kind !== MANAGER.name || before === undefined || after === undefined) continue;
          const [from, to] = [before.doc as Manager, after.doc as Manager];
          const isLost = to.state === 'lost' && from.state !== 'lost';
          const ms = leftMs(after.id, to.leaseEpoch);
          if (isLost && ms > 0) violated(`manager ${after.id} is lost, and its lease lasts for ${ms} ms more`);
        }
        for (const { id, before, after } of nodeChanges(applied)) {
          const problem = wrongTransfer({ before, after, truth, leftMs });
          if (problem !== undefined) violated(`node ${id}: ${problem}`);
        }
      },
    };
  },
};

/** A rebalance of nodes was requested. */
function isRebalanced(truth: Fleet): boolean {
  return [...truth.all(OPERATION)].some(({ doc }) => doc.kind === 'manager-rebalance' && doc.state === 'running');
}

interface Transfer extends Pick<NodeChange, 'before' | 'after'> {
  readonly truth: Fleet;
  readonly leftMs: (manager: string, epoch: number) => number;
}

function wrongTransfer({ before, after, truth, leftMs }: Transfer): string | undefined {
  if (after?.manager === undefined || after.managerEpoch === undefined) return undefined;
  if (after.manager === before?.manager && after.managerEpoch === before.managerEpoch) return undefined;
  // While a claim was under way at an inventory, the manager that requested it may have been lost: others take the node over from it.
  const wasAsked = before?.claimedFor !== undefined;
  if (!wasAsked && leftMs(after.manager, after.managerEpoch) < -COMMIT_MAX_MS)
    return `${after.manager} gets it under lease ${after.managerEpoch}, which is over`;
  if (before?.manager === undefined || before.managerEpoch === undefined) return undefined;
  const former = truth.get(MANAGER, idOf(MANAGER, before.manager))?.doc;
  const ms = leftMs(before.manager, before.managerEpoch);
  const isGiven = former?.draining !== undefined || former?.state === 'stopped' || isRebalanced(truth);
  return ms > 0 && !isGiven
    ? `${after.manager} takes it from ${before.manager}, whose lease lasts for ${ms} ms more`
    : undefined;
}
