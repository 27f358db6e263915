// Where the server may listen. Tokens in clear text do not leave the machine unless the operator allows it explicitly.
import { isLoopback } from '../link/index.ts';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Thrown before anything is opened; the message says what to do. */
export class InsecureListen extends Error {
  readonly code = 'insecure-listen';
  readonly retryable = false;

  constructor(host: string) {
    super(
      `refusing to listen on ${host} without TLS: tokens would cross the network in clear text. ` +
        'Give --tls-cert and --tls-key, listen on 127.0.0.1, or insist with --insecure.',
    );
    this.name = 'InsecureListen';
  }
}

export function checkListen(host: string, how: { readonly tls: boolean; readonly insecure: boolean }): void {
  if (!how.tls && !how.insecure && !isLoopback(host)) throw new InsecureListen(host);
}
