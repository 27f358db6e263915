// Three real Muster servers, one on each machine, with certificates of an authority of their own, on one PostgreSQL that fails over.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request, type Agent } from 'node:https';
import { join, resolve } from 'node:path';
import { waitFor } from './wait-for.ts';
import { MACHINES, type MachineName, type NamespaceNetwork } from './network.ts';
import { NamespacedProgram } from './program.ts';

const MUSTER = resolve(import.meta.dirname, '../../bin/muster.js');
const PORT = 7070;
const KEY_FILE = 'control-plane-keys.json';

export interface ServersOptions {
  readonly network: NamespaceNetwork;
  readonly folder: string;
  readonly storeUrl: string;
}

export interface HaServerOptions {
  readonly storeUrl: string;
  readonly port: number;
  readonly data: string;
}

export interface ServerAnswer {
  readonly status: number;
  readonly body: string;
}

export class Servers {
  readonly #options: ServersOptions;
  readonly #programs = new Map<MachineName, NamespacedProgram>();
  /** As an operator keeps it: the machine that it was made on may be lost. */
  #adminToken: string | undefined;

  constructor(options: ServersOptions) {
    this.#options = options;
    makeAuthority(options.folder);
    for (const machine of MACHINES) makeCertificate(options.folder, machine, options.network.address(machine));
  }

  async start(): Promise<void> {
    // The first one makes the database's schema, the admin token and the keys, which the others then need.
    for (const machine of MACHINES) {
      if (machine !== MACHINES[0]) this.#copyKeys(machine);
      this.startOne(machine);
      await this.isReady(machine);
    }
  }

  #copyKeys(machine: MachineName): void {
    this.copyKeysTo(this.#dataFolder(machine));
  }

  /** As an operator does it, from the first machine or from where the secrets are kept. */
  copyKeysTo(folder: string, from: MachineName = MACHINES[0]): void {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    copyFileSync(join(this.#dataFolder(from), KEY_FILE), join(folder, KEY_FILE));
  }

  /** The data folder of a machine whose server was killed is gone, and has the keys of another one instead. */
  replaceDisk(machine: MachineName, keysFrom: MachineName): void {
    rmSync(this.#dataFolder(machine), { recursive: true, force: true });
    this.copyKeysTo(this.#dataFolder(machine), keysFrom);
  }

  #dataFolder(machine: MachineName): string {
    return join(this.#options.folder, machine, 'muster');
  }

  startOne(machine: MachineName): void {
    const { storeUrl } = this.#options;
    const program = this.serve(machine, { storeUrl, port: PORT, data: this.#dataFolder(machine) });
    this.#programs.set(machine, program);
  }

  /** A server on a machine. Whoever starts one of its own stops it, too. */
  serve(machine: MachineName, { storeUrl, port, data }: HaServerOptions): NamespacedProgram {
    const { network, folder } = this.#options;
    const home = join(folder, machine);
    const tls = ['--tls-cert', join(home, 'cert.pem'), '--tls-key', join(home, 'key.pem')];
    const where = ['--listen', `${network.address(machine)}:${port}`, '--advertise', this.url(machine, port)];
    const command = [process.execPath, MUSTER, 'serve', '--data', data, ...where, ...tls] as const;
    const env = { MUSTER_STORE: storeUrl, NODE_EXTRA_CA_CERTS: this.ca };
    return new NamespacedProgram({
      namespace: network.namespace(machine),
      command: [...command],
      log: `${data}.log`,
      env,
    });
  }

  url(machine: MachineName, port = PORT): string {
    return `https://${this.#options.network.address(machine)}:${port}`;
  }

  get ca(): string {
    return join(this.#options.folder, 'ca.pem');
  }

  program(machine: MachineName): NamespacedProgram {
    const program = this.#programs.get(machine);
    if (program === undefined) throw new Error(`no server was started on ${machine}`);
    return program;
  }

  adminToken(): string {
    this.#adminToken ??= readFileSync(join(this.#dataFolder(MACHINES[0]), 'admin-token'), 'utf8').trim();
    return this.#adminToken;
  }

  async isReady(machine: MachineName, program = this.program(machine), port = PORT): Promise<void> {
    const ca = readFileSync(this.ca, 'utf8');
    await waitFor(`the server on ${machine} to be ready`, async () => {
      if (!program.isRunning) throw new Error(`the server on ${machine} ended:\n${program.output().slice(-3000)}`);
      const answer = await ask(`${this.url(machine, port)}/readyz`, { ca }).catch(() => undefined);
      return answer?.status === 200 ? true : undefined;
    });
  }

  async stop(): Promise<void> {
    for (const program of this.#programs.values()) program.signal('SIGCONT');
    await Promise.all([...this.#programs.values()].map((program) => program.stop('SIGKILL')));
  }
}

export interface ServerRequestOptions {
  readonly ca: string;
  readonly agent?: Agent;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs?: number;
}

export function ask(url: string, { body, timeoutMs = 2000, ...options }: ServerRequestOptions): Promise<ServerAnswer> {
  return new Promise((resolve_, reject) => {
    const requested = request(url, { ...options, signal: AbortSignal.timeout(timeoutMs) }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => resolve_({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
    });
    requested.on('error', reject);
    requested.end(body);
  });
}

function openssl(...args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

function makeAuthority(folder: string): void {
  const files = ['-keyout', join(folder, 'ca-key.pem'), '-out', join(folder, 'ca.pem')];
  openssl('req', '-x509', ...KEY, '-days', '30', '-subj', '/CN=Muster test authority', ...files);
}

export function makeCertificate(folder: string, machine: MachineName, address: string): void {
  const home = join(folder, machine);
  mkdirSync(home, { recursive: true });
  const [key, csr, cert] = ['key.pem', 'csr.pem', 'cert.pem'].map((name) => join(home, name)) as [
    string,
    string,
    string,
  ];
  openssl('req', '-new', ...KEY, '-subj', `/CN=${machine}`, '-keyout', key, '-out', csr);
  const names = join(home, 'names');
  writeFileSync(names, `subjectAltName=IP:${address},DNS:${machine}`);
  const authority = ['-CA', join(folder, 'ca.pem'), '-CAkey', join(folder, 'ca-key.pem'), '-CAcreateserial'];
  openssl('x509', '-req', '-in', csr, ...authority, '-days', '7', '-extfile', names, '-out', cert);
}
