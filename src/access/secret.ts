// Secrets that are no tokens: credentials of other systems. One is a `Secret` while it is used, and sealed where it is stored. It must never be shown, logged or
// quoted.
import { Type } from 'typebox';
import { SEALED_MARK, type Refusal } from '../fleet/index.ts';

/** A text that prints as nothing. Its users reveal it explicitly. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }
}

/** `sealed.<id of the key>.<nonce, ciphertext and tag>`. The id says which key opens it. */
const FORM = /^sealed\.([0-9a-f]{16})\.[A-Za-z0-9_-]{38,}$/;
/** Certificates and their keys, and half of the largest document: several of them do not fit into one. */
const SEALED_LENGTH_MAX = 32_768;

/** The schema of a field of a document that holds a sealed secret. */
export const SEALED = Type.String({
  pattern: FORM.source,
  maxLength: SEALED_LENGTH_MAX,
  'x-form': 'a sealed secret',
  [SEALED_MARK]: true,
});

/** The key that a sealed secret was sealed by. */
export function sealingKeyOf(sealed: string): string | undefined {
  return FORM.exec(sealed)?.[1];
}

/** The document that a secret is in: sealed for it, it does not open in another one. */
export interface SecretOwner {
  readonly kind: string;
  readonly id: string;
}

/**
 * Seals a secret for a document. The result is never the same twice, so it is made before the decision that stores it, as ids and times are: a decision that
 * runs again stores the same.
 */
export type Seal = (owner: SecretOwner, text: string) => { readonly sealed: string } | { readonly refusal: Refusal };
