// A Kubernetes control plane of its own for tests: etcd, API server, controller manager and scheduler on the loopback, with free ports and a
// small authority, in a temporary folder. No node runs on it: `fake-nodes.ts` adds those. It leaves nothing behind, however the run ends.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endChild } from '../end-child.ts';
import { freePort } from '../free-port.ts';
import { allowJoins } from './bootstrap-rules.ts';
import { KubeClient } from './kube-client.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { createAuthority, createSigningKey, issueCertificate } from './pki.ts';
import { apiServerFlags, controllerManagerFlags, etcdFlags, type PlanePki, schedulerFlags } from './plane-flags.ts';

const SETPRIV: string = 'setpriv';

const START_TRIES_MAX = 2400;
const RETRY_MS = 50;
const LOG_CHARS_SHOWN = 3000;

export interface Plane {
  /** Where the API is, as `https://127.0.0.1:PORT`. */
  readonly endpoint: string;
  /** The certificate of its authority, as PEM. */
  readonly ca: string;
  /** Everything is allowed to whom this names. */
  readonly adminKubeconfig: string;
  stop(): Promise<void>;
}

export interface PlaneOptions {
  readonly binDir: string;
}

export async function startPlane({ binDir }: PlaneOptions): Promise<Plane> {
  const plane = new RunningPlane(binDir, await mkdtemp(join(tmpdir(), 'muster-kubernetes-')));
  try {
    await plane.begin();
  } catch (error) {
    const log = plane.log();
    await plane.stop();
    throw new Error(`Kubernetes does not start:\n${log}`, { cause: error });
  }
  return plane;
}

class RunningPlane implements Plane {
  readonly #binDir: string;
  readonly #folder: string;
  readonly #children = new Map<string, ChildProcess>();
  #endpoint = '';
  #ca = '';
  #adminKubeconfig = '';

  constructor(binDir: string, folder: string) {
    this.#binDir = binDir;
    this.#folder = folder;
    process.once('exit', this.#onExit);
  }

  get endpoint(): string {
    return this.#endpoint;
  }

  get ca(): string {
    return this.#ca;
  }

  get adminKubeconfig(): string {
    return this.#adminKubeconfig;
  }

  async begin(): Promise<void> {
    const [etcdPort, peerPort, apiPort] = [await freePort(), await freePort(), await freePort()];
    this.#endpoint = `https://127.0.0.1:${apiPort}`;
    const etcd = `http://127.0.0.1:${etcdPort}`;
    const peer = `http://127.0.0.1:${peerPort}`;
    this.#spawn('etcd', etcdFlags({ folder: join(this.#folder, 'etcd'), client: etcd, peer }));
    const pki = await this.#createPki();
    this.#spawn('kube-apiserver', apiServerFlags({ pki, etcd, port: apiPort }));
    const client = KubeClient.of(this.#adminKubeconfig);
    await this.#until('kube-apiserver', () => isThere(client, '/readyz'));
    const kubeconfig = join(this.#folder, 'admin.kubeconfig');
    await writeFile(kubeconfig, this.#adminKubeconfig, { mode: 0o600 });
    this.#spawn('kube-controller-manager', controllerManagerFlags({ pki, kubeconfig }));
    this.#spawn('kube-scheduler', schedulerFlags(kubeconfig));
    await this.#until('kube-apiserver', () => isThere(client, '/api/v1/namespaces/kube-public'));
    await allowJoins(client, { endpoint: this.#endpoint, ca: this.#ca });
    // Without it pods are refused.
    const path = '/api/v1/namespaces/default/serviceaccounts/default';
    await this.#until('kube-controller-manager', () => isThere(client, path));
    client.close();
  }

  async stop(): Promise<void> {
    process.off('exit', this.#onExit);
    // Nothing is to be kept, so no server is given time to end.
    await Promise.all([...this.#children.values()].map((child) => endChild(child, 'SIGKILL')));
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  /** The last that each program said. */
  log(): string {
    const last = (name: string): string => readFileSync(this.#logFile(name), 'utf8').slice(-LOG_CHARS_SHOWN);
    return [...this.#children.keys()].map((name) => `--- ${name}\n${last(name)}`).join('\n');
  }

  #logFile(program: string): string {
    return join(this.#folder, `${program}.log`);
  }

  async #createPki(): Promise<PlanePki> {
    const folder = join(this.#folder, 'pki');
    await mkdir(folder, { mode: 0o700 });
    const [authority, signingKey] = await Promise.all([createAuthority(folder), createSigningKey(folder)]);
    const names = 'DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,IP:127.0.0.1';
    const [server, admin] = await Promise.all([
      issueCertificate(folder, authority, { file: 'server', subject: '/CN=kube-apiserver', names }),
      issueCertificate(folder, authority, { file: 'admin', subject: '/O=system:masters/CN=admin' }),
    ]);
    this.#ca = authority.cert;
    this.#adminKubeconfig = kubeconfigOf({
      endpoint: this.#endpoint,
      ca: this.#ca,
      user: { certificate: admin.cert, key: admin.key },
    });
    return { authority, server, signingKey };
  }

  #spawn(program: string, flags: Readonly<Record<string, string>>): void {
    const output = openSync(this.#logFile(program), 'a');
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
    // It ends with this process even when that is killed.
    const child = spawn(SETPRIV, ['--pdeathsig', 'KILL', '--', join(this.#binDir, program), ...args], {
      stdio: ['ignore', output, output],
      cwd: this.#folder,
      env: { PATH: process.env['PATH'], HOME: this.#folder },
      // Ctrl-C of a run is for the tests: they still need it while they clean up.
      detached: true,
    });
    closeSync(output);
    this.#children.set(program, child);
  }

  async #until(program: string, isReady: () => Promise<boolean>): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      if (await isReady().catch(() => false)) return;
      for (const [name, child] of this.#children) {
        if (child.exitCode !== null || child.signalCode !== null) throw new Error(`${name} ended`);
      }
      if (tries === START_TRIES_MAX) throw new Error(`${program} is not ready`);
      await sleep(RETRY_MS);
    }
  }

  readonly #onExit = (): void => {
    for (const child of this.#children.values()) child.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  };
}

async function isThere(client: KubeClient, path: string): Promise<boolean> {
  return (await client.send('GET', path)).status === 200;
}
