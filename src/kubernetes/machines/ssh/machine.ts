// A machine that is reached by SSH: where it is, which keys of it are taken, what Muster proves itself by there, and the script that is run.
import type { SecretMask } from '../../../access/index.ts';
import type { SshCredentials } from './credentials.ts';

/** Which keys of a machine are taken. */
export type HostKeyTrust =
  | { readonly kind: 'pinned'; readonly knownHosts: readonly string[] }
  | { readonly kind: 'remembered'; readonly key: string }
  | { readonly kind: 'any' };

export interface SshAddress {
  readonly kind: 'ssh';
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** The script is run by `sudo -n`. */
  readonly sudo?: true;
  readonly trust: HostKeyTrust;
}

export interface SshMachine {
  readonly address: SshAddress;
  readonly credentials: SshCredentials;
  /** The script that is run there. */
  readonly script: string;
  /** Takes secrets out of what the machine says. */
  readonly mask: SecretMask;
}
