// Ends a process that this one started, and waits until it is gone.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

export async function endChild(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
