// muster agent: the program on a compute node, until it is stopped.
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import {
  DEMO_TASK_DURATIONS,
  SimulatedNodeDriver,
  startAgent,
  type FileName,
  type NodeDriver,
} from '../agent/runtime.ts';
import { FileDisk } from '../link/runtime.ts';
import { DEFAULT_SERVER } from '../cli/index.ts';
import type { NodeModule } from '../composition/index.ts';
import { SimulatedSwitch } from '../dataplane/runtime.ts';
import { CURRENT_SERVICE_VERSION } from '../hosts/index.ts';
import type { Log } from '../operations/index.ts';
import { realClock } from './clock.ts';
import { parsePins, parseServers } from './dialled-servers.ts';
import { realIds } from './ids.ts';
import { NODE_MODULES } from './node-modules.ts';
import { createOvsNode } from './ovs-node.ts';
import { checkPrivateFolder, writePrivateFilesOnly } from './private-folder.ts';
import { programLog, writeSentence } from './program-log.ts';
import { StartFailure } from './start-failure.ts';
import { listenForStop, runUntilStopped } from './stop-signal.ts';

/** The options of the command line. */
export interface AgentProgramOptions {
  /** One, or several separated by commas: the agent tries them in turn. */
  readonly server?: string;
  readonly host?: string;
  readonly state: string;
  readonly joinTokenFile?: string;
  readonly ca?: string;
  readonly serverFingerprint?: readonly string[];
  readonly insecure?: boolean;
  readonly simulate?: boolean;
  readonly ovs?: string;
  readonly ovsOpenflow?: string;
  readonly ovsControl?: string;
  readonly bridge: string;
  readonly external?: string;
  readonly datapath: 'system' | 'netdev';
  readonly netns?: string;
  /** An operator's word that the record of instances is lost. */
  readonly recoverInstances?: boolean;
  /** Less than the program knows, to try out fleets of several versions. */
  readonly serviceVersion?: number;
  readonly logLevel: string;
}

/**
 * An agent has little garbage, and the cores of its machine are for what runs there: helper threads of the garbage collector cost more than
 * they help. Set here, since whoever starts the program has no reason to know of it.
 */
const SINGLE_THREADED_GC = '--no-parallel-scavenge';

export async function runAgent(options: AgentProgramOptions): Promise<number> {
  setFlagsFromString(SINGLE_THREADED_GC);
  const stop = listenForStop((text) => process.stderr.write(text));
  const log = programLog(options.logLevel);
  let machine: NodeHandle | undefined;
  try {
    writePrivateFilesOnly();
    // The agent creates the folder itself when it has something to store.
    if (existsSync(options.state)) checkPrivateFolder(options.state, '--state');
    machine = createNode(options, log);
    if (options.recoverInstances === true) await recoverInstances(machine.driver, log);
    const named = options.server ?? process.env['MUSTER_SERVER'] ?? DEFAULT_SERVER;
    const servers = parseServers(named, { insecure: options.insecure === true, program: 'agent' });
    const running = startAgent({
      servers,
      pins: parsePins(options.serverFingerprint ?? [], servers),
      insecure: options.insecure === true,
      name: options.host,
      joinToken: () => readJoinToken(options.joinTokenFile),
      folder: options.state,
      driver: machine.driver,
      ...parseServiceVersion(options),
      clock: realClock,
      ids: realIds(),
      random: Math.random,
      log,
      ca: options.ca === undefined ? undefined : await readFile(options.ca, 'utf8'),
    });
    await runUntilStopped({ ended: running.ended, stop: () => running.stop() }, stop);
    return 0;
  } catch (error) {
    if (error instanceof StartFailure) writeSentence(process.stderr, `${error.message}\n`);
    else log.fatal({ err: error }, 'the agent cannot go on');
    return 1;
  } finally {
    await machine?.close();
  }
}

/** Read whenever it is needed: the file may have been replaced by a valid one. */
async function readJoinToken(file: string | undefined): Promise<string | undefined> {
  if (file === undefined) return process.env['MUSTER_JOIN_TOKEN'];
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

interface NodeHandle {
  readonly driver: NodeDriver;
  close(): Promise<void>;
}

/** Its instances are simulated or namespaces; its switch is real where one is named. */
export function createNode(
  options: AgentProgramOptions,
  log: Log,
  modules: readonly NodeModule[] = NODE_MODULES,
): NodeHandle {
  const { simulate, state, host = resolve(state), ovs } = options;
  const disk = new FileDisk<FileName>(state, 'agent');
  const machine = { clock: realClock, durations: DEMO_TASK_DURATIONS, disk, modules };
  if (ovs !== undefined && simulate === true) {
    throw new StartFailure('Give --ovs or --simulate, not both: the switch is either real or simulated.');
  }
  if (ovs !== undefined) return createOvsNode({ ...options, database: ovs }, { ...machine, log });
  if (simulate !== true) {
    throw new StartFailure('Name the switch that this agent drives with --ovs <address>, or run it with --simulate.');
  }
  const keep = { read: () => disk.read('switch'), write: (text: string) => disk.write('switch', text) };
  const simulated = new SimulatedSwitch({ host, clock: realClock, keep });
  return { driver: new SimulatedNodeDriver({ ...machine, switch: simulated }), close: () => Promise.resolve() };
}

async function recoverInstances({ runtime }: NodeDriver, log: Log): Promise<void> {
  await runtime.recover();
  const instances = runtime.instances.map(({ id }) => id);
  log.warn({ instances }, 'what is really there is the record of instances from now on');
}

/** An agent that claims a higher version than it supports would get tasks that it does not know. */
function parseServiceVersion({ serviceVersion }: AgentProgramOptions): { readonly serviceVersion?: number } {
  if (serviceVersion === undefined) return {};
  if (serviceVersion > CURRENT_SERVICE_VERSION) {
    throw new StartFailure(
      `This agent supports service versions up to ${CURRENT_SERVICE_VERSION}, not ${serviceVersion}.`,
    );
  }
  return { serviceVersion };
}
