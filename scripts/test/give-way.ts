// For suites that only compute: set-up of each of their files.
import { readdirSync } from 'node:fs';
import { giveWay } from './priority.ts';

// Linux counts the priority by thread, and the garbage collector has threads of its own. Other systems have no such folder.
for (const thread of threadsOfThisProcess()) giveWay(thread);

function threadsOfThisProcess(): number[] {
  return process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [process.pid];
}
