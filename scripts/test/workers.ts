// Ends the processes in which vitest runs test files. A file that spins handles neither a cancellation nor its own timeout,
// and vitest waits for it for ever.
import { globSync, readFileSync } from 'node:fs';

const WORKER = 'vitest/dist/workers/forks.js';

export function killWorkers(): void {
  for (const pid of childrenOfThisProcess()) if (commandOf(pid).includes(WORKER)) killProcess(pid);
}

/** Linux shows them by thread. Elsewhere there is no such folder, and a spinning file has to be ended by hand. */
function childrenOfThisProcess(): number[] {
  return globSync('/proc/self/task/*/children')
    .flatMap((path) => readFileSync(path, 'utf8').trim().split(' '))
    .filter((pid) => pid !== '')
    .map(Number);
}

function commandOf(pid: number): string {
  return globSync(`/proc/${pid}/cmdline`)
    .map((path) => readFileSync(path, 'utf8'))
    .join('');
}

export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It ended by itself in the meantime.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
