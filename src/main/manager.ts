// muster manager: the program that acts on bare-metal machines, until it is stopped.
import { readFile } from 'node:fs/promises';
import { SecretMask } from '../access/index.ts';
import {
  IronicMachines,
  ManagerStateStore,
  startManager,
  type ManagerFile,
  type StartManagerOptions,
} from '../baremetal/runtime.ts';
import { DEFAULT_SERVER } from '../cli/index.ts';
import { DiskFailed } from '../link/index.ts';
import { FileDisk } from '../link/runtime.ts';
import type { Log } from '../operations/index.ts';
import { realClock } from './clock.ts';
import { parsePins, parseServers } from './dialled-servers.ts';
import { realIds } from './ids.ts';
import { announceIronic, openIronic, type IronicFlags } from './ironic.ts';
import { programLog, writeSentence } from './program-log.ts';
import { StartFailure } from './start-failure.ts';
import { listenForStop, runUntilStopped } from './stop-signal.ts';

/** The options of the command line. */
export interface ManagerProgramOptions extends IronicFlags {
  readonly name: string;
  /** One, or several separated by commas: they are tried in turn. */
  readonly server?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly state?: string;
  readonly joinTokenFile?: string;
  readonly host?: string;
  readonly site?: string;
  readonly ca?: string;
  readonly serverFingerprint?: readonly string[];
  readonly insecure?: boolean;
  readonly logLevel: string;
}

export async function runManager(options: ManagerProgramOptions, version: string): Promise<number> {
  const stop = listenForStop((text) => process.stderr.write(text));
  const mask = new SecretMask();
  const log = programLog(options.logLevel, mask);
  try {
    const { insecure = false, ca } = options;
    const ironic = openIronic(options, log, { mask });
    const text = options.server ?? process.env['MUSTER_SERVER'] ?? DEFAULT_SERVER;
    const servers = parseServers(text, { insecure, program: 'manager' });
    const running = startManager({
      name: options.name,
      version,
      holder: realIds().next('manager'),
      servers,
      ...(await identify(options, log)),
      host: options.host,
      site: options.site,
      ca: ca === undefined ? undefined : await readFile(ca, 'utf8'),
      pins: parsePins(options.serverFingerprint ?? [], servers),
      insecure,
      clock: realClock,
      ids: realIds(),
      random: Math.random,
      log,
      machines: ironic === undefined ? [] : [new IronicMachines(ironic)],
    });
    if (ironic !== undefined) void announceIronic(ironic, log, stop);
    await runUntilStopped(running, stop);
    return 0;
  } catch (error) {
    if (error instanceof StartFailure || error instanceof DiskFailed)
      writeSentence(process.stderr, `${error.message}\n`);
    else log.fatal({ err: error }, 'the manager cannot go on');
    return 1;
  }
}

type Identification = Partial<Pick<StartManagerOptions, 'token' | 'state' | 'joinToken'>>;

/** A token that is named here counts before the credential in the state folder, and that one before a token of the environment, which may be a person's. */
async function identify(options: ManagerProgramOptions, log: Log): Promise<Identification> {
  const { token: given, tokenFile, joinTokenFile } = options;
  const state =
    options.state === undefined
      ? undefined
      : new ManagerStateStore(new FileDisk<ManagerFile>(options.state, 'manager'), log);
  if (joinTokenFile !== undefined && state === undefined)
    throw new StartFailure('A manager that joins keeps its credential in a folder: name it with --state.');
  const named = given ?? (tokenFile === undefined ? undefined : await readTokenFile(tokenFile));
  const token = named ?? (state === undefined ? process.env['MUSTER_TOKEN'] : undefined);
  if (token !== undefined && token.trim() !== '') return { token: () => token.trim(), state };
  if (state === undefined) throw new StartFailure(NO_TOKEN);
  return { state, joinToken: () => readJoinToken(joinTokenFile) };
}

const NO_TOKEN =
  'A manager needs a credential of its own. Make a join token with "muster baremetal managers join-token <name>", and start it with MUSTER_JOIN_TOKEN or --join-token-file, and --state; or make a token with "muster token create <name> --role manager --manager <name>", and name the file that has it with --token-file.';

async function readTokenFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    throw new StartFailure(`The token file ${path} does not exist or may not be read.`);
  }
}

/** Read again whenever it is needed. A file that is gone is no join token: it is needed once. */
async function readJoinToken(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return process.env['MUSTER_JOIN_TOKEN']?.trim();
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new StartFailure(`The join token file ${path} may not be read.`);
  }
}
