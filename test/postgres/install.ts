// Finds PostgreSQL's server programs, and installs them where that is safe: on Debian, as root. It never starts a server of
// the system.
import { execFile } from 'node:child_process';
import { access, constants, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type PostgresFound =
  { readonly kind: 'ready'; readonly binDir: string } | { readonly kind: 'missing'; readonly reason: string };

export async function ensurePostgres(): Promise<PostgresFound> {
  const there = await findBinDir();
  if (there !== undefined) return { kind: 'ready', binDir: there };
  const reason = await whyNotInstall();
  if (reason !== undefined) return { kind: 'missing', reason };
  try {
    await install();
  } catch (error) {
    return { kind: 'missing', reason: `apt-get install postgresql failed: ${String(error).slice(0, 300)}` };
  }
  const installed = await findBinDir();
  if (installed === undefined) return { kind: 'missing', reason: 'the package postgresql brought no server programs' };
  return { kind: 'ready', binDir: installed };
}

/** Distributions keep the server programs off the PATH, one folder for each version: the newest wins. */
async function findBinDir(): Promise<string | undefined> {
  const versions = await readdir('/usr/lib/postgresql').catch(() => []);
  const packaged = versions
    .toSorted((a, b) => Number(b) - Number(a))
    .map((version) => join('/usr/lib/postgresql', version, 'bin'));
  const onPath = (process.env['PATH'] ?? '').split(':').filter((folder) => folder !== '');
  for (const folder of [...packaged, ...onPath]) {
    if (await hasServerPrograms(folder)) return folder;
  }
  return undefined;
}

async function hasServerPrograms(folder: string): Promise<boolean> {
  const programs = ['initdb', 'postgres', 'pg_basebackup'].map((name) => access(join(folder, name), constants.X_OK));
  return (await Promise.allSettled(programs)).every((one) => one.status === 'fulfilled');
}

/** Undefined when this is a Debian or one of its kin, as root. */
export async function whyNotInstall(): Promise<string | undefined> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  if (!/^ID(_LIKE)?=.*debian/m.test(release)) return 'it is not installed, and this is not Debian';
  if (process.getuid?.() !== 0) return 'it is not installed, and only root can install it';
  return undefined;
}

async function install(): Promise<void> {
  // Without this the package makes a cluster of its own and starts it. A file that is there stays as it is.
  await mkdir('/etc/postgresql-common', { recursive: true });
  await writeFile('/etc/postgresql-common/createcluster.conf', 'create_main_cluster = false\n', { flag: 'wx' }).catch(
    (error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    },
  );
  await aptInstall('postgresql');
}

export async function aptInstall(name: string): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run('apt-get', ['update'], { env });
  const keep = ['-o', 'Dpkg::Options::=--force-confdef', '-o', 'Dpkg::Options::=--force-confold'];
  await run('apt-get', ['install', '--yes', '--no-install-recommends', ...keep, name], { env, maxBuffer: 64 << 20 });
}
