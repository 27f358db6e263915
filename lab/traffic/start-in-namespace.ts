// Starts a program in a namespace, in front of everything else on the machine.
import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { inNamespace } from '../underlay/links-plan.ts';

export function startInNamespace(namespace: string, command: readonly string[], stdio: StdioOptions): ChildProcess {
  const [program = '', ...args] = inNamespace(namespace, 'nice', '-n', '-15', ...command);
  // A group of its own: Ctrl-C in a terminal is for the lab, which ends its programs in their order.
  return spawn(program, args, { stdio, detached: true });
}
