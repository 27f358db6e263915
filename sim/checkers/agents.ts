// A machine never goes back: its agent never applies a lower journal, epoch or revision than before, whichever server sends it.
import type { Stamp } from '../../src/agent/index.ts';
import type { HostMachine } from '../world/machine.ts';
import type { Checker } from './checker.ts';

export const agentsForward: Checker = {
  name: 'never: a machine follows an older view than it did',
  watch: (violated) => {
    const highest = new Map<HostMachine, Stamp>();
    return {
      onDriverCall: (machine) => {
        const call = machine.driverCalls.at(-1);
        const before = highest.get(machine);
        if (call === undefined || isWipeWithoutView(call)) return;
        if (before !== undefined && isOlder(call.stamp, before)) {
          violated(
            `${machine.name} was called with ${call.what} of ${stampText(call.stamp)} after ${stampText(before)}`,
          );
        }
        // The result of a task of an earlier view may still be reported; an earlier view may not be applied.
        if (call.what === 'view') highest.set(machine, call.stamp);
      },
    };
  },
};

/**
 * A host that was removed and has no view, since it was admitted anew or lost the file, is wiped all the same: by the word of a server that proved
 * who it is, not by a view. There is no stamp that could be older.
 */
function isWipeWithoutView({ what, stamp }: HostMachine['driverCalls'][number]): boolean {
  return what === 'removed' && stamp.journalId === '';
}

function isOlder(one: Stamp, other: Stamp): boolean {
  return one.leaseEpoch < other.leaseEpoch || one.revision < other.revision || one.journalId !== other.journalId;
}

function stampText({ leaseEpoch, revision }: Stamp): string {
  return `epoch ${leaseEpoch}, revision ${revision}`;
}
