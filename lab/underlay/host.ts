// A host of the lab: a namespace with lines to the underlay and to the outside, and a switch of its own in user space. It has the
// bridge that its tunnels go through; everything above that is made by whoever drives the switch.
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { run, runAll, type ProgramCommand } from '../command.ts';
import { hostCommands, inNamespace, tunnelCommands } from './links-plan.ts';
import { TUNNEL_BRIDGE, TUNNEL_NETWORK, UNDERLAY_INTERFACE, type HostNames, type LabNames } from './names.ts';
import { killAll, runsIn } from './processes.ts';

const SCHEMA = '/usr/share/openvswitch/vswitch.ovsschema';
/** In front of everything else on the machine: a switch that waits for the processor loses packets. */
const NICE = ['nice', '-n', '-15'];
const DAEMON = ['--no-chdir', '-vconsole:off', '-vsyslog:off', '--detach'];
const VSCTL_PATIENCE_S = 50;
const LOOK_MS = 20;
const SOCKET_PATIENCE_MS = 20_000;
const CACHED_TUNNEL_ROUTE = new RegExp(`^Cached: .*\\bdev ${TUNNEL_BRIDGE}\\b`, 'm');

export type Daemon = 'ovsdb-server' | 'ovs-vswitchd';
const PID_FILE: Readonly<Record<Daemon, string>> = { 'ovsdb-server': 'db.pid', 'ovs-vswitchd': 'vs.pid' };

export class LabHost {
  readonly names: HostNames;

  constructor(names: HostNames) {
    this.names = names;
  }

  async begin(lab: LabNames, signal?: AbortSignal): Promise<void> {
    const { folder, tunnelMac } = this.names;
    await mkdir(folder);
    await runAll(hostCommands(lab, this.names), signal);
    await run(['ovsdb-tool', 'create', join(folder, 'conf.db'), SCHEMA]);
    signal?.throwIfAborted();
    await this.#startDatabase();
    const settings = ['other_config:n-handler-threads=1', 'other_config:n-revalidator-threads=1'];
    const id = `external_ids:system-id=${this.names.name}`;
    await this.vsctl('--no-wait', 'init', '--', 'set', 'Open_vSwitch', '.', id, ...settings);
    signal?.throwIfAborted();
    await this.#startSwitch();
    signal?.throwIfAborted();
    const bridge = ['datapath_type=netdev', 'fail-mode=standalone', `other_config:hwaddr=${tunnelMac}`];
    const port = ['add-port', TUNNEL_BRIDGE, UNDERLAY_INTERFACE];
    await this.vsctl('add-br', TUNNEL_BRIDGE, '--', 'set', 'bridge', TUNNEL_BRIDGE, ...bridge, '--', ...port);
    await this.#layTunnels(signal);
  }

  /** Waits until the switch has taken what was said, unless `--no-wait` is in front. */
  vsctl(...args: ProgramCommand): Promise<string> {
    const options = ['--no-syslog', `--timeout=${VSCTL_PATIENCE_S}`, `--db=${this.names.database}`];
    return run(['ovs-vsctl', ...options, ...args]);
  }

  /** OpenFlow 1.4 to one of its bridges; with names of ports instead of their numbers. */
  ofctl(command: string, bridge: string, ...args: ProgramCommand): Promise<string> {
    return run([...this.#ofctl(command, bridge), ...args]);
  }

  /** Takes many flows in one go, as one change: they are the lines. */
  async addFlows(bridge: string, flows: readonly string[]): Promise<void> {
    await run([...this.#ofctl('--bundle', 'add-flows', bridge), '-'], `${flows.join('\n')}\n`);
  }

  #ofctl(...words: readonly string[]): ProgramCommand {
    const bridge = words.at(-1) ?? '';
    return [
      'ovs-ofctl',
      '--names',
      '-O',
      'OpenFlow14',
      ...words.slice(0, -1),
      `unix:${this.names.folder}/${bridge}.mgmt`,
    ];
  }

  appctl(...args: ProgramCommand): Promise<string> {
    return run(['ovs-appctl', '-t', this.names.control, ...args]);
  }

  /** A command inside of the host. */
  exec(...command: ProgramCommand): Promise<string> {
    return run(inNamespace(this.names.namespace, ...command));
  }

  /** As a crash would, or as an operator does with SIGTERM. */
  async kill(daemon: Daemon, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    await killAll([await this.pid(daemon)], signal);
  }

  /** Starts what was killed, and resolves when it does its work again. */
  async start(daemon: Daemon): Promise<void> {
    if (daemon === 'ovsdb-server') {
      await this.#startDatabase();
      return;
    }
    await this.#startSwitch();
    // A change that it has to take before this returns: then its bridges are there again.
    await this.vsctl('set', 'Open_vSwitch', '.', `external_ids:lab-start=${Date.now()}`);
    await this.#layTunnels();
  }

  /** What the switch reads of the kernel while its routes change must not take away the one that it is given here. */
  async #layTunnels(signal?: AbortSignal): Promise<void> {
    await runAll(tunnelCommands(this.names), signal);
    const deadlineMs = performance.now() + SOCKET_PATIENCE_MS;
    while (CACHED_TUNNEL_ROUTE.test(await this.appctl('ovs/route/show'))) {
      if (performance.now() > deadlineMs)
        throw new Error(`the switch of ${this.names.name} does not follow its routes`);
      await setTimeout(LOOK_MS);
    }
    await this.appctl('ovs/route/add', TUNNEL_NETWORK, TUNNEL_BRIDGE);
  }

  async pid(daemon: Daemon): Promise<number> {
    const { folder, name } = this.names;
    const pid = Number(await readFile(join(folder, PID_FILE[daemon]), 'utf8').catch(() => Number.NaN));
    if (Number.isNaN(pid) || !(await runsIn(pid, daemon, folder))) throw new Error(`${name} has no ${daemon} now`);
    return pid;
  }

  #startDatabase(): Promise<void> {
    const { folder } = this.names;
    return this.#startDaemon('ovsdb-server', [`${folder}/conf.db`, `--remote=punix:${folder}/db.sock`], 'db');
  }

  #startSwitch(): Promise<void> {
    return this.#startDaemon('ovs-vswitchd', [this.names.database, '--disable-system'], 'vs');
  }

  async #startDaemon(daemon: Daemon, args: ProgramCommand, short: 'db' | 'vs'): Promise<void> {
    const { folder, namespace } = this.names;
    const files = [
      `--unixctl=${folder}/${short}.ctl`,
      `--pidfile=${folder}/${short}.pid`,
      `--log-file=${folder}/${short}.log`,
    ];
    // Its bridges put their sockets where this says.
    const where = ['env', `OVS_RUNDIR=${folder}`, `OVS_LOGDIR=${folder}`, `OVS_DBDIR=${folder}`];
    await run(inNamespace(namespace, ...NICE, ...where, daemon, ...args, ...files, ...DAEMON));
    await this.#untilAnswers(`${folder}/${short}.ctl`);
  }

  /** A detached daemon listens already; a machine under load may need a moment to let it answer. */
  async #untilAnswers(control: string): Promise<void> {
    const deadlineMs = performance.now() + SOCKET_PATIENCE_MS;
    for (;;) {
      try {
        await run(['ovs-appctl', '-t', control, 'version']);
        return;
      } catch (error) {
        if (performance.now() > deadlineMs) throw error;
        await setTimeout(LOOK_MS);
      }
    }
  }
}
