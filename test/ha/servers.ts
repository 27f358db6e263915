// Three real Muster servers, one on each machine, with certificates of an authority of their own, on one PostgreSQL that fails over.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request, type Agent } from 'node:https';
import { join, resolve } from 'node:path';
import { until } from './database.ts';
import { MACHINES, type MachineName, type Network } from './network.ts';
import { Program } from './program.ts';

const MUSTER = resolve(import.meta.dirname, '../../bin/muster.js');
const PORT = 7070;
const KEY_FILE = 'control-plane-keys.json';

export interface ServersOptions {
  readonly network: Network;
  readonly folder: string;
  readonly storeUrl: string;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export class Servers {
  readonly #options: ServersOptions;
  readonly #programs = new Map<MachineName, Program>();

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
    const to = this.#dataFolder(machine);
    mkdirSync(to, { recursive: true, mode: 0o700 });
    copyFileSync(join(this.#dataFolder(MACHINES[0]), KEY_FILE), join(to, KEY_FILE));
  }

  #dataFolder(machine: MachineName): string {
    return join(this.#options.folder, machine, 'muster');
  }

  startOne(machine: MachineName): void {
    const { network, folder, storeUrl } = this.#options;
    const home = join(folder, machine);
    const url = this.url(machine);
    const tls = ['--tls-cert', join(home, 'cert.pem'), '--tls-key', join(home, 'key.pem')];
    const where = ['--listen', `${network.address(machine)}:${PORT}`, '--advertise', url];
    const command = [process.execPath, MUSTER, 'serve', '--data', this.#dataFolder(machine), ...where, ...tls] as const;
    const env = { MUSTER_STORE: storeUrl, NODE_EXTRA_CA_CERTS: this.ca };
    const namespace = network.namespace(machine);
    this.#programs.set(machine, new Program({ namespace, command: [...command], log: join(home, 'muster.log'), env }));
  }

  url(machine: MachineName): string {
    return `https://${this.#options.network.address(machine)}:${PORT}`;
  }

  get ca(): string {
    return join(this.#options.folder, 'ca.pem');
  }

  program(machine: MachineName): Program {
    const program = this.#programs.get(machine);
    if (program === undefined) throw new Error(`no server was started on ${machine}`);
    return program;
  }

  adminToken(): string {
    return readFileSync(join(this.#dataFolder(MACHINES[0]), 'admin-token'), 'utf8').trim();
  }

  async isReady(machine: MachineName): Promise<void> {
    const ca = readFileSync(this.ca, 'utf8');
    await until(`the server on ${machine} to be ready`, async () => {
      const program = this.program(machine);
      if (!program.isRunning) throw new Error(`the server on ${machine} ended:\n${program.output().slice(-3000)}`);
      const answer = await ask(`${this.url(machine)}/readyz`, { ca }).catch(() => undefined);
      return answer?.status === 200 ? true : undefined;
    });
  }

  async stop(): Promise<void> {
    for (const program of this.#programs.values()) program.signal('SIGCONT');
    await Promise.all([...this.#programs.values()].map((program) => program.stop('SIGKILL')));
  }
}

export interface Asked {
  readonly ca: string;
  readonly agent?: Agent;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly timeoutMs?: number;
}

export function ask(url: string, { body, timeoutMs = 2000, ...options }: Asked): Promise<Answer> {
  return new Promise((resolve_, reject) => {
    const asked = request(url, { ...options, signal: AbortSignal.timeout(timeoutMs) }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => resolve_({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString() }));
    });
    asked.on('error', reject);
    asked.end(body);
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
