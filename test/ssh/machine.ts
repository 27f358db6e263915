// A machine for the contract suite of reaches: a real sshd behind a relay that can cut connections, and scripts that do what files in a folder of the test say.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { JoinCall } from '../../src/kubernetes/machines/reach.ts';
import { startSshd, type Sshd } from '../kubernetes/sshd.ts';

export interface RelayedMachine {
  readonly sshd: Sshd;
  /** Of the relay. */
  readonly port: number;
  readonly folder: string;
  readonly call: JoinCall;
  cut(): void;
}

export async function startMachine(password?: string): Promise<RelayedMachine> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-ssh-machine-'));
  const sshd = await startSshd(
    { MACHINE: folder, PATH: '/usr/sbin:/usr/bin:/bin' },
    password === undefined ? {} : { password },
  );
  const sockets = new Set<Socket>();
  const relay = await listen((socket) => {
    const behind = connect(sshd.port, '127.0.0.1');
    for (const [one, other] of [
      [socket, behind],
      [behind, socket],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => sockets.delete(one));
      one.pipe(other);
    }
  });
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(async () => {
    cut();
    const left = await readFile(join(folder, 'left'), 'utf8').catch(() => undefined);
    if (left !== undefined) process.kill(Number(left), 'SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });
  const call: JoinCall = {
    ...{ cluster: 'edge', node: 'edge-1', providerId: 'muster:///edge/edge-1' },
    ...{ endpoint: '127.0.0.1:6443', caPin: 'sha256:00', version: 'v1.20.2' },
    token: `abcdef.${randomBytes(8).toString('hex')}`,
  };
  return { sshd, port: relay.port, folder, call, cut };
}

/** Ends with the test. */
export async function listen(onConnection: (socket: Socket) => void): Promise<{ readonly port: number }> {
  const server: Server = createServer(onConnection).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port };
}

export const JOINED = 'joined';
const RUNS = 'runs';

/** Each pass of an action that is not `install` is a line; `$MACHINE/pids` has who runs. */
export function composeScript(join_: string): string {
  return [
    '#!/bin/bash',
    'set -euo pipefail',
    'if [ "$1" = install ]; then exit 0; fi',
    'echo begun',
    'exec 8>"$MACHINE/lock"; flock 8',
    `echo "$1" >> "$MACHINE/${RUNS}"`,
    'if [ "$1" = leave ]; then rm -f "$MACHINE/joined"; exit 0; fi',
    join_,
  ].join('\n');
}

export function countRuns({ folder }: RelayedMachine): number {
  const file = join(folder, RUNS);
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;
}

export function isJoined({ folder, call }: RelayedMachine): boolean {
  const file = join(folder, JOINED);
  return existsSync(file) && readFileSync(file, 'utf8').trim() === call.node;
}

/** Processes that have the mark of this machine in their environment or arguments. */
export async function isSomethingRunning({ folder }: RelayedMachine): Promise<boolean> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(
    pids.map(async (pid) => {
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      return command.includes('sleep') && command.includes(sleepOf(folder));
    }),
  );
  return found.includes(true);
}

/** How long a script of this machine sleeps: a number that no other has. */
export function sleepOf(folder: string): string {
  return String(100_000 + (Buffer.from(folder).reduce((sum, byte) => (sum * 31 + byte) % 800_000, 7) | 0));
}
