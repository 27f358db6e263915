// The machine of an agent that drives Open vSwitch, composed from the options of the command line.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import {
  NamespaceRuntime,
  PacketResponder,
  NodeDriver,
  SimulatedHypervisor,
  SimulatedRuntime,
  type Disk,
  type InstanceRuntime,
  type TaskDurations,
} from '../agent/runtime.ts';
import type { NodeModule } from '../composition/index.ts';
import { SwitchDown } from '../dataplane/index.ts';
import { BadAddress, OvsSwitch, parseAddress } from '../dataplane/runtime.ts';
import type { Clock } from '../journal/index.ts';
import type { Log } from '../operations/index.ts';
import { realClock } from './clock.ts';
import { StartFailure } from './start-failure.ts';

export interface OvsNodeOptions {
  readonly database: string;
  readonly ovsOpenflow?: string;
  readonly ovsControl?: string;
  readonly bridge: string;
  readonly external?: string;
  readonly datapath: 'system' | 'netdev';
  readonly netns?: string;
}

const run = promisify(execFile);

/** What does not depend on which switch it is. */
export interface OvsNodeParts {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly log: Log;
  /** Of instances that are pretended, where no namespace is named for them. */
  readonly durations: TaskDurations;
  readonly modules: readonly NodeModule[];
}

export function createOvsNode(
  options: OvsNodeOptions,
  { disk, clock, log, durations, modules }: OvsNodeParts,
): { readonly driver: NodeDriver; close(): Promise<void> } {
  const { netns } = options;
  const ovs = openSwitch(options);
  const runtime: InstanceRuntime =
    netns === undefined
      ? new SimulatedRuntime({ hypervisor: new SimulatedHypervisor({ disk, durations }), clock })
      : new NamespaceRuntime({ hostNamespace: netns, run: runCommand, clock, plugs: ovs, disk });
  const driver = new NodeDriver({
    clock,
    runtime,
    facts: { driver: 'open-vswitch' },
    modules,
    preflight: () => findSwitchProblems(ovs),
    switch: ovs,
    responder: new PacketResponder({ packets: ovs, clock, log }),
  });
  return { driver, close: () => ovs.close() };
}

/** A host whose switch does not answer would be given instances without connectivity. */
async function findSwitchProblems(ovs: OvsSwitch): Promise<readonly string[]> {
  try {
    await ovs.identity();
    return [];
  } catch (error) {
    if (!(error instanceof SwitchDown)) throw error;
    return [`its switch does not answer: ${error.message}`];
  }
}

/** The request is valid; the switch is missing. */
export class SwitchNotRunning extends StartFailure {}

/** `readOnly`: nothing on it is changed, not even its set-up. */
export function openSwitch(options: Omit<OvsNodeOptions, 'netns'> & { readonly readOnly?: boolean }): OvsSwitch {
  const { database, bridge, external, datapath, readOnly = false } = options;
  const plan = { bridge, external, datapath, readOnly };
  try {
    const openFlow = options.ovsOpenflow ?? `unix:${join(folderOf(database), `${bridge}.mgmt`)}`;
    const control = options.ovsControl ?? controlSocketFinder(database);
    const daemonCheck =
      options.ovsControl === undefined ? { isDaemonGone: () => isDaemonGone(folderOf(database)) } : {};
    return new OvsSwitch({
      database,
      openFlow,
      control,
      ...plan,
      ...daemonCheck,
      clock: realClock,
      random: Math.random,
    });
  } catch (error) {
    if (error instanceof BadAddress) throw new StartFailure(`${error.message}.`, { cause: error });
    throw error;
  }
}

async function runCommand([program = '', ...args]: readonly string[]): Promise<string> {
  return (await run(program, args)).stdout;
}

function folderOf(database: string): string {
  const { kind } = parseAddress(database);
  if (kind === 'tcp') {
    throw new StartFailure(`With a database at "${database}", give --ovs-openflow and --ovs-control as well.`);
  }
  return dirname(database.slice('unix:'.length));
}

/** The daemon's default name contains its process id: it changes with each start. */
function controlSocketFinder(database: string): () => string {
  const find = (): string => `unix:${findControlSocket(folderOf(database))}`;
  find();
  return find;
}

function findControlSocket(folder: string): string {
  const file = join(folder, 'ovs-vswitchd.pid');
  try {
    return join(folder, `ovs-vswitchd.${readFileSync(file, 'utf8').trim()}.ctl`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new SwitchNotRunning(
      `There is no ${file}: is ovs-vswitchd running? If it is, name its socket with --ovs-control.`,
    );
  }
}

/** Whether the pid file of ovs-vswitchd is missing or names a process that has ended. When in doubt, it counts as running. */
function isDaemonGone(folder: string): boolean {
  try {
    process.kill(Number(readFileSync(join(folder, 'ovs-vswitchd.pid'), 'utf8').trim()), 0);
    return false;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ESRCH';
  }
}
