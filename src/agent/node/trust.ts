// Whom an agent believes: the keys and the servers of its control plane, as it learnt them when it joined and since. Pure: it
// decides what counts, and never takes a key from a link that is neither authenticated nor signed by a key that it has.
import { Type, type Static } from 'typebox';
import { originOf, type SignedText, type Verify } from '../../link/index.ts';
import { verifyStatement, parseStatement, type ControlPlaneStatement } from '../protocol/statement.ts';

export const TRUST = Type.Object({
  journalId: Type.String(),
  serial: Type.Integer(),
  keys: Type.Array(Type.Object({ id: Type.String(), publicKey: Type.String() })),
  servers: Type.Array(Type.String()),
});
export type Trust = Static<typeof TRUST>;

/** How the words of a server reached the agent. */
export interface Provenance {
  /** The server was authenticated by its certificate. */
  readonly isAuthenticated: boolean;
  readonly verify: Verify;
}

/** What an agent believes after a join: it joined with a one-time token, so its trust begins with the answer. */
export function trustAtJoin(signed: SignedText | undefined): Trust | undefined {
  const said = signed === undefined ? undefined : parseStatement(signed.text);
  return said?.kind === 'control-plane' ? trustOf(said) : undefined;
}

/** What an agent believes from now on; the same object when it has learnt nothing. */
export function updateTrust(
  known: Trust | undefined,
  signed: SignedText | undefined,
  { isAuthenticated, verify }: Provenance,
): Trust | undefined {
  if (signed === undefined) return known;
  const isTrusted = verifyStatement(signed, { keys: known?.keys ?? [], verify }) !== undefined;
  if (!isTrusted && !isAuthenticated) return known;
  const said = parseStatement(signed.text);
  if (said?.kind !== 'control-plane') return known;
  if (known === undefined) return trustOf(said);
  if (!isNewer(said, known)) return known;
  const next = trustOf(said);
  return JSON.stringify(next) === JSON.stringify(known) ? known : next;
}

/**
 * A set of keys from before the last rotation is replayed; one of another journal is replayed or mistaken, unless that journal
 * continues the known one. It never does so the other way round: what was said before a backup was restored is over.
 */
function isNewer(said: ControlPlaneStatement, known: Trust): boolean {
  if (said.journalId === known.journalId) return said.serial >= known.serial;
  return said.succeeds?.includes(known.journalId) ?? false;
}

function trustOf({ journalId, serial, keys, servers }: ControlPlaneStatement): Trust {
  return {
    journalId,
    serial,
    keys: keys.map(({ id, publicKey }) => ({ id, publicKey })),
    servers: [...servers],
  };
}

/** Whether a server is one that the control plane has named. */
export function isNamedServer(trust: Trust | undefined, server: string): boolean {
  const origin = originOf(server);
  return trust?.servers.some((named) => originOf(named) === origin) ?? false;
}

export interface ReceivedRefusal extends Provenance {
  readonly host: string;
  /** The id of the agent's own credential. */
  readonly token: string;
  readonly code: string;
  readonly signed: SignedText | undefined;
}

/** Whether a refusal may make the agent wipe its machine or go quiet. */
export function isRefusalAuthentic(trust: Trust | undefined, refusal: ReceivedRefusal): boolean {
  if (refusal.isAuthenticated) return true;
  const said = verifyStatement(refusal.signed, { keys: trust?.keys ?? [], verify: refusal.verify });
  if (said?.kind !== 'refusal') return false;
  const { host, token, code } = refusal;
  return said.journalId === trust?.journalId && said.host === host && said.token === token && said.code === code;
}

export interface ReceivedView extends Provenance {
  readonly token: string;
  readonly signed: SignedText | undefined;
  readonly view: {
    readonly host: string;
    readonly digest: string;
    readonly stamp: { readonly journalId: string; readonly leaseEpoch: number; readonly revision: number };
  };
  /** Computed by the agent from what is in the view. */
  readonly digest: () => string;
}

/**
 * `unverifiable`: the agent has no key of its control plane, and the link is not authenticated. It obeys what its server says,
 * as older agents do, but no such view may take its host out of the fleet.
 */
export type ViewAuthenticity = 'authentic' | 'unverifiable' | 'not-authentic';

/** Whether a view is of the control plane. */
export function authenticateView(trust: Trust | undefined, received: ReceivedView): ViewAuthenticity {
  if (received.isAuthenticated) return 'authentic';
  if (trust === undefined) return 'unverifiable';
  return isViewSigned(trust, received) ? 'authentic' : 'not-authentic';
}

function isViewSigned(trust: Trust, received: ReceivedView): boolean {
  const said = verifyStatement(received.signed, { keys: trust.keys, verify: received.verify });
  if (said?.kind !== 'view') return false;
  const { host, stamp } = received.view;
  return (
    said.host === host &&
    said.token === received.token &&
    said.journalId === stamp.journalId &&
    said.leaseEpoch === stamp.leaseEpoch &&
    said.revision === stamp.revision &&
    said.digest === received.view.digest &&
    said.digest === received.digest()
  );
}

/** Whether a statement names this server as the lease holder, in this epoch or a later one. */
export function isHolderSigned(
  trust: Trust | undefined,
  named: { readonly holder: string; readonly signed: SignedText | undefined; readonly verify: Verify },
  leaseEpoch: number,
): boolean {
  const said = verifyStatement(named.signed, { keys: trust?.keys ?? [], verify: named.verify });
  return (
    said?.kind === 'holder' &&
    said.journalId === trust?.journalId &&
    said.url === named.holder &&
    said.leaseEpoch >= leaseEpoch
  );
}
