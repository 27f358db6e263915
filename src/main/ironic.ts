// The Ironic that a program is started with: its address and its credentials, checked at the start, and what is said about it then. One that does not
// answer keeps nothing from starting.
import { statSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { SecretMask } from '../access/index.ts';
import { IronicClient, parseIronicCredentials, type IronicCredentials } from '../baremetal/runtime.ts';
import { transportTo } from '../link/index.ts';
import { StartFailure } from './start-failure.ts';

/** The options of the command line. */
export interface IronicFlags {
  readonly ironic?: string | undefined;
  readonly ironicCredentials?: string | undefined;
}

const EXAMPLE = 'http://10.0.0.2:6385';
/** A token that was replaced in the file is in use after this. */
const LOOK_AGAIN_MS = 2000;
const OPEN_TO_OTHERS = 0o044;

interface IronicParts {
  /** Learns what must not be in a log. */
  readonly mask?: SecretMask | undefined;
  readonly steadyMs?: () => number;
}

/** Undefined when the program is started without one. */
export function openIronic(
  { ironic, ironicCredentials: path }: IronicFlags,
  log: Logger,
  { mask, steadyMs = () => performance.now() }: IronicParts = {},
): IronicClient | undefined {
  if (ironic === undefined) {
    if (path !== undefined)
      throw new StartFailure('--ironic-credentials is for an Ironic: name its address with --ironic.');
    return undefined;
  }
  const url = parseAddress(ironic);
  const options = { url, steadyMs, sleep };
  if (path === undefined) return new IronicClient(options);
  const file = new CredentialsFile(path, { log, mask, steadyMs });
  if (transportTo(url) === 'http' && !file.current.allowsPlainHttp)
    throw new StartFailure(
      `The credentials of ${path} would cross the network to ${url} in clear text. Use https, or say "allowPlainHttp: true" in the file if that network is trusted.`,
    );
  return new IronicClient({ ...options, authorize: () => Promise.resolve(file.read()) });
}

function parseAddress(text: string): string {
  const url = URL.parse(text);
  // What is quoted is in the log: a password in the address must not be.
  if (url !== null && (url.username !== '' || url.password !== ''))
    throw new StartFailure(
      'The address after --ironic has a user or a password in it, which everybody on this machine can see. Put them into a file, and name it with --ironic-credentials.',
    );
  if (url === null || transportTo(text) === 'none')
    throw new StartFailure(`"${text}" is not the address of an Ironic, such as ${EXAMPLE}.`);
  if (url.search !== '' || url.hash !== '')
    throw new StartFailure(`"${text}" is not the address of an Ironic: leave out what follows "?" or "#".`);
  return text.replace(/\/+$/, '').replace(/\/v1$/, '');
}

interface CredentialsFileParts {
  readonly log: Logger;
  readonly mask: SecretMask | undefined;
  readonly steadyMs: () => number;
}

/** Read again when it has changed: tokens end. What cannot be read or used any more leaves what was there before in use. */
class CredentialsFile {
  readonly #path: string;
  readonly #log: Logger;
  readonly #mask: SecretMask | undefined;
  readonly #steadyMs: () => number;
  #current: IronicCredentials;
  #version: string;
  #lookedAtMs: number;

  constructor(path: string, { log, mask, steadyMs }: CredentialsFileParts) {
    this.#path = path;
    this.#mask = mask;
    this.#steadyMs = steadyMs;
    this.#log = log;
    const { credentials, version } = this.#load();
    if (typeof credentials === 'string') throw new StartFailure(credentials);
    [this.#current, this.#version, this.#lookedAtMs] = [credentials, version, steadyMs()];
    if ((statSync(path).mode & OPEN_TO_OTHERS) !== 0)
      log.warn({ path }, 'the credentials of Ironic may be read by others on this machine: chmod 600 the file');
  }

  get current(): IronicCredentials {
    return this.#current;
  }

  read(): Readonly<Record<string, string>> {
    const nowMs = this.#steadyMs();
    if (nowMs - this.#lookedAtMs >= LOOK_AGAIN_MS) {
      this.#lookedAtMs = nowMs;
      this.#reloadIfChanged();
    }
    return this.#current.headers();
  }

  #reloadIfChanged(): void {
    if (this.#versionNow() === this.#version) return;
    const { credentials, version } = this.#load();
    this.#version = version;
    if (typeof credentials === 'string') this.#log.warn(`${credentials} The credentials before it stay in use.`);
    else {
      this.#current = credentials;
      this.#log.info({ path: this.#path }, 'the credentials of Ironic were read again');
    }
  }

  #versionNow(): string {
    try {
      const { ino, mtimeMs, size } = statSync(this.#path);
      return `${ino} ${mtimeMs} ${size}`;
    } catch {
      return 'gone';
    }
  }

  /** The credentials, or what is wrong with them. */
  #load(): { readonly credentials: IronicCredentials | string; readonly version: string } {
    const version = this.#versionNow();
    let text: string;
    try {
      text = readFileSync(this.#path, 'utf8');
    } catch (error) {
      return {
        version,
        credentials: `--ironic-credentials ${this.#path} cannot be read: ${(error as Error).message}.`,
      };
    }
    const parsed = parseIronicCredentials(text);
    if ('problems' in parsed)
      return { version, credentials: `--ironic-credentials ${this.#path}: ${parsed.problems.join('; ')}.` };
    const { credentials } = parsed;
    this.#mask?.add(credentials.secret.reveal());
    return { version, credentials };
  }
}

/** Ends early when the signal is aborted: whoever sleeps looks at it. */
async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined);
}

/** Says once whether it answers, and what it can do. */
export async function announceIronic(
  client: IronicClient,
  log: Pick<Logger, 'info' | 'warn'>,
  signal: AbortSignal,
): Promise<void> {
  const { url } = client;
  try {
    const [major, minor] = await client.version(signal);
    const hasAllocations = await client.hasAllocations(signal);
    const facts = { ironic: url, version: `${major}.${minor}` };
    if (hasAllocations) log.info(facts, 'Ironic answers');
    else
      log.warn(
        facts,
        'Ironic answers, and is too old for allocations: claims are written on its nodes until it is upgraded',
      );
  } catch (error) {
    if (signal.aborted) return;
    log.warn({ ironic: url, why: (error as Error).message }, 'Ironic does not answer; retrying');
  }
}
