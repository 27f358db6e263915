// The servers of Kubernetes, which no package brings: built once from Debian's sources by `build.sh` and kept in a cache of the user.
// Nothing of the system is changed: root is not needed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, constants, mkdir, readFile, readdir, statfs } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

export interface KubernetesPrograms {
  /** The folder of `kube-apiserver`, `kube-controller-manager`, `kube-scheduler`, `etcd` and `kubectl`. */
  readonly binDir: string;
}

export type KubernetesFound =
  ({ readonly kind: 'ready' } & KubernetesPrograms) | { readonly kind: 'missing'; readonly reason: string };

const CACHE = join(homedir(), '.cache/muster');
const RECIPE = join(import.meta.dirname, 'build.sh');
const SERVERS = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const;
const SETPRIV: string = 'setpriv';
/** What fetches, unpacks and starts them; compilers are fetched. */
const TOOLS = ['apt-get', 'dpkg', 'dpkg-deb', 'tar', 'flock', 'sha256sum', 'openssl', SETPRIV, 'nice', 'bash'];

/** Sources, compiler and what it makes come to 3 GB, and are removed at the end. */
const FREE_DISK_BYTES_MIN = 4 * 1024 ** 3;

export function ensureKubernetes(stop?: AbortSignal): Promise<KubernetesFound> {
  return ensurePrograms(SERVERS, stop);
}

/** What a real worker runs: only for the suite that has one. */
export function ensureWorkerPrograms(stop?: AbortSignal): Promise<KubernetesFound> {
  return ensurePrograms(['kubeadm', 'kubelet'], stop);
}

async function ensurePrograms(programs: readonly string[], stop: AbortSignal | undefined): Promise<KubernetesFound> {
  if (process.platform !== 'linux') return { kind: 'missing', reason: 'its servers run only on Linux' };
  const absent = await absentTools();
  if (absent.length > 0) return { kind: 'missing', reason: `building it needs ${absent.join(', ')}, as on Debian` };
  const key = await keyOf(programs);
  const there = await findBuilt(key);
  if (there !== undefined) return { kind: 'ready', binDir: there };
  const lack = await lackOfDisk();
  if (lack !== undefined) return { kind: 'missing', reason: lack };
  const failure = await build(key, programs, stop);
  if (failure !== undefined) return { kind: 'missing', reason: `it could not be built: ${failure}` };
  const built = await findBuilt(key);
  return built === undefined
    ? { kind: 'missing', reason: 'its build brought no programs' }
    : { kind: 'ready', binDir: built };
}

/** What was built by another recipe is not used. */
async function keyOf(programs: readonly string[]): Promise<string> {
  const recipe = await readFile(RECIPE);
  return createHash('sha256').update(recipe).update(programs.join()).digest('hex').slice(0, 12);
}

/** A folder with this name was renamed into place when it was whole. */
async function findBuilt(key: string): Promise<string | undefined> {
  const folders = await readdir(CACHE).catch(() => []);
  const folder = folders.find((name) => name.startsWith('kubernetes-') && name.endsWith(`-${key}`));
  return folder === undefined ? undefined : join(CACHE, folder, 'bin');
}

async function absentTools(): Promise<string[]> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const there = await Promise.all(
    TOOLS.map(async (tool) => {
      const found = await Promise.allSettled(folders.map((folder) => access(join(folder, tool), constants.X_OK)));
      return found.some(({ status }) => status === 'fulfilled');
    }),
  );
  return TOOLS.filter((_, index) => there[index] !== true);
}

async function lackOfDisk(): Promise<string | undefined> {
  await mkdir(CACHE, { recursive: true });
  const { bavail, bsize } = await statfs(CACHE);
  if (bavail * bsize >= FREE_DISK_BYTES_MIN) return undefined;
  return `building it needs 4 GB of free disk in ${CACHE}, and there are ${((bavail * bsize) / 1024 ** 3).toFixed(1)}`;
}

const ERROR_CHARS_MAX = 400;

/** Prints its progress; answers why it failed. It ends with this process and gives way to all others meanwhile. */
async function build(
  key: string,
  programs: readonly string[],
  stop: AbortSignal | undefined,
): Promise<string | undefined> {
  const command = ['nice', '-n', '10', 'bash', RECIPE, CACHE, key, ...programs];
  const builder = spawn(SETPRIV, ['--pdeathsig', 'TERM', '--', ...command], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own: a compiler does not end with the script that started it.
    detached: true,
  });
  const end = (): void => {
    if (builder.pid !== undefined && builder.exitCode === null) process.kill(-builder.pid, 'SIGTERM');
  };
  stop?.addEventListener('abort', end, { once: true });
  process.once('exit', end);
  createInterface({ input: builder.stdout }).on('line', (line) => process.stdout.write(`> Kubernetes: ${line}\n`));
  const [errors, code] = await Promise.all([
    text(builder.stderr),
    new Promise<number | null>((resolve, reject) => {
      builder.on('error', reject);
      builder.on('close', resolve);
    }),
  ]);
  stop?.removeEventListener('abort', end);
  process.off('exit', end);
  if (code === 0) return undefined;
  return stop?.aborted === true ? 'it was interrupted' : errors.trim().slice(-ERROR_CHARS_MAX);
}
