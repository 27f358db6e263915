// Finds Open vSwitch and what its lab needs, and installs it where that is safe: on Debian, as root. It never starts the
// switch of the system: tests start daemons of their own.
import { execFile } from 'node:child_process';
import { access, constants, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { aptInstall, whyNotInstall } from '../postgres/install.ts';

const run = promisify(execFile);

export type OvsFound = { readonly kind: 'ready' } | { readonly kind: 'missing'; readonly reason: string };

export const SCHEMA = '/usr/share/openvswitch/vswitch.ovsschema';

/** What each package brings; a missing one is named. */
const PACKAGES = [
  { name: 'openvswitch-switch', programs: ['ovsdb-server', 'ovs-vswitchd', 'ovs-vsctl', 'ovs-ofctl', 'ovs-appctl'] },
  { name: 'iproute2', programs: ['ip'] },
  { name: 'ethtool', programs: ['ethtool'] },
  { name: 'udhcpc', programs: ['udhcpc'] },
] as const;

const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];

export async function ensureOvs(): Promise<OvsFound> {
  for (const { name } of await missingPackages()) {
    const reason = await whyNotInstall();
    if (reason !== undefined) return { kind: 'missing', reason: `package ${name}: ${reason}` };
    try {
      await withoutStartingServices(() => aptInstall(name));
    } catch (error) {
      return { kind: 'missing', reason: `apt-get install ${name} failed: ${String(error).slice(0, 300)}` };
    }
  }
  const left = (await missingPackages()).map(({ name }) => name);
  if (left.length > 0) return { kind: 'missing', reason: `programs of ${left.join(', ')} are missing` };
  return (await canMakeNamespaces())
    ? { kind: 'ready' }
    : { kind: 'missing', reason: 'network namespaces are not allowed here' };
}

async function missingPackages(): Promise<readonly (typeof PACKAGES)[number][]> {
  const there = await Promise.all(
    PACKAGES.map(async ({ programs }) => (await Promise.all(programs.map(isThere))).every(Boolean)),
  );
  return PACKAGES.filter((_, index) => there[index] !== true);
}

async function isThere(program: string): Promise<boolean> {
  const folders = [...(process.env['PATH'] ?? '').split(':'), ...SYSTEM_FOLDERS].filter((folder) => folder !== '');
  const found = await Promise.allSettled(folders.map((folder) => access(join(folder, program), constants.X_OK)));
  return found.some((one) => one.status === 'fulfilled');
}

/** Debian runs this file before a package starts its service. One that is there stays as it is. */
export async function withoutStartingServices(install: () => Promise<void>): Promise<void> {
  const path = '/usr/sbin/policy-rc.d';
  const ours = await writeFile(path, '#!/bin/sh\nexit 101\n', { flag: 'wx', mode: 0o755 }).then(
    () => true,
    () => false,
  );
  try {
    await install();
  } finally {
    if (ours) await rm(path, { force: true });
  }
}

/** A container may have the programs and still forbid it. */
async function canMakeNamespaces(): Promise<boolean> {
  const name = `mo${process.pid}-probe`;
  try {
    await run('ip', ['netns', 'add', name]);
    await run('ip', ['netns', 'exec', name, 'true']);
    return true;
  } catch {
    return false;
  } finally {
    await run('ip', ['netns', 'delete', name]).catch(() => {});
  }
}
