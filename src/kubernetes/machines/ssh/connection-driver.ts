// A connection to a machine by SSH. Nothing is proved to a machine before it has proved itself by a key that is taken. The client is loaded when the first is opened.
import { createHash } from 'node:crypto';
import { connect as connectTcp } from 'node:net';
import type { AnyAuthMethod, AuthHandlerMiddleware, Client, ConnectConfig, KeyboardInteractiveAuthMethod } from 'ssh2';
import type { SecretMask } from '../../../access/index.ts';
import type { Unreached } from '../reach.ts';
import type { SshCredentials } from './credentials.ts';
import {
  findHostKeys,
  isSameKey,
  orderHostKeyAlgorithms,
  parseHostKeyLine,
  readHostKey,
  type HostKey,
} from './known-hosts.ts';
import type { SshAddress, SshMachine } from './machine.ts';
import { escapeControls } from './output-tail.ts';

/** From the first packet until Muster is let in. A machine that boots is tried again. */
const CONNECT_MAX_MS = 20_000;
/** A peer that is gone without a word is noticed after three of them. */
const KEEPALIVE_MS = 10_000;
const KEEPALIVES_MISSED_MAX = 3;

const CLOSE_MAX_MS = 2000;

/** Of what a peer says in an error. */
const TEXT_MAX = 300;

export interface ConnectLimits {
  readonly connectMs?: number;
}

export interface SshConnection {
  readonly client: Client;
  /** Why it ended, as soon as it did. */
  readonly ended: Promise<string>;
  close(): void;
}

interface Seen {
  key?: HostKey;
  isRefused: boolean;
}

/** Logs in. */
export async function openConnection(
  machine: SshMachine,
  signal: AbortSignal,
  limits: ConnectLimits = {},
): Promise<SshConnection | Unreached> {
  const { address, credentials, mask } = machine;
  const seen: Seen = { isRefused: false };
  const config = { ...configOf(address, seen, limits), ...proofOf(address, credentials) };
  return connect(config, { signal, mask, address, seen });
}

/** Looks what the machine proves itself by, and proves nothing to it. */
export async function readMachineKey(
  { address, mask }: SshMachine,
  signal: AbortSignal,
  limits: ConnectLimits = {},
): Promise<HostKey | Unreached> {
  const seen: Seen = { isRefused: false };
  const shown = new AbortController();
  // Called when both sides have the same keys: what the machine showed is its own then.
  const authHandler = (): void => shown.abort();
  const opened = connect(
    { ...configOf(address, seen, limits), authHandler },
    {
      ...{ mask, address, seen },
      signal: AbortSignal.any([signal, shown.signal]),
    },
  );
  try {
    const answer = await opened;
    if ('kind' in answer) return answer;
    answer.close();
  } catch (error) {
    signal.throwIfAborted();
    if (!shown.signal.aborted) throw error;
  }
  return seen.key ?? { kind: 'unreachable', text: 'it showed no host key' };
}

function configOf(address: SshAddress, seen: Seen, { connectMs = CONNECT_MAX_MS }: ConnectLimits): ConnectConfig {
  const { user } = address;
  const known = keysTaken(address);
  const verify = (bytes: Buffer): boolean => {
    const key = readHostKey(bytes);
    if (key !== undefined) seen.key = key;
    seen.isRefused = key === undefined || (known !== undefined && !known.some((one) => isSameKey(one, key)));
    return !seen.isRefused;
  };
  return {
    ...{ username: user, readyTimeout: connectMs },
    ...{ keepaliveInterval: KEEPALIVE_MS, keepaliveCountMax: KEEPALIVES_MISSED_MAX },
    hostVerifier: verify,
    algorithms: { serverHostKey: orderHostKeyAlgorithms(known ?? []) as never },
  };
}

/** Undefined when any is taken. */
function keysTaken({ trust, host, port }: SshAddress): HostKey[] | undefined {
  switch (trust.kind) {
    case 'any':
      return undefined;
    case 'pinned':
      return findHostKeys(trust.knownHosts, host, port);
    case 'remembered': {
      const key = parseHostKeyLine(trust.key);
      return key === undefined ? [] : [key];
    }
  }
}

function proofOf({ user: username }: SshAddress, credentials: SshCredentials): ConnectConfig {
  const methods = methodsOf(username, credentials);
  const authHandler: AuthHandlerMiddleware = (_left, _partial, next) => next(methods.shift() ?? (false as never));
  if (credentials.kind === 'password') return { authHandler };
  const { key: privateKey, passphrase } = credentials;
  // Given here as well: one that cannot be read is said at once.
  return { privateKey, ...(passphrase !== undefined && { passphrase }), authHandler };
}

function methodsOf(username: string, credentials: SshCredentials): AnyAuthMethod[] {
  if (credentials.kind === 'key') {
    const { key, passphrase } = credentials;
    return [{ type: 'publickey', username, key, ...(passphrase !== undefined && { passphrase }) }];
  }
  const { password } = credentials;
  // PAM prompts for it; a prompt with echo is for something else.
  const prompt = (...[, , , prompts, finish]: Parameters<KeyboardInteractiveAuthMethod['prompt']>): void =>
    finish(prompts.map(({ echo }) => (echo === true ? '' : password)));
  return [
    { type: 'password', username, password },
    { type: 'keyboard-interactive', username, prompt },
  ];
}

interface Connecting {
  readonly signal: AbortSignal;
  readonly mask: SecretMask;
  readonly address: SshAddress;
  readonly seen: Seen;
}

async function connect(config: ConnectConfig, how: Connecting): Promise<SshConnection | Unreached> {
  const { signal, mask, address } = how;
  signal.throwIfAborted();
  const { Client: SshClient } = await loadClient();
  signal.throwIfAborted();
  const client = new SshClient();
  const { host, port } = address;
  const socket = connectTcp({ host, port });
  const close = (): void => {
    client.end();
    // A peer that does not end its side holds nothing open.
    socket.setTimeout(CLOSE_MAX_MS, () => socket.destroy());
    socket.destroySoon();
  };
  const ended = new Promise<string>((resolve) => {
    client.on('close', () => resolve('the connection was lost'));
    // Also for what comes after the end: an error without a listener would end the process.
    client.on('error', (error) => resolve(describeError(error, mask)));
  });
  const ready = new Promise<'ready'>((resolve) => {
    client.on('ready', () => resolve('ready'));
  });
  const refused = new Promise<Error>((resolve) => {
    client.on('error', resolve);
  });
  const aborted = new Promise<'aborted'>((resolve) => {
    signal.addEventListener('abort', () => resolve('aborted'), { once: true });
  });
  const closed = ended.then((text) => new Error(text));
  try {
    client.connect({ ...config, sock: socket });
  } catch (error) {
    // A private key that cannot be read, mostly.
    socket.destroy();
    return { kind: 'login-refused', text: describeError(error, mask) };
  }
  const outcome = await Promise.race([ready, refused, aborted, closed]);
  if (outcome === 'ready') return { client, ended, close };
  close();
  if (outcome === 'aborted') signal.throwIfAborted();
  return explainRefusal(outcome as Error, how);
}

async function loadClient(): Promise<{ readonly Client: new () => Client }> {
  const { default: ssh2 } = await import('ssh2');
  return ssh2;
}

function explainRefusal(error: Error & { readonly level?: string }, { mask, address, seen }: Connecting): Unreached {
  if (seen.isRefused && seen.key !== undefined) {
    const expected = (keysTaken(address) ?? []).map(fingerprintOf).join(' or ');
    const none = `one of the pinned keys, of which none is of ${address.host}`;
    return { kind: 'wrong-host-key', expected: expected === '' ? none : expected, found: fingerprintOf(seen.key) };
  }
  const isLogin = error.level === 'client-authentication';
  return { kind: isLogin ? 'login-refused' : 'unreachable', text: describeError(error, mask) };
}

/** As `ssh-keygen -l` shows it. */
export function fingerprintOf({ blob }: HostKey): string {
  const digest = createHash('sha256').update(Buffer.from(blob, 'base64')).digest('base64');
  return `SHA256:${digest.replace(/=+$/, '')}`;
}

/** Part of it may be what the peer said. */
export function describeError(error: unknown, mask: SecretMask): string {
  const text = error instanceof Error && error.message !== '' ? error.message : String(error);
  return escapeControls(mask.mask(text)).slice(0, TEXT_MAX);
}
