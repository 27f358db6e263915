// The shipped units: systemd accepts them, they leave little exposed, and the programs use no system call that they forbid.
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { newFolder, start } from '../cli/muster.ts';
import { withTools } from './install.ts';

const UNITS = resolve(import.meta.dirname, '../../packaging/systemd');
const NAMES = readdirSync(UNITS).filter((name) => name.endsWith('.service'));
const MUSTER = resolve(import.meta.dirname, '../../bin/muster.js');
const run = promisify(execFile);

/** A file system with the units of the system, ours, and the programs that ours start. */
function rootWithUnits(change: (unit: string) => string = (unit) => unit): string {
  const root = newFolder();
  const system = ['/usr/lib/systemd/system', '/lib/systemd/system'].find((folder) => existsSync(folder));
  if (system !== undefined)
    cpSync(system, join(root, 'usr/lib/systemd/system'), { recursive: true, verbatimSymlinks: true });
  mkdirSync(join(root, 'etc/systemd/system'), { recursive: true });
  for (const name of NAMES)
    writeFileSync(join(root, 'etc/systemd/system', name), change(readFileSync(join(UNITS, name), 'utf8')));
  for (const program of ['usr/bin/muster', 'bin/kill']) {
    mkdirSync(join(root, program, '..'), { recursive: true });
    writeFileSync(join(root, program), '#!/bin/sh\n', { mode: 0o755 });
  }
  return root;
}

async function verify(root: string): Promise<string> {
  const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', `--root=${root}`, ...NAMES]).catch(
    (error: unknown) => error as { stdout: string; stderr: string },
  );
  return (stdout + stderr)
    .split('\n')
    .filter((line) => line.includes('muster'))
    .join('\n');
}

/** What a unit allows and forbids, as systemd on this machine knows the groups. */
async function forbiddenBy(unit: string): Promise<(call: string) => boolean> {
  const filters = [...unit.matchAll(/^SystemCallFilter=(~?)(.*)$/gm)];
  const allowed = new Set<string>();
  for (const [, without, groups = ''] of filters) {
    for (const group of groups.split(' ')) {
      for (const call of await callsIn(group)) {
        if (without === '~') allowed.delete(call);
        else allowed.add(call);
      }
    }
  }
  // Always allowed, so that a program can start and end.
  for (const call of await callsIn('@default')) allowed.add(call);
  return (call) => !allowed.has(call);
}

async function callsIn(group: string): Promise<readonly string[]> {
  const { stdout } = await run('systemd-analyze', ['syscall-filter', '--no-pager', group]);
  const names = stdout
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const inner = await Promise.all(names.filter((name) => name.startsWith('@')).map(callsIn));
  return [...names.filter((name) => !name.startsWith('@')), ...inner.flat()];
}

/** The system calls of a program and all its threads that did not fail anyway, from its start to its end in order. */
async function callsOf(args: readonly string[], until: RegExp): Promise<ReadonlySet<string>> {
  const trace = join(newFolder(), 'trace');
  const command = ['strace', '-f', '-qq', '-o', trace, process.execPath, MUSTER] as const;
  const program = start(args, { command });
  await program.said(until);
  const [pid = ''] = readFileSync(trace, 'utf8').split(' ');
  process.kill(Number(pid), 'SIGTERM');
  await program.ended;
  return new Set([...readFileSync(trace, 'utf8').matchAll(/^\d+ +(\w+)\(/gm)].map(([, call = '']) => call));
}

/**
 * Forbidden, and no harm: Node raises its limit of open files, which the unit has set already, and requests priorities of
 * threads that it can do without.
 */
const HARMLESS = new Set(['prlimit64', 'setrlimit', 'sched_setscheduler', 'setpriority']);

await withTools([{ program: 'systemd-analyze', name: 'systemd' }], () => {
  test('systemd-accepts-the-units', async () => {
    expect(await verify(rootWithUnits())).toBe('');
    expect(await verify(rootWithUnits((unit) => unit.replace('Restart=always', 'Restart=somehow')))).toContain(
      'somehow',
    );
  });

  test.each(NAMES)('%s-leaves-little-exposed', async (name) => {
    const { stdout } = await run('systemd-analyze', ['security', '--offline=yes', '--no-pager', join(UNITS, name)]);
    const [, exposure = ''] = /exposure level for \S+ (\d+\.\d)/.exec(stdout) ?? [];
    expect(Number(exposure)).toBeLessThanOrEqual(2);
  });
});

const TRACED = [
  { program: 'systemd-analyze', name: 'systemd' },
  { program: 'strace', name: 'strace' },
];
await withTools(TRACED, () => {
  describe('system calls', () => {
    test('a-server-makes-none-that-its-unit-forbids', async () => {
      const calls = await callsOf(['serve', '--data', newFolder(), '--listen', '127.0.0.1:0'], /answers at/);
      const isForbidden = await forbiddenBy(readFileSync(join(UNITS, 'muster.service'), 'utf8'));
      expect(isForbidden('mount')).toBe(true);
      expect([...calls].filter((call) => isForbidden(call) && !HARMLESS.has(call))).toEqual([]);
    });

    test('an-agent-makes-none-that-its-unit-forbids', async () => {
      const args = ['agent', '--server', 'http://127.0.0.1:1', '--state', newFolder(), '--simulate'];
      const calls = await callsOf(args, /"msg"/);
      const isForbidden = await forbiddenBy(readFileSync(join(UNITS, 'muster-agent.service'), 'utf8'));
      expect([...calls].filter((call) => isForbidden(call) && !HARMLESS.has(call))).toEqual([]);
    });
  });
});
