// Ironic from Debian: its libraries are installed, its programs are only unpacked, since their packages would set up and start services of the system.
import { execFile } from 'node:child_process';
import { access, constants, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { withoutStartingServices } from '../ovs/install.ts';
import { aptInstall, whyNotInstall } from '../postgres/install.ts';

const run = promisify(execFile);

export interface IronicPrograms {
  /** The folder of `ironic-api`, `ironic-conductor` and `ironic-dbsync`. They run with Debian's own Python. */
  readonly binDir: string;
}

export type IronicFound =
  ({ readonly kind: 'ready' } & IronicPrograms) | { readonly kind: 'missing'; readonly reason: string };

const LIBRARIES = ['mariadb-server', 'python3-ironic', 'python3-pymysql'];
const PROGRAMS = ['ironic-common', 'ironic-api', 'ironic-conductor'];
const FOLDER = join(homedir(), '.cache/muster/ironic');
const NEEDED = ['ironic-api', 'ironic-conductor', 'ironic-dbsync'].map((name) => join(FOLDER, 'usr/bin', name));

export async function ensureIronic(): Promise<IronicFound> {
  const ready = { kind: 'ready', binDir: join(FOLDER, 'usr/bin') } as const;
  const needed = [
    ...NEEDED,
    '/usr/sbin/mariadbd',
    '/usr/lib/python3/dist-packages/ironic',
    '/usr/lib/python3/dist-packages/pymysql',
  ];
  if (await areThere(needed)) return ready;
  const reason = await whyNotInstall();
  if (reason !== undefined) return { kind: 'missing', reason };
  try {
    for (const name of LIBRARIES) await withoutStartingServices(() => aptInstall(name));
    await unpackPrograms();
  } catch (error) {
    return { kind: 'missing', reason: `Ironic could not be installed: ${String(error).slice(0, 300)}` };
  }
  return (await areThere(needed)) ? ready : { kind: 'missing', reason: 'the packages of Ironic brought no programs' };
}

/** Renamed into place when it is whole. */
async function unpackPrograms(): Promise<void> {
  await mkdir(join(FOLDER, '..'), { recursive: true });
  const work = await mkdtemp(`${FOLDER}-`);
  try {
    await run('apt-get', ['download', ...PROGRAMS], { cwd: work });
    const archives = (await readdir(work)).filter((name) => name.endsWith('.deb'));
    for (const archive of archives) await run('dpkg', ['-x', join(work, archive), join(work, 'root')]);
    await rm(FOLDER, { recursive: true, force: true });
    await rename(join(work, 'root'), FOLDER);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function areThere(paths: readonly string[]): Promise<boolean> {
  const found = await Promise.allSettled(paths.map((path) => access(path, constants.R_OK)));
  return found.every(({ status }) => status === 'fulfilled');
}
