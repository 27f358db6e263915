// The keys that seal the secrets in documents, in a file of each server: AES-256-GCM, bound to the document. Neither a key nor a secret is ever written to the
// journal, a backup or the log.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { Secret, sealingKeyOf, type SecretMask, type SecretOwner } from '../access/index.ts';
import type { Refusal } from '../fleet/index.ts';
import type { Journal } from '../journal/index.ts';
import {
  countByKey,
  damagedReason,
  missingKeyReason,
  refuseToSeal,
  sealedKinds,
  type Secrets,
  type Unsealed,
} from '../keys/index.ts';
import type { Log } from '../operations/index.ts';
import { StartFailure } from './start-failure.ts';

export const SECRET_KEY_FILE = 'secret.key';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const CIPHER = 'aes-256-gcm';
const OTHERS = 0o077;
/** Sealed, it still fits into its field. A certificate with its chain and key has a third of it. */
const TEXT_BYTES_MAX = 24_000;
/** More than any change of keys needs at a time. */
const KEYS_MAX = 16;

interface SecretKey {
  /** Of the key's digest: it says which key it is, and nothing about it. */
  readonly id: string;
  readonly bytes: Buffer;
}

/** Undefined when there is no such file. Throws `StartFailure` when it cannot be used as it is. */
export function readSecretKeys(path: string): readonly SecretKey[] | undefined {
  let text: string;
  try {
    refuseLooseMode(path);
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    if (error instanceof StartFailure) throw error;
    throw new StartFailure(`The key file ${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  const lines = text.split('\n').map((line) => line.trim());
  const keys = lines.flatMap((line, nth) =>
    line === '' || line.startsWith('#') ? [] : [parseKey(path, line, nth + 1)],
  );
  if (keys.length === 0 || keys.length > KEYS_MAX)
    throw new StartFailure(
      `${path} has ${keys.length === 0 ? 'no key' : `more than ${KEYS_MAX} keys`}. It is to have one key on each line, the current one first: 32 bytes in base64, as "openssl rand -base64 32" makes them.`,
    );
  return keys;
}

/** What is wrong with it must not quote it. */
function parseKey(path: string, line: string, nth: number): SecretKey {
  const bytes = Buffer.from(line, 'base64');
  if (!/^[A-Za-z0-9+/]{43}=$/.test(line) || bytes.length !== KEY_BYTES)
    throw new StartFailure(
      `Line ${nth} of ${path} is not a key: 32 bytes in base64, as "openssl rand -base64 32" makes them. Copy the file again.`,
    );
  return toKey(bytes);
}

function toKey(bytes: Buffer): SecretKey {
  return { id: createHash('sha256').update('muster secret key\n').update(bytes).digest('hex').slice(0, 16), bytes };
}

/** Of what a link leads to: secrets are often mounted as links. */
function refuseLooseMode(path: string): void {
  const { mode } = statSync(path);
  if ((mode & OTHERS) !== 0)
    throw new StartFailure(
      `${path} is open to other users (mode ${(mode & 0o777).toString(8)}), and it holds the key of all secrets. Close it with: chmod 600 ${path}`,
    );
}

/** Whole or not at all, and never over another one. */
function writeNewKey(path: string): SecretKey {
  const bytes = randomBytes(KEY_BYTES);
  const beside = `${path}.${randomBytes(4).toString('hex')}`;
  const file = openSync(beside, 'wx', 0o600);
  try {
    writeSync(
      file,
      `# Seals the secrets in documents of this fleet. No backup contains it: keep a copy elsewhere.\n${bytes.toString('base64')}\n`,
    );
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    linkSync(beside, path);
  } finally {
    rmSync(beside);
  }
  return toKey(bytes);
}

export interface SecretKeysOptions {
  /** The file; undefined for a server that has none and makes none. */
  readonly path: string | undefined;
  /** Whether a key is made when the first secret is to be sealed: where no other server has to have the same one. */
  readonly makesKey: boolean;
  /** The keys that sealed what is in the fleet. */
  readonly listUsedKeys: () => Iterable<string>;
  readonly mask: SecretMask;
  readonly log: Log;
}

export class SecretKeys implements Secrets {
  readonly #options: SecretKeysOptions;
  #keys: readonly SecretKey[];

  /** Throws `StartFailure` when the file has other keys than the fleet needs. */
  constructor(options: SecretKeysOptions) {
    this.#options = options;
    const found = options.path === undefined ? undefined : readSecretKeys(options.path);
    const missing = this.#listMissingKeys(found ?? []);
    if (found !== undefined && missing.length > 0) throw wrongKeys(options.path ?? '', found, missing);
    this.#keys = found ?? [];
    if (missing.length > 0)
      options.log.error(
        { keys: missing },
        'this server does not have the key that sealed the secrets of its fleet: what needs one is refused until it is given the key file',
      );
  }

  readonly keyIds = (): readonly string[] => this.#keys.map(({ id }) => id);

  /** Reads the file again. One that cannot be used leaves the keys before it in use. */
  reload(): void {
    const { path, log } = this.#options;
    if (path === undefined) return;
    try {
      const found = readSecretKeys(path);
      if (found === undefined) return;
      const missing = this.#listMissingKeys(found);
      if (missing.length > 0) throw wrongKeys(path, found, missing);
      this.#keys = found;
      log.info({ keys: this.keyIds() }, 'the keys of secrets were reloaded');
    } catch (error) {
      if (!(error instanceof StartFailure)) throw error;
      log.error({ reason: error.message }, 'the keys of secrets cannot be reloaded; the previous ones stay in use');
    }
  }

  readonly seal: Secrets['seal'] = (owner, text) => {
    if (Buffer.byteLength(text) > TEXT_BYTES_MAX) return { refusal: tooLong() };
    const missing = this.#listMissingKeys(this.#keys);
    if (missing.length > 0) return { refusal: refuseToSeal(missing) };
    const [key] = this.#keys.length > 0 ? this.#keys : this.#makeKey();
    if (key === undefined) return { refusal: refuseToSeal([]) };
    this.#options.mask.add(text);
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key.bytes, nonce).setAAD(associatedDataOf(owner));
    const body = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return { sealed: `sealed.${key.id}.${body.toString('base64url')}` };
  };

  readonly unseal = (owner: SecretOwner, sealed: string): Unsealed => {
    const id = sealingKeyOf(sealed);
    const key = this.#keys.find((one) => one.id === id);
    if (key === undefined) return { kind: 'failed', reason: missingKeyReason(sealed) };
    const text = open(key.bytes, owner, sealed);
    if (text === undefined) return { kind: 'failed', reason: damagedReason(owner) };
    this.#options.mask.add(text);
    return { kind: 'secret', secret: new Secret(text) };
  };

  #listMissingKeys(keys: readonly SecretKey[]): string[] {
    const known = new Set(keys.map(({ id }) => id));
    return [...this.#options.listUsedKeys()].filter((id) => !known.has(id)).sort();
  }

  #makeKey(): readonly SecretKey[] {
    const { path, makesKey, log } = this.#options;
    if (path === undefined || !makesKey) return [];
    this.#keys = readSecretKeys(path) ?? [writeNewKey(path)];
    log.info(
      { file: path, keys: this.keyIds() },
      'made the key that seals secrets: no backup contains it, keep a copy elsewhere',
    );
    return this.#keys;
  }
}

/** For a server on this journal. Throws `StartFailure` when its file cannot be used, or has other keys than the fleet needs. */
export function openSecretKeys(
  journal: Journal,
  { secretKey, store, dataFolder, mask, log }: OpenSecretKeys,
): SecretKeys {
  if (secretKey !== undefined && !existsSync(secretKey))
    throw new StartFailure(
      `There is no key file ${secretKey}. Copy it from another server; for a fleet that has no secrets yet, make one: (umask 077; openssl rand -base64 32 > ${secretKey})`,
    );
  const isAlone = store === 'sqlite';
  const path = secretKey ?? (isAlone ? join(dataFolder, SECRET_KEY_FILE) : undefined);
  const kinds = sealedKinds(journal.fleet.registry.kinds.values());
  const listUsedKeys = (): Iterable<string> => countByKey(journal.fleet, kinds).keys();
  return new SecretKeys({ path, makesKey: isAlone, listUsedKeys, mask, log });
}

interface OpenSecretKeys {
  readonly secretKey?: string;
  /** `sqlite`, or the URL of a database that several servers may share. */
  readonly store: string;
  readonly dataFolder: string;
  readonly mask: SecretMask;
  readonly log: Log;
}

function tooLong(): Refusal {
  const message = `A secret has at most ${TEXT_BYTES_MAX} bytes, and this one has more. Send one that is shorter.`;
  return { kind: 'invalid', code: 'secret-too-long', message };
}

function associatedDataOf({ kind, id }: SecretOwner): Buffer {
  return Buffer.from(JSON.stringify([kind, id]), 'utf8');
}

/** Undefined when it was changed, or sealed for another document. */
function open(key: Buffer, owner: SecretOwner, sealed: string): string | undefined {
  const body = Buffer.from(sealed.slice(sealed.lastIndexOf('.') + 1), 'base64url');
  const [nonce, text, tag] = [
    body.subarray(0, NONCE_BYTES),
    body.subarray(NONCE_BYTES, -TAG_BYTES),
    body.subarray(-TAG_BYTES),
  ];
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
    .setAAD(associatedDataOf(owner))
    .setAuthTag(tag);
  try {
    return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8');
  } catch {
    // Node has one error for all of it, without a code.
    return undefined;
  }
}

function wrongKeys(path: string, found: readonly SecretKey[], missing: readonly string[]): StartFailure {
  const has = found.map(({ id }) => id).join(', ');
  return new StartFailure(
    `The secrets of this fleet were sealed by key ${missing.join(' and ')}, and ${path} has ${has}. Copy the right file from another server, or from where you keep your keys; several keys may be in it, one on each line. Without any key file the server starts, and refuses what needs a secret.`,
  );
}
