// One switch for tests: an ovsdb-server and an ovs-vswitchd of their own, with the datapath in user space, in a network
// namespace and a folder of their own. Nothing of the system's switch is touched.
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { access, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { endChild } from '../end-child.ts';
import { SCHEMA } from './install.ts';

const run = promisify(execFile);

const IP: string = 'ip';
const SETPRIV: string = 'setpriv';
const ENDS_WITH_ITS_PARENT = ['--pdeathsig', 'KILL'];

const START_TRIES_MAX = 1200;
const RETRY_MS = 25;
/** A tool that waits for a daemon that is gone would wait for ever. */
const TOOL_TIMEOUT_S = 30;
const OUTPUT_BYTES_MAX = 256 << 20;

export interface OvsDaemons {
  /** Short: names of unix sockets have at most 107 bytes. */
  readonly folder: string;
  readonly namespace: string;
  /** Where the database listens: `unix:/…/db.sock`. */
  readonly db: string;
  /** Where ovs-vswitchd takes commands: `unix:/…/vs.ctl`. */
  readonly ctl: string;
  /** Where a bridge speaks OpenFlow: `unix:/…/br-int.mgmt`. */
  bridgeMgmt(bridge: string): string;
  vsctl(...args: readonly string[]): Promise<string>;
  /** Speaks OpenFlow 1.4. */
  ofctl(...args: readonly string[]): Promise<string>;
  appctl(...args: readonly string[]): Promise<string>;
  /** A bridge in user space that does nothing by itself; `settings` as columns, such as `other_config:hwaddr=…`. */
  addBridge(name: string, ...settings: readonly string[]): Promise<void>;
  /** A port without a device behind it: `appctl('netdev-dummy/receive', name, packet)` lets a packet come in. */
  addDummyPort(bridge: string, name: string, ofport: number): Promise<void>;
  /** Ends them at once, as a crash would. */
  killDatabase(): Promise<void>;
  killSwitch(): Promise<void>;
  /** Starts what was killed; what the database had is still there. */
  startDatabase(): Promise<void>;
  startSwitch(): Promise<void>;
  close(): Promise<void>;
}

let count = 0;

export async function start(): Promise<OvsDaemons> {
  await sweepNamespaces();
  const folder = await mkdtemp(join(tmpdir(), 'mo-'));
  count += 1;
  const daemons = new Daemons(folder, `mo${process.pid}-${count}`);
  try {
    await daemons.begin();
  } catch (error) {
    const log = await daemons.log();
    await daemons.close();
    throw new Error(`Open vSwitch does not start: ${log}`, { cause: error });
  }
  return daemons;
}

class Daemons implements OvsDaemons {
  readonly folder: string;
  readonly namespace: string;
  readonly db: string;
  readonly ctl: string;
  #database: ChildProcess | undefined;
  #switch: ChildProcess | undefined;

  constructor(folder: string, namespace: string) {
    this.folder = folder;
    this.namespace = namespace;
    this.db = `unix:${join(folder, 'db.sock')}`;
    this.ctl = `unix:${join(folder, 'vs.ctl')}`;
  }

  async begin(): Promise<void> {
    process.once('exit', this.#onExit);
    await run(IP, ['netns', 'add', this.namespace]);
    await run(IP, ['-n', this.namespace, 'link', 'set', 'lo', 'up']);
    await run('ovsdb-tool', ['create', join(this.folder, 'conf.db'), SCHEMA]);
    await this.startDatabase();
    // One thread of each: the machine runs several of these beside each other.
    const threads = ['other_config:n-handler-threads=1', 'other_config:n-revalidator-threads=1'];
    const id = `external_ids:system-id=${this.namespace}`;
    await this.vsctl('--no-wait', 'init', '--', 'set', 'Open_vSwitch', '.', id, ...threads);
    await this.startSwitch();
  }

  async startDatabase(): Promise<void> {
    const remote = `--remote=p${this.db}`;
    this.#database = this.#spawn('ovsdb-server', 'db', [join(this.folder, 'conf.db'), remote]);
    await this.#until(this.#database, () => access(join(this.folder, 'db.sock')));
  }

  async startSwitch(): Promise<void> {
    this.#switch = this.#spawn('ovs-vswitchd', 'vs', [this.db, '--disable-system', '--enable-dummy']);
    await this.#until(this.#switch, async () => {
      await access(join(this.folder, 'vs.ctl'));
      // Only after a change does the tool wait until the switch has taken the whole configuration.
      await this.vsctl('set', 'Open_vSwitch', '.', `external_ids:started-as=${this.#switch?.pid}`);
    });
  }

  async killDatabase(): Promise<void> {
    if (this.#database !== undefined) await endChild(this.#database, 'SIGKILL');
    await rm(join(this.folder, 'db.sock'), { force: true });
  }

  async killSwitch(): Promise<void> {
    if (this.#switch !== undefined) await endChild(this.#switch, 'SIGKILL');
    await rm(join(this.folder, 'vs.ctl'), { force: true });
  }

  bridgeMgmt(bridge: string): string {
    return `unix:${join(this.folder, `${bridge}.mgmt`)}`;
  }

  vsctl(...args: readonly string[]): Promise<string> {
    return tool('ovs-vsctl', ['--no-syslog', `--timeout=${TOOL_TIMEOUT_S}`, `--db=${this.db}`, ...args]);
  }

  ofctl(...args: readonly string[]): Promise<string> {
    return tool('ovs-ofctl', ['--timeout', `${TOOL_TIMEOUT_S}`, '-O', 'OpenFlow14', ...args], this.folder);
  }

  appctl(...args: readonly string[]): Promise<string> {
    const target = `--target=${join(this.folder, 'vs.ctl')}`;
    return tool('ovs-appctl', [`--timeout=${TOOL_TIMEOUT_S}`, target, ...args]);
  }

  async addBridge(name: string, ...settings: readonly string[]): Promise<void> {
    const usual = ['datapath_type=netdev', 'fail-mode=secure', 'protocols=OpenFlow10,OpenFlow13,OpenFlow14'];
    await this.vsctl('add-br', name, '--', 'set', 'bridge', name, ...usual, ...settings);
  }

  async addDummyPort(bridge: string, name: string, ofport: number): Promise<void> {
    const settings = ['type=dummy', `ofport_request=${ofport}`];
    await this.vsctl('add-port', bridge, name, '--', 'set', 'interface', name, ...settings);
  }

  async close(): Promise<void> {
    process.off('exit', this.#onExit);
    // The switch first: ended by SIGTERM it removes its devices.
    if (this.#switch !== undefined) await endChild(this.#switch, 'SIGTERM');
    if (this.#database !== undefined) await endChild(this.#database, 'SIGTERM');
    await run(IP, ['netns', 'delete', this.namespace]).catch(() => {});
    await rm(this.folder, { recursive: true, force: true });
  }

  /** The end of both logs. */
  async log(): Promise<string> {
    const logs = ['db.log', 'vs.log'].map((name) => readFile(join(this.folder, name), 'utf8').catch(() => ''));
    return (await Promise.all(logs)).map((text) => text.slice(-2000)).join('\n');
  }

  #spawn(program: string, name: string, args: readonly string[]): ChildProcess {
    const of = (end: string): string => join(this.folder, `${name}.${end}`);
    const files = [`--unixctl=${of('ctl')}`, `--pidfile=${of('pid')}`, `--log-file=${of('log')}`];
    const quiet = ['-vconsole:off', '-vsyslog:off', '--no-chdir'];
    // Each of these becomes the next, so the process id is the daemon's. Where the tests are killed, the daemon ends with them.
    const inNamespace = [...ENDS_WITH_ITS_PARENT, IP, 'netns', 'exec', this.namespace];
    return spawn(SETPRIV, [...inNamespace, program, ...args, ...files, ...quiet], {
      stdio: 'ignore',
      cwd: this.folder,
      env: inFolder(this.folder),
    });
  }

  async #until(child: ChildProcess, answers: () => Promise<unknown>): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await answers();
        return;
      } catch (error) {
        if (tries === START_TRIES_MAX || child.exitCode !== null || child.signalCode !== null) throw error;
        await setTimeout(RETRY_MS);
      }
    }
  }

  /** A test run that is cut short must leave nothing behind. */
  readonly #onExit = (): void => {
    this.#switch?.kill('SIGKILL');
    this.#database?.kill('SIGKILL');
    try {
      execFileSync(IP, ['netns', 'delete', this.namespace], { stdio: 'ignore' });
    } catch {
      // It was not made yet.
    }
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  };
}

function inFolder(folder: string): NodeJS.ProcessEnv {
  return { ...process.env, OVS_RUNDIR: folder, OVS_LOGDIR: folder, OVS_DBDIR: folder };
}

async function tool(program: string, args: readonly string[], folder?: string): Promise<string> {
  const env = folder === undefined ? process.env : inFolder(folder);
  const { stdout } = await run(program, [...args], { env, maxBuffer: OUTPUT_BYTES_MAX });
  return stdout;
}

/** Namespaces of test runs that were killed: their name says whose they were. */
async function sweepNamespaces(): Promise<void> {
  const { stdout } = await run(IP, ['netns', 'list']);
  for (const [, name = '', pid = ''] of stdout.matchAll(/^(mo(\d+)-\w+)/gm)) {
    if (!isAlive(Number(pid))) await run(IP, ['netns', 'delete', name]).catch(() => {});
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
