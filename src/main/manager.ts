// muster manager: the program that acts on bare-metal machines, until it is stopped.
import { readFile } from 'node:fs/promises';
import { SecretMask } from '../access/index.ts';
import { IronicMachines, startManager } from '../baremetal/runtime.ts';
import { DEFAULT_SERVER } from '../cli/index.ts';
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
    const token = await readToken(options);
    const running = startManager({
      name: options.name,
      version,
      holder: realIds().next('manager'),
      servers,
      token: () => token,
      host: options.host,
      site: options.site,
      ca: ca === undefined ? undefined : await readFile(ca, 'utf8'),
      pins: parsePins(options.serverFingerprint ?? [], servers),
      insecure,
      clock: realClock,
      random: Math.random,
      log,
      machines: ironic === undefined ? [] : [new IronicMachines(ironic)],
    });
    if (ironic !== undefined) void announceIronic(ironic, log, stop);
    await runUntilStopped(running, stop);
    return 0;
  } catch (error) {
    if (error instanceof StartFailure) writeSentence(process.stderr, `${error.message}\n`);
    else log.fatal({ err: error }, 'the manager cannot go on');
    return 1;
  }
}

async function readToken({ token, tokenFile }: ManagerProgramOptions): Promise<string> {
  const found = token ?? (tokenFile === undefined ? process.env['MUSTER_TOKEN'] : await readTokenFile(tokenFile));
  if (found !== undefined && found.trim() !== '') return found.trim();
  throw new StartFailure(
    'A manager needs a token of its own. Make one with "muster token create <name> --role manager --manager <name>", and name the file that has it with --token-file.',
  );
}

async function readTokenFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    throw new StartFailure(`The token file ${path} does not exist or may not be read.`);
  }
}
