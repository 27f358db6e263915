// The processes of a lab: those in its namespaces, and those of its programs whose arguments are in its folder. Both are read from
// the kernel, not recorded: a number alone may be another process by now.
import { readdir, readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { run } from '../command.ts';

/** A program that only reads a log of the lab, such as `tail`, is not one of these. */
const PROGRAMS = new Set([
  'ovsdb-server',
  'ovs-vswitchd',
  'ovs-vsctl',
  'ovs-ofctl',
  'ovs-appctl',
  'ovn-northd',
  'ovn-controller',
  'ovn-nbctl',
  'node',
  'nice',
  'ip',
]);
const LOOK_MS = 20;
/** What was killed and is still there is stuck in the kernel. */
const PATIENCE_MS = 10_000;

export async function processesOf(folder: string, namespaces: readonly string[]): Promise<number[]> {
  const inside = await Promise.all(namespaces.map(pidsInside));
  return [...new Set([...inside.flat(), ...(await pidsNaming(folder))])].filter((pid) => pid !== process.pid);
}

/** Whether the process with this number is the program, and works in the folder. */
export async function runsIn(pid: number, program: string, folder: string): Promise<boolean> {
  const [first = '', ...args] = await argumentsOf(pid);
  return basename(first) === program && args.some((arg) => arg.includes(`${folder}/`));
}

/** Ends them at once, and resolves when they are gone. */
export async function killAll(pids: readonly number[], signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  for (const pid of pids) sendSignal(pid, signal);
  const deadlineMs = performance.now() + PATIENCE_MS;
  for (const pid of pids) {
    while (sendSignal(pid, 0) && !(await isZombie(pid))) {
      if (performance.now() > deadlineMs) throw new Error(`process ${pid} does not end by ${signal}`);
      await setTimeout(LOOK_MS);
    }
  }
}

/** False when it is gone. */
function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** It has ended, and only its parent has not read its exit code yet. */
async function isZombie(pid: number): Promise<boolean> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') Z');
  return text.slice(text.lastIndexOf(')') + 2).startsWith('Z');
}

async function pidsInside(namespace: string): Promise<number[]> {
  const text = await run(['ip', 'netns', 'pids', namespace]).catch(() => ''); // gone meanwhile
  return text.split('\n').filter(Boolean).map(Number);
}

async function pidsNaming(folder: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [first = '', ...args] = await argumentsOf(pid);
      return PROGRAMS.has(basename(first)) && args.some((arg) => arg.includes(`${folder}/`));
    }),
  );
  return pids.filter((_, index) => found[index]);
}

async function argumentsOf(pid: number): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''); // ended meanwhile
  return text.split('\0');
}
