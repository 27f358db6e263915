// A real Ironic on loopback with a MariaDB of its own: an API, a conductor, hardware that is pretended by Ironic itself. Everything is ended by process id.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { endChild } from '../end-child.ts';
import { freePort } from '../free-port.ts';
import type { IronicPrograms } from './install.ts';

const run = promisify(execFile);
/** Debian's: another one on the path lacks its libraries. */
const PYTHON = '/usr/bin/python3';
/** Only a machine that is very busy takes so long. */
const PATIENCE_MS = 240_000;
const LOOK_EVERY_MS = 200;
const VERSION = { 'x-openstack-ironic-api-version': '1.80' };

export interface NewNode {
  readonly name: string;
  /** Of a node that was there before. */
  readonly uuid?: string;
  readonly resourceClass?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly traits?: readonly string[];
  readonly owner?: string;
}

const PROPERTIES = { cpus: 8, memory_mb: 16384, local_gb: 100, cpu_arch: 'x86_64', capabilities: 'supports_uefi:true' };

interface Ports {
  readonly database: number;
  readonly api: number;
  readonly rpc: number;
}

export class Ironic {
  readonly #programs: IronicPrograms;
  readonly #folder: string;
  readonly #ports: Ports;
  #database: ChildProcess | undefined;
  #api: ChildProcess | undefined;
  #conductor: ChildProcess | undefined;

  private constructor(programs: IronicPrograms, folder: string, ports: Ports) {
    this.#programs = programs;
    this.#folder = folder;
    this.#ports = ports;
  }

  static async start(programs: IronicPrograms): Promise<Ironic> {
    const folder = await mkdtemp(join(tmpdir(), 'muster-ironic-'));
    const ports = { database: await freePort(), api: await freePort(), rpc: await freePort() };
    const ironic = new Ironic(programs, folder, ports);
    try {
      await ironic.#startDatabase();
      await writeFile(ironic.#config, ironic.#configText());
      await run(PYTHON, [join(programs.binDir, 'ironic-dbsync'), '--config-file', ironic.#config, 'upgrade']);
      await ironic.startConductor();
      await ironic.startApi();
      return ironic;
    } catch (error) {
      await ironic.stop();
      throw error;
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.#ports.api}`;
  }

  get #config(): string {
    return join(this.#folder, 'ironic.conf');
  }

  get #socket(): string {
    return join(this.#folder, 'database.sock');
  }

  async #startDatabase(): Promise<void> {
    const data = join(this.#folder, 'data');
    await mkdir(join(this.#folder, 'state'));
    await run('mariadb-install-db', [
      '--no-defaults',
      `--datadir=${data}`,
      '--user=root',
      '--auth-root-authentication-method=normal',
    ]);
    this.#database = this.#spawn('database', '/usr/sbin/mariadbd', [
      '--no-defaults',
      '--user=root',
      `--datadir=${data}`,
      `--socket=${this.#socket}`,
      `--port=${this.#ports.database}`,
      '--bind-address=127.0.0.1',
      '--skip-log-bin',
      '--innodb-flush-log-at-trx-commit=2',
    ]);
    await this.#until('the database answers', () => this.#sql('SELECT 1'));
    await this.#sql(
      "CREATE DATABASE ironic CHARACTER SET utf8mb3; CREATE USER ironic@'127.0.0.1' IDENTIFIED BY 'x'; GRANT ALL ON ironic.* TO ironic@'127.0.0.1'",
    );
  }

  async #sql(text: string): Promise<void> {
    await run('mariadb', ['--no-defaults', '-u', 'root', '-S', this.#socket, '-e', text]);
  }

  #configText(): string {
    const { database, api, rpc } = this.#ports;
    const state = join(this.#folder, 'state');
    const interfaces = Object.entries({
      ...{ bios: 'no-bios', boot: 'fake', console: 'no-console', deploy: 'fake', inspect: 'no-inspect' },
      ...{ management: 'fake', network: 'noop', power: 'fake', raid: 'no-raid', rescue: 'no-rescue' },
      ...{ storage: 'noop', vendor: 'no-vendor' },
    }).map(([name, value]) => `enabled_${name}_interfaces = ${value}`);
    return [
      ...['[DEFAULT]', 'auth_strategy = noauth', 'rpc_transport = json-rpc', 'host = localhost', 'my_ip = 127.0.0.1'],
      ...['enabled_hardware_types = fake-hardware', ...interfaces, `state_path = ${state}`],
      ...['[api]', 'host_ip = 127.0.0.1', `port = ${api}`, 'api_workers = 1'],
      ...['[json_rpc]', 'auth_strategy = noauth', 'host_ip = 127.0.0.1', `port = ${rpc}`],
      ...[
        '[conductor]',
        'sync_power_state_interval = 0',
        'automated_clean = true',
        'workers_pool_size = 20',
        'heartbeat_timeout = 30',
      ],
      ...['[dhcp]', 'dhcp_provider = none'],
      ...['[database]', `connection = mysql+pymysql://ironic:x@127.0.0.1:${database}/ironic?charset=utf8`],
      ...['[oslo_concurrency]', `lock_path = ${state}`, ''],
    ].join('\n');
  }

  async startApi(): Promise<void> {
    this.#api = this.#startProgram('ironic-api');
    await this.#until('the API answers with a driver', async () => {
      const { drivers } = (await this.request('GET', '/v1/drivers')) as { readonly drivers: readonly unknown[] };
      if (drivers.length === 0) throw new Error('no conductor has reported yet');
    });
  }

  /** `deployDelayS`: how long each part of a deploy takes. */
  async startConductor({ deployDelayS = 0 }: { readonly deployDelayS?: number } = {}): Promise<void> {
    const extra = join(this.#folder, 'delays.conf');
    await writeFile(extra, `[fake]\ndeploy_delay = ${deployDelayS}\n`);
    this.#conductor = this.#startProgram('ironic-conductor', ['--config-file', extra]);
    await this.#until('the conductor takes calls', () => connectTo(this.#ports.rpc));
  }

  async killApi(): Promise<void> {
    if (this.#api !== undefined) await endChild(this.#api, 'SIGKILL');
  }

  async killConductor(): Promise<void> {
    if (this.#conductor !== undefined) await endChild(this.#conductor, 'SIGKILL');
  }

  #startProgram(name: string, more: readonly string[] = []): ChildProcess {
    return this.#spawn(name, PYTHON, [join(this.#programs.binDir, name), '--config-file', this.#config, ...more]);
  }

  #spawn(name: string, program: string, args: readonly string[]): ChildProcess {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const log = createWriteStream(join(this.#folder, `${name}.log`), { flags: 'a' });
    child.stdout?.pipe(log, { end: false });
    child.stderr?.pipe(log, { end: false });
    return child;
  }

  async #until(what: string, look: () => Promise<void>): Promise<void> {
    const deadlineMs = performance.now() + PATIENCE_MS;
    for (;;) {
      try {
        return await look();
      } catch (error) {
        if (performance.now() > deadlineMs)
          throw new Error(`${what}: ${String(error)}\n${await this.#lastLines()}`, { cause: error });
      }
      await sleep(LOOK_EVERY_MS);
    }
  }

  async #lastLines(): Promise<string> {
    const logs = ['database', 'ironic-api', 'ironic-conductor'].map((name) => join(this.#folder, `${name}.log`));
    const texts = await Promise.all(logs.map((file) => readFile(file, 'utf8').catch(() => '')));
    return texts.map((text) => text.slice(-1500)).join('\n');
  }

  /** Past the driver: as an operator of Ironic would. */
  async request(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { ...VERSION, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  /** One that can be claimed: managed, provided, and with a power state, which hardware that is pretended has only after a power call. */
  async enrol({
    name,
    uuid: wanted,
    resourceClass = 'baremetal',
    properties = PROPERTIES,
    traits = [],
    owner,
  }: NewNode): Promise<string> {
    const fields = {
      name,
      driver: 'fake-hardware',
      resource_class: resourceClass,
      properties,
      ...(owner !== undefined && { owner }),
      ...(wanted !== undefined && { uuid: wanted }),
    };
    const { uuid } = (await this.request('POST', '/v1/nodes', fields)) as { readonly uuid: string };
    await this.provision(uuid, 'manage', 'manageable');
    await this.provision(uuid, 'provide', 'available');
    await this.setPower(uuid, 'power off');
    if (traits.length > 0) await this.request('PUT', `/v1/nodes/${uuid}/traits`, { traits });
    return uuid;
  }

  async provision(node: string, target: string, wanted: string): Promise<void> {
    await this.request('PUT', `/v1/nodes/${node}/states/provision`, { target });
    await this.awaitNode(node, ({ provision_state: state }) => state === wanted);
  }

  async setPower(node: string, target: string): Promise<void> {
    await this.request('PUT', `/v1/nodes/${node}/states/power`, { target });
    await this.awaitNode(node, (now) => now['power_state'] === target && now['target_power_state'] === null);
  }

  async awaitNode(node: string, isSettled: (node: Readonly<Record<string, unknown>>) => boolean): Promise<void> {
    await this.#until(`node ${node} is as it should be`, async () => {
      const now = (await this.request('GET', `/v1/nodes/${node}`)) as Readonly<Record<string, unknown>>;
      if (!isSettled(now)) throw new Error(JSON.stringify(now).slice(0, 300));
    });
  }

  /** Whatever state it is in: out of maintenance's protection, without cleaning. */
  async remove(node: string): Promise<void> {
    await this.request('PUT', `/v1/nodes/${node}/maintenance`, {});
    await this.request('DELETE', `/v1/nodes/${node}`);
  }

  async stop(): Promise<void> {
    for (const child of [this.#api, this.#conductor, this.#database]) {
      if (child !== undefined) await endChild(child, 'SIGKILL');
    }
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function connectTo(port: number): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port });
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}
