// For suites that only compute: their process lets others go first on the processor, so that they may run beside suites that measure
// what happens in real time.
import { readdirSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/** A third of the share of others: whoever wakes up beside it runs soon, and on a busy machine it still ends in time. */
const PRIORITY = 5;

// Linux counts the priority by thread, and the garbage collector has threads of its own. Other systems have no such folder.
for (const thread of threadsOfThisProcess()) giveWay(thread);

function giveWay(thread: number): void {
  try {
    if (getPriority(thread) < PRIORITY) setPriority(thread, PRIORITY);
  } catch (error) {
    // A thread that has ended in the meantime.
    if (!(error instanceof Error && 'info' in error && (error.info as { code?: unknown }).code === 'ESRCH'))
      throw error;
  }
}

function threadsOfThisProcess(): number[] {
  return process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [process.pid];
}
