// The machine of a real worker in namespaces: it boots, is reached by SSH at a port of this machine, and can be wiped, after which it has another disk and the same keys.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { endChild } from '../end-child.ts';
import { freePort } from '../free-port.ts';
import { CGROUPS } from './tools.ts';
import { relay } from './relay.ts';

const run = promisify(execFile);
const SSH_KEYGEN: string = 'ssh-keygen';
const UNSHARE: string = 'unshare';

export interface MachineParts {
  /** Of kubeadm and kubelet. */
  readonly kube: string;
  readonly tools: string;
  /** Of the control plane, on the loopback. */
  readonly apiPort: number;
}

export class RealMachine {
  readonly port: number;
  readonly hostKey: string;
  readonly privateKey: string;
  readonly #folder: string;
  readonly #parts: MachineParts;
  readonly #cgroup = `muster-deep-${process.pid}`;
  readonly #relays: Server[] = [];
  #child: ChildProcess | undefined;

  private constructor(folder: string, port: number, parts: MachineParts) {
    this.#folder = folder;
    this.#parts = parts;
    this.port = port;
    this.hostKey = readFileSync(join(folder, 'ssh/host.pub'), 'utf8').trim();
    this.privateKey = readFileSync(join(folder, 'ssh/user'), 'utf8');
  }

  static async start(parts: MachineParts): Promise<RealMachine> {
    const folder = await mkdtemp(join(tmpdir(), 'muster-real-machine-'));
    mkdirSync(join(folder, 'share'));
    mkdirSync(join(folder, 'ssh'));
    symlinkSync(parts.kube, join(folder, 'kube'));
    symlinkSync(parts.tools, join(folder, 'tools'));
    for (const key of ['host', 'user'])
      await run(SSH_KEYGEN, ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', join(folder, 'ssh', key)]);
    await writeFile(join(folder, 'ssh/config'), SSHD_CONFIG);
    await makeImages(folder, join(parts.tools, 'bin/busybox'));
    const machine = new RealMachine(folder, await freePort(), parts);
    machine.#relays.push(relay(`unix:${folder}/share/api`, `tcp:${parts.apiPort}`));
    machine.#relays.push(relay(`tcp:${machine.port}`, `unix:${folder}/share/ssh-worker`));
    await machine.#boot();
    return machine;
  }

  /** As a new disk: nothing of it is left but its keys. */
  async wipe(): Promise<void> {
    await this.#end();
    await this.#boot();
  }

  async stop(): Promise<void> {
    await this.#end();
    for (const one of this.#relays) one.close();
    await removeGroups(this.#cgroup);
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** The last of what the program wrote there, for a test that fails. */
  log(program: string): Promise<string> {
    const shown = this.#child === undefined ? '' : `/proc/${this.#inside()}/root/run/${program}.log`;
    return readFile(shown, 'utf8').then(
      (text) => text.slice(-3000),
      () => '',
    );
  }

  /** The first process in there. */
  #inside(): string {
    const { pid } = this.#child ?? {};
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0] ?? '';
  }

  async #boot(): Promise<void> {
    for (const group of CGROUPS) {
      mkdirSync(`/sys/fs/cgroup/${group}/${this.#cgroup}`, { recursive: true });
      // A group without processors and memory takes no process.
      for (const setting of group === 'cpuset' ? ['cpuset.cpus', 'cpuset.mems'] : [])
        writeFileSync(
          `/sys/fs/cgroup/cpuset/${this.#cgroup}/${setting}`,
          readFileSync(`/sys/fs/cgroup/cpuset/${setting}`),
        );
    }
    const namespaces = ['--mount', '--net', '--pid', '--uts', '--fork', '--kill-child'];
    const script = join(import.meta.dirname, 'machine.sh');
    const child = spawn(UNSHARE, [...namespaces, 'bash', script, this.#folder, 'worker', `/${this.#cgroup}`], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: '/root',
        MUSTER_NODE_PROGRAM: process.execPath,
        MUSTER_RELAY: join(import.meta.dirname, 'relay.ts'),
        MUSTER_API_PORT: String(this.#parts.apiPort),
      },
    });
    this.#child = child;
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    for await (const line of createInterface({ input: child.stdout })) if (line === 'ready') break;
    child.stdout.resume();
    const socket = join(this.#folder, 'share/ssh-worker');
    if (child.exitCode !== null || !existsSync(socket)) {
      await Promise.race([once(child, 'close'), new Promise((done) => setTimeout(done, 2000))]);
      if (!existsSync(socket)) throw new Error(`the machine does not boot: ${errors}`);
    }
  }

  async #end(): Promise<void> {
    if (this.#child !== undefined) await endChild(this.#child, 'SIGKILL');
    this.#child = undefined;
    await rm(join(this.#folder, 'share/ssh-worker'), { force: true });
  }
}

/** Those inside first. Processes that were killed may be in one for a moment still. */
async function removeGroups(name: string): Promise<void> {
  const script = `for try in 1 2 3 4 5 6 7 8 9 10; do
    find /sys/fs/cgroup/*/"$0" -depth -type d -exec rmdir {} + 2>/dev/null
    ls -d /sys/fs/cgroup/*/"$0" >/dev/null 2>&1 || exit 0
    sleep 0.5
  done`;
  await run('sh', ['-c', script, name]);
}

const SSHD_CONFIG = [
  'ListenAddress 127.0.0.1',
  'HostKey /etc/muster-ssh/host',
  'AuthorizedKeysFile /etc/muster-ssh/user.pub',
  ...['PidFile none', 'PermitRootLogin yes', 'PasswordAuthentication no', 'UsePAM no', 'StrictModes no'],
  `SetEnv ${[
    '"PATH=/kube:/tools/usr/sbin:/tools/usr/bin:/tools/bin:/usr/sbin:/usr/bin:/sbin:/bin"',
    // There is no systemd, and much else that kubeadm looks for.
    '"KUBEADM_JOIN_FLAGS=--ignore-preflight-errors=all"',
  ].join(' ')}`,
  '',
].join('\n');

/** One layer with busybox, as `docker save` writes it. */
async function makeImages(folder: string, busybox: string): Promise<void> {
  const work = join(folder, 'image');
  mkdirSync(join(work, 'layer/bin'), { recursive: true });
  await cp(busybox, join(work, 'layer/bin/busybox'));
  for (const name of ['sh', 'sleep']) symlinkSync('busybox', join(work, 'layer/bin', name));
  await run('tar', ['-C', join(work, 'layer'), '-cf', join(work, 'layer.tar'), '.']);
  const digest = (await run('sha256sum', [join(work, 'layer.tar')])).stdout.split(' ')[0] ?? '';
  const config = {
    ...{ architecture: process.arch === 'x64' ? 'amd64' : process.arch, os: 'linux' },
    config: { Cmd: ['/bin/sleep', '100000000'] },
    rootfs: { type: 'layers', diff_ids: [`sha256:${digest}`] },
  };
  const names = ['muster.test/pause:1', 'muster.test/web:1'];
  await writeFile(join(work, 'config.json'), JSON.stringify(config));
  await writeFile(
    join(work, 'manifest.json'),
    JSON.stringify([{ Config: 'config.json', RepoTags: names, Layers: ['layer.tar'] }]),
  );
  await run('tar', ['-C', work, '-cf', join(folder, 'images.tar'), 'manifest.json', 'config.json', 'layer.tar']);
  await rm(work, { recursive: true });
}
