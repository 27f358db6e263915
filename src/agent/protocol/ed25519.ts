// Ed25519 signatures of the control plane. Signs and verifies texts, and decides nothing about them.
import { createPublicKey, sign, verify, type KeyObject } from 'node:crypto';
import type { PublicKey, SignedText, Verify } from '../../link/index.ts';

/** The prefix of every text: a signature for another purpose is never valid here. */
const PURPOSE = 'muster statement 1\n';

export interface SigningKey {
  readonly id: string;
  readonly privateKey: KeyObject;
}

export function signText(keys: readonly SigningKey[], text: string): SignedText {
  const bytes = Buffer.from(PURPOSE + text, 'utf8');
  return {
    text,
    signatures: keys.map(({ id, privateKey }) => ({
      key: id,
      signature: sign(null, bytes, privateKey).toString('base64'),
    })),
  };
}

export function publicKeyOf({ id, privateKey }: SigningKey): PublicKey {
  const der = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  return { id, publicKey: der.toString('base64') };
}

/** An invalid key or signature verifies nothing. */
export const verifyEd25519: Verify = ({ publicKey, text, signature }) => {
  const key = readPublicKey(publicKey);
  if (key?.asymmetricKeyType !== 'ed25519') return false;
  return verify(null, Buffer.from(PURPOSE + text, 'utf8'), key, Buffer.from(signature, 'base64'));
};

function readPublicKey(text: string): KeyObject | undefined {
  try {
    return createPublicKey({ key: Buffer.from(text, 'base64'), type: 'spki', format: 'der' });
  } catch {
    // OpenSSL throws plain errors with its own texts for what is no key.
    return undefined;
  }
}
