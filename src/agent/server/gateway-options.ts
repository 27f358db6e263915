// The options of the lease holder's end of the link.
import type { Clock, Journal } from '../../journal/index.ts';
import type { Log } from '../../operations/index.ts';
import type { ViewSource } from './compose-view.ts';
import type { StatementIssuer } from './statement-issuer.ts';

export interface AgentGatewayOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly log: Log;
  /** What views are composed of. */
  readonly source: ViewSource;
  /** Called for every heartbeat. */
  readonly liveness: { recordHeartbeat(host: string, isUp: boolean): void };
  /** SHA-256 as hexadecimal text. */
  readonly hash: (text: string) => string;
  /** The address and the epoch of the lease holder, as far as this server knows. */
  readonly holder: () => { readonly url: string; readonly epoch: number } | undefined;
  /** What this server signs with; a server without keys signs nothing. */
  readonly statements?: StatementIssuer | undefined;
  readonly intervalMs?: number;
}
