// Text under the signatures of a control plane, and both ends of a signature. What such a text may say is up to those who exchange it.
import { Type, type Static } from 'typebox';
import { compileChecker } from '../fleet/index.ts';

/** The text exactly as it was signed, and one signature for each key in force. */
export const SIGNED_TEXT = Type.Object({
  text: Type.String({ maxLength: 20_000 }),
  signatures: Type.Array(Type.Object({ key: Type.String(), signature: Type.String() }), { maxItems: 8 }),
});
export type SignedText = Static<typeof SIGNED_TEXT>;

export const PUBLIC_KEY = Type.Object({
  id: Type.String(),
  publicKey: Type.String({ description: 'Ed25519, SPKI in DER form, as base64' }),
});
export type PublicKey = Static<typeof PUBLIC_KEY>;

const checkSigned = compileChecker(SIGNED_TEXT);
export const isSigned = (value: unknown): value is SignedText => checkSigned(value).length === 0;

/** The server's end: signs with every key in force. */
export interface Signer {
  readonly serial: number;
  readonly keys: readonly PublicKey[];
  sign(text: string): SignedText;
}

/** The caller's end: whether a signature over a text was made by the owner of a public key. */
export type Verify = (signature: {
  readonly publicKey: string;
  readonly text: string;
  readonly signature: string;
}) => boolean;
