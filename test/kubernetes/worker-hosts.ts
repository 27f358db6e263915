// Machines that a Muster reaches by SSH: one sshd stands for all of a test's, and each worker has a folder by its name as its disk. The way to it can be led to another
// machine, which has another host key.
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { waitFor } from '../ha/wait-for.ts';
import { startSshd, type Sshd } from './sshd.ts';
import type { OnFinished } from './workloads.ts';

const SCRIPT = resolve(import.meta.dirname, '../../examples/kubernetes/worker.sh');

type Fault = 'fails' | 'hangs' | 'pretends';

export class WorkerHosts {
  readonly sshd: Sshd;
  /** Where it is reached. */
  readonly port: number;
  readonly #folder: string;
  #behind: number;

  private constructor(sshd: Sshd, parts: { readonly port: number; readonly folder: string }) {
    this.sshd = sshd;
    this.port = parts.port;
    this.#folder = parts.folder;
    this.#behind = sshd.port;
  }

  static async start(onFinished: OnFinished): Promise<WorkerHosts> {
    const folder = await mkdtemp(join(tmpdir(), 'muster-worker-hosts-'));
    await writePrograms(folder);
    const sshd = await startSshd(environmentOf(folder), { onFinished });
    const relay = createServer((socket) => {
      const behind = connect(hosts.#behind, '127.0.0.1');
      socket.on('error', () => behind.destroy()).on('close', () => behind.destroy());
      behind.on('error', () => socket.destroy()).on('close', () => socket.destroy());
      socket.pipe(behind).pipe(socket);
    }).listen(0, '127.0.0.1');
    await once(relay, 'listening');
    const hosts = new WorkerHosts(sshd, { port: (relay.address() as AddressInfo).port, folder });
    onFinished(async () => {
      relay.close();
      hosts.endKubelets();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    });
    return hosts;
  }

  /** Another machine answers at the same place from now on; it lets the same user in. */
  async replace(onFinished: OnFinished): Promise<Sshd> {
    const other = await startSshd(environmentOf(this.#folder), { onFinished, userKeyFile: this.sshd.privateKeyFile });
    this.#behind = other.port;
    return other;
  }

  restore(): void {
    this.#behind = this.sshd.port;
  }

  /** The script that comes with Muster, with the folder of its worker as its machine. */
  get script(): string {
    const machine = `"${this.#folder}/$MUSTER_NODE"`;
    return [
      `export KUBEADM_MACHINE=${machine} KUBERNETES_DIR=${machine} MUSTER_RUN_DIR=${machine}`,
      'mkdir -p "$KUBEADM_MACHINE"',
      'echo "$1 ${MUSTER_TOKEN:-}" >> "$KUBEADM_MACHINE/passes"',
      readFileSync(SCRIPT, 'utf8'),
    ].join('\n');
  }

  arm(node: string, fault: Fault): void {
    mkdirSync(join(this.#folder, node), { recursive: true });
    writeFileSync(join(this.#folder, node, fault), '');
  }

  disarm(node: string, fault: Fault): void {
    rmSync(join(this.#folder, node, fault), { force: true });
  }

  /** What the script was run with, pass by pass: `join <token>`. */
  passes(node: string): string[] {
    return linesOf(join(this.#folder, node, 'passes'));
  }

  joins(node: string): number {
    return this.passes(node).filter((line) => line.startsWith('join ')).length;
  }

  /** What `kubeadm` was called with. */
  calls(node: string): string[] {
    return linesOf(join(this.#folder, node, 'calls'));
  }

  /** The process of its kubelet. */
  kubelet(node: string): number {
    return Number(readFileSync(join(this.#folder, node, 'kubelet.pid'), 'utf8'));
  }

  /** Whether anything of a cluster is left on it. */
  hasJoined(node: string): boolean {
    return ['kubelet.conf', 'muster-worker'].some((name) => existsSync(join(this.#folder, node, name)));
  }

  tokens(nodes: readonly string[]): string[] {
    const passes = nodes.flatMap((node) => this.passes(node));
    return [...new Set(passes.flatMap((line) => line.split('.')[1] ?? []))];
  }

  /** The process that hangs there, as soon as there is one. */
  untilHanging(node: string): Promise<number> {
    return waitFor(`${node} to hang`, async () => {
      const file = join(this.#folder, node, 'hanging');
      const pid = existsSync(file) ? Number(await readFile(file, 'utf8')) : 0;
      return pid > 0 ? pid : undefined;
    });
  }

  /** As when all machines lose their power. */
  endKubelets(): void {
    for (const { name } of readdirSync(this.#folder, { withFileTypes: true }).filter((one) => one.isDirectory())) {
      const file = join(this.#folder, name, 'kubelet.pid');
      if (!existsSync(file)) continue;
      try {
        process.kill(Number(readFileSync(file, 'utf8')), 'SIGKILL');
      } catch {
        // It ended before.
      }
    }
  }
}

export function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}

function environmentOf(folder: string): Readonly<Record<string, string>> {
  return {
    PATH: `${folder}/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
    ...{ KUBELET_RESTART: 'restart-kubelet', KUBEADM_PATIENCE_MS: '15000' },
    // Without a script of the cluster's own, there is one machine.
    ...{ KUBEADM_MACHINE: `${folder}/only`, KUBERNETES_DIR: `${folder}/only`, MUSTER_RUN_DIR: `${folder}/only` },
  };
}

async function writePrograms(folder: string): Promise<void> {
  mkdirSync(join(folder, 'bin'));
  const kubeadm = `exec ${process.execPath} ${join(import.meta.dirname, 'fake-kubeadm.ts')}`;
  const programs = {
    kubeadm: `${kubeadm} "$@"`,
    'restart-kubelet': `${kubeadm} restart`,
    ...{ kubelet: 'exit 0', containerd: 'exit 0' },
  };
  for (const [name, body] of Object.entries(programs))
    await writeFile(join(folder, 'bin', name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
}

function linesOf(file: string): string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
}
