// The priority of what only computes: it lets others go first on the processor, so that it may run beside suites that measure what happens in
// real time, and fills the time for which those wait.
import { getPriority, setPriority } from 'node:os';

/** A third of the share of others: whoever wakes up beside it runs soon, and on a busy machine it still ends in time. */
const PRIORITY = 5;

/** Of a process or a thread, and of all that it starts from now on. */
export function giveWay(id: number): void {
  try {
    if (getPriority(id) < PRIORITY) setPriority(id, PRIORITY);
  } catch (error) {
    // It has ended in the meantime.
    if (!(error instanceof Error && 'info' in error && (error.info as { code?: unknown }).code === 'ESRCH'))
      throw error;
  }
}
