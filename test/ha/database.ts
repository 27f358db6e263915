// etcd and Patroni on three machines, made from the configuration that is shipped for reference. Faults of the database are
// here: what is killed, stopped or switched over is decided by the test.
import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Client } from 'pg';
import { Etcd } from './etcd.ts';
import { MACHINES, signal as send, type MachineName, type NamespaceNetwork } from './network.ts';
import { NamespacedProgram } from './program.ts';
import { waitFor } from './wait-for.ts';

const TEMPLATE = resolve(import.meta.dirname, '../../packaging/reference/patroni.yml');

export interface DatabaseOptions {
  readonly network: NamespaceNetwork;
  readonly folder: string;
  readonly binDir: string;
  /** The user postgres. */
  readonly user: { readonly uid: number; readonly gid: number };
}

interface Member {
  readonly name: MachineName;
  readonly role: string;
  readonly state: string;
}

export class Database {
  readonly #options: DatabaseOptions;
  readonly etcd: Etcd;
  readonly #patroni = new Map<MachineName, NamespacedProgram>();
  readonly #secrets = new Map<string, string>();

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.etcd = new Etcd(options);
    for (const name of ['SUPERUSER', 'REPLICATION', 'REWIND', 'MUSTER'])
      this.#secrets.set(name, randomBytes(12).toString('hex'));
  }

  async start(): Promise<void> {
    for (const machine of MACHINES) this.etcd.start(machine);
    for (const machine of MACHINES) this.#configure(machine);
    for (const machine of MACHINES) this.startPatroni(machine);
    await this.settled();
    const primary = await this.primary();
    await this.query(primary, `CREATE ROLE muster LOGIN PASSWORD '${this.#secret('MUSTER')}'`);
    await this.query(primary, 'CREATE DATABASE muster OWNER muster');
  }

  /** As a server is given it. */
  get storeUrl(): string {
    const hosts = MACHINES.map((machine) => `${this.#options.network.address(machine)}:5432`);
    return `postgres://muster:${this.#secret('MUSTER')}@${hosts.join(',')}/muster`;
  }

  startPatroni(machine: MachineName): void {
    const { network, folder, user } = this.#options;
    const command = ['patroni', join(folder, machine, 'patroni.yml')] as const;
    const log = join(folder, machine, 'patroni.log');
    const program = new NamespacedProgram({ namespace: network.namespace(machine), command: [...command], log, user });
    this.#patroni.set(machine, program);
  }

  async members(): Promise<readonly Member[]> {
    for (const machine of MACHINES) {
      const answer = await this.#rest(machine, '/cluster').catch(() => undefined);
      if (answer === undefined) continue;
      const { members } = (await answer.json()) as { members: readonly Member[] };
      return members;
    }
    return [];
  }

  /** The machine whose PostgreSQL takes writes, as that machine itself says. */
  async primary(except?: MachineName): Promise<MachineName> {
    return waitFor('a primary', async () => {
      for (const machine of MACHINES) {
        if (machine === except) continue;
        const answer = await this.#rest(machine, '/primary').catch(() => undefined);
        if (answer?.status === 200) return machine;
      }
      return undefined;
    });
  }

  /** One primary, two running standbys of which one is synchronous. */
  async settled(): Promise<void> {
    await waitFor('one primary and two standbys, one of them synchronous', async () => {
      const members = await this.members();
      const running = members.filter(({ state }) => state === 'running' || state === 'streaming');
      const roles = running.map(({ role }) => role);
      const isWhole = running.length === MACHINES.length && roles.includes('leader') && roles.includes('sync_standby');
      return isWhole ? true : undefined;
    });
  }

  async switchover(): Promise<{ readonly from: MachineName }> {
    const from = await this.primary();
    const answer = await this.#rest(from, '/switchover', { leader: from });
    if (answer.status !== 200) throw new Error(`switchover: ${answer.status} ${await answer.text()}`);
    return { from };
  }

  /** Patroni and every process of PostgreSQL on a machine. */
  signalAll(machine: MachineName, signal: NodeJS.Signals): void {
    for (const pid of this.#options.network.processes(machine)) {
      const name = commandOf(pid);
      if (name.startsWith('postgres') || name.startsWith('patroni')) send(pid, signal);
    }
  }

  async query<Row>(machine: MachineName, text: string, database = 'postgres'): Promise<readonly Row[]> {
    const client = new Client({
      host: this.#options.network.address(machine),
      user: 'postgres',
      password: this.#secret('SUPERUSER'),
      database,
      connectionTimeoutMillis: 5000,
    });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query(text)).rows as Row[];
    } finally {
      await client.end();
    }
  }

  logs(machine: MachineName): string {
    return this.#patroni.get(machine)?.output() ?? '';
  }

  async stop(): Promise<void> {
    for (const machine of MACHINES) this.signalAll(machine, 'SIGCONT');
    // All at once: no standby is left to be promoted.
    await Promise.all([...this.#patroni.values()].map((program) => program.stop('SIGKILL')));
    for (const machine of MACHINES) this.signalAll(machine, 'SIGKILL');
    await this.etcd.stopAll();
  }

  /** The database of a machine whose processes were killed is gone, as after its disk was replaced; its configuration is put there again. */
  replaceDisk(machine: MachineName): void {
    for (const name of ['postgres', 'run'])
      rmSync(join(this.#options.folder, machine, name), { recursive: true, force: true });
    this.#configure(machine);
  }

  #configure(machine: MachineName): void {
    const { network, folder, binDir, user } = this.#options;
    const home = join(folder, machine);
    const run = join(home, 'run');
    for (const path of [run, join(home, 'postgres')]) {
      mkdirSync(path, { recursive: true, mode: 0o700 });
      chownSync(path, user.uid, user.gid);
    }
    const values: Record<string, string> = {
      NAME: machine,
      ADDRESS: network.address(machine),
      ETCD: MACHINES.map((name) => `${network.address(name)}:2379`).join(','),
      NETWORK: network.cidr,
      DATA: join(home, 'postgres/data'),
      BIN: binDir,
      RUN: run,
      SUPERUSER_PASSWORD: this.#secret('SUPERUSER'),
      REPLICATION_PASSWORD: this.#secret('REPLICATION'),
      REWIND_PASSWORD: this.#secret('REWIND'),
    };
    const text = readFileSync(TEMPLATE, 'utf8').replaceAll(
      /@([A-Z_]+)@/g,
      (whole, name: string) => values[name] ?? whole,
    );
    const path = join(home, 'patroni.yml');
    writeFileSync(path, text, { mode: 0o600 });
    chownSync(path, user.uid, user.gid);
    writeFileSync(join(home, 'patroni.log'), '', { mode: 0o666 });
  }

  #secret(name: string): string {
    return this.#secrets.get(name) ?? '';
  }

  #rest(machine: MachineName, path: string, body?: object): Promise<Response> {
    return fetch(`http://${this.#options.network.address(machine)}:8008${path}`, {
      signal: AbortSignal.timeout(body === undefined ? 2000 : 60_000),
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}
