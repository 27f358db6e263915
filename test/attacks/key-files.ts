// Keys as a server uses them, without its files and its clock.
import { createPrivateKey } from 'node:crypto';
import { publicKeyOf, signText } from '../../src/agent/protocol/ed25519.ts';
import type { Signer } from '../../src/link/signed-text.ts';
import { keysInForce, type ControlPlaneKeys } from '../../src/main/key-file.ts';

export function signerOf({ serial, signing }: ControlPlaneKeys, nowMs: number): Signer {
  const keys = keysInForce(signing, nowMs).map(({ id, privateKey }) => ({
    id,
    privateKey: createPrivateKey(privateKey),
  }));
  return { serial, keys: keys.map(publicKeyOf), sign: (text) => signText(keys, text) };
}

export function authoritiesOf({ authorities }: ControlPlaneKeys, nowMs: number): ControlPlaneKeys['authorities'] {
  return keysInForce(authorities, nowMs);
}
