// A real server in a process of its own: `muster serve`, as an operator starts it, on a port of the loopback.
import { type ChildProcess, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { endChild } from '../test/end-child.ts';
import { freePort } from '../test/free-port.ts';
import type { BenchScope } from './scope.ts';

const ENTRY = resolve(import.meta.dirname, '../src/main/main.ts');
const NODE_FLAGS = ['--disable-warning=ExperimentalWarning'];
/** The end of what a process said is where the reason is. */
const SAID_MAX = 4000;
/** Probes of one address are limited to 50 a second. */
const PROBE_MS = 25;
const READY_PATIENCE_MS = 30_000;

export interface ServerProcess {
  readonly url: string;
  readonly pid: number;
  /** From the start of the process until it said that it was ready. */
  readonly readyMs: number;
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
}

export interface ServerProcessOptions {
  readonly data: string;
  /** The URL of a PostgreSQL; the embedded store when it is not given. */
  readonly store?: string;
  /** Where servers that share a store have their keys. */
  readonly keys?: string;
  /** Of a simulated fleet, with agents of their own; none unless said. */
  readonly simulatedHosts?: number;
}

export function startServer(scope: BenchScope, options: ServerProcessOptions): Promise<ServerProcess> {
  const { data, store, keys, simulatedHosts } = options;
  return startNode(scope, (port) => {
    const demo = simulatedHosts === undefined ? 'none' : String(simulatedHosts);
    const args = ['serve', '--data', data, '--listen', `127.0.0.1:${port}`, '--demo', demo, '--log-level', 'error'];
    const shared = keys === undefined ? [] : ['--keys', keys];
    return [ENTRY, ...args, ...shared, ...(store === undefined ? [] : ['--store', store])];
  });
}

/** Any program that answers /readyz on the port that it is given. */
export async function startNode(
  scope: BenchScope,
  argsFor: (port: number) => readonly string[],
): Promise<ServerProcess> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const startedMs = performance.now();
  const child = spawnNode(scope, argsFor(port));
  await untilReady(url, child, scope);
  const readyMs = performance.now() - startedMs;
  return { url, pid: child.pid!, readyMs, kill: (signal) => endChild(child, signal) };
}

/** A Node process that lives no longer than the scope. What it says is shown when it ends by itself. */
export function spawnNode(scope: BenchScope, args: readonly string[], link: 'none' | 'ipc' = 'none'): ChildProcess {
  // A group of its own: Ctrl-C is for the benchmark, which then ends its children in order.
  const child = spawn(process.execPath, [...NODE_FLAGS, ...args], {
    stdio: ['ignore', 'ignore', 'pipe', ...(link === 'ipc' ? ['ipc' as const] : [])],
    detached: true,
  });
  let said = '';
  child.stderr?.on('data', (text: Buffer) => {
    said = (said + text.toString()).slice(-SAID_MAX);
  });
  child.once('exit', (code) => {
    if (code !== null && code !== 0) process.stderr.write(said);
  });
  const onExit = (): void => void child.kill('SIGKILL');
  process.once('exit', onExit);
  scope.onClose(async () => {
    process.off('exit', onExit);
    await endChild(child, 'SIGKILL');
  });
  return child;
}

async function untilReady(url: string, child: ChildProcess, scope: BenchScope): Promise<void> {
  const deadlineMs = performance.now() + READY_PATIENCE_MS;
  while (!(await isReady(url))) {
    scope.check();
    if (child.exitCode !== null || performance.now() > deadlineMs)
      throw new Error(`the server at ${url} does not start`);
    await setTimeout(PROBE_MS);
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/readyz`);
    await answer.arrayBuffer();
    return answer.ok;
  } catch (error) {
    if (error instanceof TypeError) return false; // the server does not listen yet
    throw error;
  }
}

/** The most memory that a process has ever had resident. */
export async function peakRssBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

/** Ticks of the scheduler's clock are hundredths of a second on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** What a process has used of the processor, in seconds. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name of the program is in brackets and may hold anything: count from behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** The same of its threads that are there now, finer than in ticks, in microseconds. */
export async function threadsCpuUs(pid: number): Promise<number> {
  const folder = `/proc/${pid}/task`;
  const texts = await Promise.all(
    (await readdir(folder)).map((thread) => readFile(join(folder, thread, 'schedstat'), 'utf8')),
  );
  return texts.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0) / 1000;
}
