// A signer for tests and the simulation: its signatures are hashes, cheap and the same in every run. Whoever reads the public key can
// forge them; the real one is tested on its own.
import { generateKeyPairSync, hash } from 'node:crypto';
import { publicKeyOf, signText } from './ed25519.ts';
import type { Signer, Verify } from '../../link/index.ts';

function fakeSignature(publicKey: string, text: string): string {
  return hash('sha256', `${publicKey}\n${text}`, 'hex');
}

export function fakeSigner(ids: readonly string[] = ['key-1'], serial = 1): Signer {
  const keys = ids.map((id) => ({ id, publicKey: `public ${id}` }));
  const sign = (text: string) => ({
    text,
    signatures: keys.map(({ id, publicKey }) => ({ key: id, signature: fakeSignature(publicKey, text) })),
  });
  return { serial, keys, sign };
}

export const verifyFake: Verify = ({ publicKey, text, signature }) => signature === fakeSignature(publicKey, text);

/** A real one, for agents that verify as they do in production. */
export function ed25519Signer(id = 'key-1', serial = 1): Signer {
  const key = { id, privateKey: generateKeyPairSync('ed25519').privateKey };
  return { serial, keys: [publicKeyOf(key)], sign: (text) => signText([key], text) };
}
