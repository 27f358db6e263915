// The port to the machines of workers: how one is made a Node of a cluster, and made none again. What a machine or a script says of itself proves nothing: whoever
// calls looks at the cluster. Each call may be repeated, also after one that was cut off.
import type { ClusterCallOptions } from '../cluster-api/cluster-api.ts';

/** What a machine is given to join by. The token is secret. */
export interface JoinSettings {
  readonly cluster: string;
  readonly node: string;
  /** What its Node is to say of itself. */
  readonly providerId: string;
  /** `host:port` of the control plane; absent where nothing connects to it. */
  readonly endpoint?: string;
  /** Pins the authority of the cluster. */
  readonly caPin?: string;
  /** Of the cluster, as it says. */
  readonly version?: string;
}

export interface JoinCall extends JoinSettings {
  readonly token: string;
}

export type LeaveCall = Pick<JoinSettings, 'cluster' | 'node'>;

/** Of a script's output. */
export const LOG_BYTES_MAX = 16 * 1024;

/** The last of what a script wrote; secrets are masked. */
export interface ScriptOutput {
  readonly text: string;
  readonly isCut: boolean;
}

export type ReachAnswer =
  /** It ran to its end: 0 where it found no fault. */
  | { readonly kind: 'ended'; readonly exitCode: number; readonly output: ScriptOutput }
  /** It began and did not end by itself. */
  | { readonly kind: 'cut-off'; readonly text: string; readonly output: ScriptOutput }
  | Unreached;

/** Nothing was begun. */
export type Unreached =
  | { readonly kind: 'unreachable'; readonly text: string }
  | { readonly kind: 'login-refused'; readonly text: string }
  /** The machine proves itself by another key: both fingerprints. */
  | { readonly kind: 'wrong-host-key'; readonly expected: string; readonly found: string };

export type ContactAnswer =
  /** `key`: absent where the machine has none. */
  { readonly kind: 'contacted'; readonly key?: string; readonly fingerprint?: string } | Unreached;

export interface Reach {
  /** Looks whether the machine answers, and what it proves itself by. */
  contact(how: ClusterCallOptions): Promise<ContactAnswer>;
  join(call: JoinCall, how: ClusterCallOptions): Promise<ReachAnswer>;
  leave(call: LeaveCall, how: ClusterCallOptions): Promise<ReachAnswer>;
}
