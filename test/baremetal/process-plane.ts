// A control plane of real processes: servers, some with a manager inside, and managers as programs of their own. All of them can be killed and halted.
// Requests go to it over HTTP; what was done to machines is read from the simulated inventory's notes of calls.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newFolder, start, startServer, type Ended, type ServerProcess, type Started } from '../cli/muster.ts';
import { freePort } from '../free-port.ts';

/** Only a test that fails waits so long: nothing is said of how long anything takes. */
const PATIENCE_MS = 240_000;
const LOOK_MS = 100;
/** The shortest that there are: a test waits for leases to run out. */
const LEASES = { leaseMs: 5000, renewMs: 1000 };
const PAGE = 1000;

export interface ProcessPlaneOptions {
  /** The URL of a PostgreSQL database; SQLite without one. */
  readonly store?: string;
  /** Of each server, the manager inside it. */
  readonly embedded?: readonly (string | undefined)[];
  readonly managers?: readonly string[];
  readonly leases?: { readonly leaseMs: number; readonly renewMs: number };
  /** The address of an Ironic whose machines are managed, too. */
  readonly ironic?: string;
  /** How long a machine takes to be deployed. */
  readonly deployMs?: number;
}

export interface NodeRow {
  readonly id: string;
  readonly state: string;
  readonly epoch: number;
  readonly instance?: string;
  readonly manager?: string;
  readonly managerEpoch?: number;
}

export interface CallRow {
  readonly op: string;
  readonly node: string;
  readonly instance: string;
  readonly manager: string;
  readonly epoch: number;
  readonly accepted: boolean;
  readonly result: string;
}

interface InstanceRow {
  readonly id: string;
  readonly state: string;
  readonly node?: string;
}

export interface ManagerRow {
  readonly name: string;
  readonly state: string;
  readonly holder: string;
  readonly leaseEpoch: number;
}

export interface PlaneAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

interface ServerPlace {
  readonly data: string;
  readonly args: readonly string[];
  running: ServerProcess;
}

export class ProcessPlane {
  readonly #servers: ServerPlace[] = [];
  readonly #managers = new Map<string, Started>();
  readonly #tokens = new Map<string, string>();
  readonly #urls: string[] = [];
  readonly #ironic: readonly string[];
  /** The server that gets the requests. */
  #at = 0;

  private constructor(ironic: string | undefined) {
    this.#ironic = ironic === undefined ? [] : ['--ironic', ironic];
  }

  static async start(options: ProcessPlaneOptions): Promise<ProcessPlane> {
    const { store, embedded = [undefined], managers = [], leases = LEASES, deployMs = 3000 } = options;
    const plane = new ProcessPlane(options.ironic);
    const keys = newFolder();
    for (const manager of embedded) {
      // At a port of its own: managers find it there again after it was started anew.
      const listen = ['--listen', `127.0.0.1:${await freePort()}`];
      const shared = store === undefined ? [] : ['--store', store, '--keys', keys];
      const args = [...listen, ...shared, ...plane.#ironic, ...(manager === undefined ? [] : ['--manager', manager])];
      const data = newFolder();
      // The first server makes the token of its own manager; the others never decide, and are given theirs.
      if (manager !== undefined && plane.#servers.length > 0) await plane.#writeToken(data, manager);
      plane.#servers.push({ data, args, running: await startServer(data, ...args) });
      plane.#urls.push(plane.#servers.at(-1)!.running.url);
    }
    await plane.set('baremetal.managers', leases);
    const times = { claims: 'inline', checksEpochs: true, deployMs, cleanMs: 500, powerMs: 0 };
    await plane.set('baremetal.simulated', times);
    for (const name of managers) await plane.startManager(name);
    const names = [...managers, ...embedded.filter((name) => name !== undefined)];
    await plane.until('all managers are live', async () => {
      const rows = await plane.managers();
      return names.every((name) => rows.some((one) => one.name === name && one.state === 'live'));
    });
    return plane;
  }

  server(nth: number): ServerProcess {
    return this.#servers[nth]!.running;
  }

  /** Which server gets the requests from now on. */
  askServer(nth: number): void {
    this.#at = nth;
  }

  /** The one that was killed or stopped, at its place. */
  async restartServer(nth: number): Promise<void> {
    const place = this.#servers[nth]!;
    place.running = await startServer(place.data, ...place.args);
  }

  async killServer(nth: number): Promise<void> {
    await this.server(nth).stop('SIGKILL');
  }

  /** Which server decides now. */
  async holderOf(): Promise<number> {
    const said = this.#servers.map(({ running }) => running.err().lastIndexOf('this server decides'));
    const found = said.findIndex((at) => at >= 0);
    if (found < 0) throw new Error('no server decides');
    return found;
  }

  async startManager(name: string): Promise<Started> {
    const file = await this.#writeToken(newFolder(), name);
    const args = ['--name', name, '--server', this.#urls.join(), '--token-file', file, ...this.#ironic];
    const started = start(['manager', ...args]);
    this.#managers.set(name, started);
    return started;
  }

  async #writeToken(folder: string, name: string): Promise<string> {
    const file = join(folder, `manager-${name}-token`);
    writeFileSync(file, `${await this.managerToken(name)}\n`, { mode: 0o600 });
    return file;
  }

  signalManager(name: string, signal: NodeJS.Signals): void {
    this.#managers.get(name)!.child.kill(signal);
  }

  async endManager(name: string, signal: NodeJS.Signals): Promise<Ended> {
    this.signalManager(name, signal);
    return this.#managers.get(name)!.ended;
  }

  async managerToken(name: string): Promise<string> {
    const known = this.#tokens.get(name);
    if (known !== undefined) return known;
    const payload = { name: `token of ${name}`, role: 'manager', manager: name };
    const { body } = await this.mustAsk('POST', '/tokens', payload);
    const secret = body['secret'] as string;
    this.#tokens.set(name, secret);
    return secret;
  }

  get #adminToken(): string {
    return readFileSync(join(this.#servers[0]!.data, 'admin-token'), 'utf8').trim();
  }

  async ask(method: string, path: string, payload?: unknown, secret = this.#adminToken): Promise<PlaneAnswer> {
    const isText = typeof payload === 'string';
    const answered = await fetch(`${this.#urls[this.#at]}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${secret}`,
        ...(payload !== undefined && { 'content-type': isText ? 'application/x-ndjson' : 'application/json' }),
      },
      ...(payload !== undefined && { body: isText ? payload : JSON.stringify(payload) }),
    });
    return { status: answered.status, body: (await answered.json()) as PlaneAnswer['body'] };
  }

  async mustAsk(method: string, path: string, payload?: unknown): Promise<PlaneAnswer> {
    const answered = await this.ask(method, path, payload);
    if (answered.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answered)}`);
    return answered;
  }

  async set(setting: string, value: object): Promise<void> {
    await this.mustAsk('PUT', `/settings/${setting}`, { value });
  }

  /** All of a list, page by page. */
  async list<T>(path: string): Promise<T[]> {
    const items: T[] = [];
    for (let after: string | undefined; ;) {
      const page = `${path}${path.includes('?') ? '&' : '?'}limit=${PAGE}`;
      const { body } = await this.mustAsk('GET', after === undefined ? page : `${page}&after=${after}`);
      items.push(...(body['items'] as T[]));
      after = body['next'] as string | undefined;
      if (after === undefined) return items;
    }
  }

  nodes(): Promise<NodeRow[]> {
    return this.list<NodeRow>('/nodes');
  }

  managers(): Promise<ManagerRow[]> {
    return this.list<ManagerRow>('/managers');
  }

  async manager(name: string): Promise<ManagerRow> {
    return (await this.mustAsk('GET', `/managers/${name}`)).body as unknown as ManagerRow;
  }

  instances(): Promise<InstanceRow[]> {
    return this.list<InstanceRow>('/instances');
  }

  calls(): Promise<CallRow[]> {
    return this.list<CallRow>('/simulated-inventory/calls');
  }

  /** So many machines, and an instance for each of them, which are built from now on. */
  async build(count: number): Promise<void> {
    const lines = Array.from({ length: count }, (_, nth) =>
      JSON.stringify({ name: `n${String(nth).padStart(4, '0')}`, memoryMiB: 65_536, cpus: 16, localGiB: 400 }),
    );
    await this.mustAsk('POST', '/nodes/bulk', `${lines.join('\n')}\n`);
    const size = { vcpus: 4, memoryMiB: 1024, diskGiB: 10 };
    await this.mustAsk('POST', '/flavors', { name: 'metal', ...size, bareMetal: {} });
    const wanted = { name: 'db', flavor: 'metal', count, image: 'debian', networks: 'none' };
    await this.mustAsk('POST', '/instances', wanted);
  }

  /** Servers may be away meanwhile. */
  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    const endMs = performance.now() + PATIENCE_MS;
    let last: unknown;
    for (;;) {
      try {
        if (await holds()) return;
      } catch (error) {
        last = error;
      }
      if (performance.now() > endMs)
        throw new Error(`waited ${PATIENCE_MS / 1000} s in vain: ${what}`, { cause: last });
      await sleep(LOOK_MS);
    }
  }

  async untilActive(count: number): Promise<void> {
    await this.until(`${count} instances are active`, async () => {
      const { body } = await this.mustAsk('GET', `/instances?state=active&limit=${PAGE}`);
      return (body['items'] as object[]).length === count;
    });
  }

  async stop(): Promise<void> {
    for (const one of this.#managers.values()) {
      one.child.kill('SIGCONT');
      one.child.kill('SIGKILL');
    }
    await Promise.all([...this.#managers.values()].map(({ ended }) => ended));
    for (const { running } of this.#servers) await running.stop('SIGKILL');
  }
}
