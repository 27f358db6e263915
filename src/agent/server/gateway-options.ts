// What the lease holder's end of the link is made with.
import type { Clock, Journal } from '../../journal/index.ts';
import type { Log } from '../../operations/index.ts';
import type { ViewSource } from './compose-view.ts';
import type { StatementIssuer } from './statement-issuer.ts';

export interface AgentGatewayOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  /** What views are made of. */
  readonly source: ViewSource;
  /** Told of every heartbeat. */
  readonly liveness: { recordHeartbeat(host: string, isUp: boolean): void };
  /** SHA-256 as hexadecimal text. */
  readonly hash: (text: string) => string;
  /** Where the lease holder answers, and in which epoch, as far as this server knows. */
  readonly holder: () => { readonly url: string; readonly epoch: number } | undefined;
  /** What this server signs with; one without keys signs nothing. */
  readonly statements?: StatementIssuer | undefined;
  readonly intervalMs?: number;
}
