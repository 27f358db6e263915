// What the machine of a real worker runs, from Debian's packages, unpacked into a cache of the user: nothing is installed. And why there can be no such machine here.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SSHD } from '../kubernetes/install-sshd.ts';

const run = promisify(execFile);

const PACKAGES = ['containerd', 'runc', 'containernetworking-plugins', 'busybox-static', 'libseccomp2'];
const CACHE = join(homedir(), '.cache/muster');

/** The folder that they are unpacked in. */
export async function ensureTools(): Promise<string> {
  const key = createHash('sha256').update(PACKAGES.join()).digest('hex').slice(0, 12);
  const folder = join(CACHE, `worker-tools-${key}`);
  if (await isThere(folder)) return folder;
  await mkdir(CACHE, { recursive: true });
  const work = await mkdtemp(join(CACHE, 'worker-tools.'));
  await run('apt-get', ['download', '-o', 'APT::Sandbox::User=root', ...PACKAGES], { cwd: work });
  const whole = join(work, 'whole');
  for (const name of (await readdir(work)).filter((one) => one.endsWith('.deb')))
    await run('dpkg', ['-x', join(work, name), whole]);
  await rename(whole, folder);
  await rm(work, { recursive: true });
  return folder;
}

/** What a real worker needs of this machine, and does not find. */
export async function whyNoMachine(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root on Linux may make the namespaces';
  for (const group of CGROUPS)
    if (!(await isThere(`/sys/fs/cgroup/${group}/cgroup.procs`)))
      return `the kubelet of Kubernetes 1.20 needs cgroup v1, and there is no /sys/fs/cgroup/${group}`;
  for (const program of ['/usr/sbin/ip', '/usr/bin/apt-get', SSHD])
    if (!(await isThere(program))) return `there is no ${program}`;
  const tried =
    'mount -t tmpfs t /mnt && mkdir /mnt/u /mnt/w /mnt/r && mount -t overlay -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w o /mnt/r';
  const command = ['--mount', '--net', '--pid', '--uts', '--fork', 'sh', '-c', tried];
  return run('unshare', command).then(
    () => undefined,
    (error: unknown) => `namespaces with an overlay cannot be made: ${String(error).slice(0, 200)}`,
  );
}

export const CGROUPS = ['cpu', 'cpuacct', 'cpuset', 'memory', 'devices', 'freezer', 'blkio', 'pids', 'systemd'];

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
