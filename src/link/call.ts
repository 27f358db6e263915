// One call to a server of the control plane: whom it goes to, and what may come of it.
import type { SignedText } from './signed-text.ts';

/** Whom a call goes to, and as whom. */
export interface CallTarget {
  /** The server's address, as configured or as another server named it. */
  readonly server: string;
  /** The join token for `join`, else the caller's own credential. */
  readonly secret: string;
}

export type Reply<A> =
  | { readonly kind: 'answer'; readonly answer: A }
  /** The server does not hold the lease; who does, if it knows. */
  | { readonly kind: 'elsewhere'; readonly holder?: string; readonly statement?: SignedText | undefined }
  /** The server knows the caller or the request and refuses it: repeating it alone does not help. */
  | {
      readonly kind: 'refused';
      readonly code: string;
      readonly message: string;
      readonly statement?: SignedText | undefined;
    };

/** A certificate and its private key, both in PEM form. */
export interface KeyPair {
  readonly key: string;
  readonly certificate: string;
}

export class LinkDown extends Error {
  readonly code = 'link-down';
  readonly retryable = true;
  /** When to repeat the call, if the server said so: it is up, and overloaded. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: { readonly cause?: unknown; readonly retryAfterMs?: number | undefined } = {}) {
    super(message, { cause: options.cause });
    this.name = 'LinkDown';
    this.retryAfterMs = options.retryAfterMs;
  }
}
