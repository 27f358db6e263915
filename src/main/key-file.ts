// The keys of a control plane in one file: the signing keys of its servers, and the authority of its agents' certificates. One file, so
// that a rotation is one rename. It holds secrets: it is never written where others can read, and never copied into the journal.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { Type, type Static } from 'typebox';
import { newCertificateAuthority } from '../link/index.ts';
import { compileChecker } from '../fleet/index.ts';
import { StartFailure } from './start-failure.ts';

export const KEY_FILE = 'control-plane-keys.json';

const SIGNING_KEY = Type.Object({
  id: Type.String(),
  createdAtMs: Type.Integer(),
  /** PEM, PKCS #8. */
  privateKey: Type.String(),
  /** From then on it is not used any more; absent for the current one. */
  retiresAtMs: Type.Optional(Type.Integer()),
});

const AUTHORITY = Type.Object({ ...SIGNING_KEY.properties, certificate: Type.String() });

const KEYS = Type.Object({
  form: Type.Literal(1),
  /** Grows with every rotation. */
  serial: Type.Integer(),
  /** Made because the previous keys were lost. */
  replacesLost: Type.Optional(Type.Literal(true)),
  signing: Type.Array(SIGNING_KEY, { minItems: 1 }),
  authorities: Type.Array(AUTHORITY, { minItems: 1 }),
});
export type ControlPlaneKeys = Static<typeof KEYS>;

const check = compileChecker(KEYS);

export function keyFileIn(folder: string): string {
  return join(folder, KEY_FILE);
}

export function newKeys(nowMs: number): ControlPlaneKeys {
  return { form: 1, serial: 1, signing: [newSigningKey(nowMs)], authorities: [newAuthority(nowMs)] };
}

/** Replaces lost keys, whose serial is unknown: this serial is greater than one rotation per second would have made it. */
export function replaceLostKeys(nowMs: number): ControlPlaneKeys {
  return { ...newKeys(nowMs), serial: Math.floor(nowMs / 1000), replacesLost: true };
}

/** The keys after a rotation: new ones are current, the previous ones stay in force for the overlap, older ones are removed. */
export function rotateKeys(keys: ControlPlaneKeys, nowMs: number, overlapMs: number): ControlPlaneKeys {
  const retire = <K extends { readonly retiresAtMs?: number }>(all: readonly K[]): K[] =>
    all
      .filter(({ retiresAtMs }) => retiresAtMs === undefined || retiresAtMs > nowMs)
      .map((key) => ({ ...key, retiresAtMs: key.retiresAtMs ?? nowMs + overlapMs }));
  return {
    form: 1,
    serial: keys.serial + 1,
    ...(keys.replacesLost !== undefined && { replacesLost: keys.replacesLost }),
    signing: [newSigningKey(nowMs), ...retire(keys.signing)],
    authorities: [newAuthority(nowMs), ...retire(keys.authorities)],
  };
}

/** The keys in force, the current one first. */
export function keysInForce<K extends { readonly retiresAtMs?: number }>(keys: readonly K[], nowMs: number): K[] {
  return keys.filter(({ retiresAtMs }) => retiresAtMs === undefined || retiresAtMs > nowMs);
}

function newSigningKey(nowMs: number): ControlPlaneKeys['signing'][number] {
  const { privateKey } = generateKeyPairSync('ed25519');
  return {
    id: newId('sk'),
    createdAtMs: nowMs,
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

function newAuthority(nowMs: number): ControlPlaneKeys['authorities'][number] {
  const { certificate, pem } = newCertificateAuthority(nowMs);
  return { id: newId('ca'), createdAtMs: nowMs, privateKey: pem, certificate };
}

function newId(prefix: string): string {
  return `${prefix}-${randomBytes(8).toString('hex')}`;
}

/** Undefined when there is no such file. Throws `StartFailure` when it cannot be used as it is. */
export function readKeys(folder: string): ControlPlaneKeys | undefined {
  const path = keyFileIn(folder);
  let text: string;
  try {
    refuseLooseModes(folder, path);
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    if (error instanceof StartFailure) throw error;
    throw new StartFailure(`The keys in ${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  const keys = parseKeys(text);
  if (keys === undefined)
    throw new StartFailure(`${path} does not hold the keys of a control plane. Copy it again from another server.`);
  return keys;
}

function parseKeys(text: string): ControlPlaneKeys | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return check(value).length === 0 ? (value as ControlPlaneKeys) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const OTHERS = 0o077;

/** Whoever can read this file can act as the control plane. */
function refuseLooseModes(folder: string, path: string): void {
  const file = lstatSync(path);
  if (!file.isFile()) throw new StartFailure(`${path} is not a plain file. Put the keys there themselves, not a link.`);
  for (const [what, { mode }, wanted] of [
    [folder, statSync(folder), '700'],
    [path, file, '600'],
  ] as const) {
    if ((mode & OTHERS) !== 0)
      throw new StartFailure(
        `${what} is open to other users (mode ${(mode & 0o777).toString(8)}), and it holds keys. Close it with: chmod ${wanted} ${what}`,
      );
  }
}

/** Written beside and renamed: a reader finds either the old keys or the new ones, complete. */
export function writeKeys(folder: string, keys: ControlPlaneKeys): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = keyFileIn(folder);
  const beside = `${path}.${randomBytes(4).toString('hex')}`;
  const file = openSync(beside, 'wx', 0o600);
  try {
    writeSync(file, `${JSON.stringify(keys, null, 2)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(beside, path);
  refuseLooseModes(folder, path);
}
