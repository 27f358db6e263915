// Key commands for a server on this machine. They never output a private key.
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fingerprintsOf } from '../link/index.ts';
import { EXIT, CommandFailure, type KeysSummary } from '../cli/index.ts';
import {
  keysInForce,
  keyFileIn,
  readKeys,
  replaceLostKeys,
  rotateKeys,
  writeKeys,
  type ControlPlaneKeys,
} from './key-file.ts';
import { StartFailure } from './start-failure.ts';

export function showKeyFile(folder: string, tlsCert?: string): KeysSummary {
  const keys = toKeysShown(folder, requireKeys(folder), Date.now());
  return tlsCert === undefined ? keys : { ...keys, server: serverIn(tlsCert) };
}

function serverIn(file: string): NonNullable<KeysSummary['server']> {
  try {
    const certificate = new X509Certificate(readFileSync(file));
    const expires = new Date(certificate.validTo).toISOString();
    return { file, ...fingerprintsOf(certificate), expires };
  } catch (error) {
    // Missing files and files with other contents alike: the error names the file.
    throw new CommandFailure(EXIT.refused, `The certificate in ${file} cannot be read: ${(error as Error).message}`);
  }
}

export function rotateKeyFile(folder: string, overlapMs: number): KeysSummary {
  const nowMs = Date.now();
  const rotated = rotateKeys(requireKeys(folder), nowMs, overlapMs);
  writeKeys(folder, rotated);
  return toKeysShown(folder, rotated, nowMs);
}

/** Never over existing keys: agents trust those. */
export function createKeyFile(folder: string): KeysSummary {
  const nowMs = Date.now();
  if (existsSync(keyFileIn(folder)))
    throw new CommandFailure(
      EXIT.refused,
      `There are keys in ${keyFileIn(folder)}, and agents trust them. Change them with: muster keys rotate`,
    );
  const made = replaceLostKeys(nowMs);
  try {
    writeKeys(folder, made);
  } catch (error) {
    throw new CommandFailure(EXIT.refused, `The keys cannot be written to ${folder}: ${(error as Error).message}`);
  }
  return toKeysShown(folder, made, nowMs);
}

function requireKeys(folder: string): ControlPlaneKeys {
  let keys: ControlPlaneKeys | undefined;
  try {
    keys = readKeys(folder);
  } catch (error) {
    if (!(error instanceof StartFailure)) throw error;
    throw new CommandFailure(EXIT.refused, error.message);
  }
  if (keys !== undefined) return keys;
  throw new CommandFailure(
    EXIT.refused,
    `There are no keys in ${folder}. A server makes them when it starts; name its folder with --keys.`,
  );
}

function toKeysShown(folder: string, { serial, signing, authorities }: ControlPlaneKeys, nowMs: number): KeysSummary {
  type Key = ControlPlaneKeys['signing'][number];
  const row = (use: KeysSummary['keys'][number]['use']) => (key: Key) => ({
    id: key.id,
    use,
    since: new Date(key.createdAtMs).toISOString(),
    ...(key.retiresAtMs !== undefined && { until: new Date(key.retiresAtMs).toISOString() }),
  });
  return {
    file: keyFileIn(folder),
    serial,
    keys: [
      ...keysInForce(signing, nowMs).map(row('signing')),
      ...keysInForce(authorities, nowMs).map(row('agent certificates')),
    ],
  };
}
