// How a server proves to agents that it acts for its control plane: its keys, and what it signs with them.
import type { Logger } from 'pino';
import { StatementIssuer, type AgentGateway } from '../agent/runtime.ts';
import type { ServerOptions } from '../api/runtime.ts';
import type { Journal, Lease } from '../journal/index.ts';
import { findKeyIds, findPredecessors } from '../keys/index.ts';
import { realClock } from './clock.ts';
import { KeyRing } from './key-ring.ts';

export function openKeyRing(journal: Journal, folder: string, log: Logger): KeyRing {
  return new KeyRing({ folder, clock: realClock, log, recorded: findKeyIds(journal.fleet) });
}

interface StatementIssuerInputs {
  readonly journal: Journal;
  readonly keys: KeyRing;
  /** Agents authenticate this server by its certificate. */
  readonly isSecure: boolean;
  /** The address of this server, once it listens. */
  readonly ownUrl: () => string | undefined;
  readonly holder: () => Lease | undefined;
}

export function createStatementIssuer({
  journal,
  keys,
  isSecure,
  ownUrl,
  holder,
}: StatementIssuerInputs): StatementIssuer {
  // This server, and those that held the lease while it ran. Any other is added when it holds the lease.
  const servers = new Set<string>();
  return new StatementIssuer({
    journalId: () => journal.journalId,
    succeeds: () => findPredecessors(journal.fleet, journal.journalId),
    signer: () => keys.signer(),
    servers: () => {
      for (const url of [ownUrl(), holder()?.url]) if (url !== undefined) servers.add(url);
      return [...servers];
    },
    views: isSecure ? 'over-tls' : 'signed',
  });
}

/** What the API adds to answers that agents act on. */
export function createProofHooks(
  gateway: AgentGateway,
): Pick<ServerOptions, 'onRevokedCredential' | 'signHolder' | 'signRefusal'> {
  return {
    onRevokedCredential: (host, token) => gateway.refuseRevoked(host, token),
    signHolder: ({ url, epoch }) => gateway.statements.signHolder(url, epoch),
    signRefusal: (credential, code) => gateway.statements.signCredentialRefusal(credential, code),
  };
}
