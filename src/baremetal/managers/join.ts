// Decides how a manager joins: a join token becomes the credential of one manager, once. Pure: secrets come as hashes, times as values.
import { consumeJoinToken, revokeTokenChange, TOKEN, tokensOfManager, type TokenId } from '../../access/index.ts';
import { idOf, type Change, type FleetReader } from '../../fleet/index.ts';
import { accept, type Decision } from '../../journal/index.ts';

/** Chosen by the server, so that no manager can name another's token. */
export function managerCredentialId(joinToken: TokenId): TokenId {
  return idOf(TOKEN, `${joinToken}.manager`);
}

interface ManagerJoin {
  readonly joinToken: TokenId;
  readonly manager: string;
  readonly hash: string;
  readonly nowMs: number;
}

/** It registers with its credential afterwards: joining says nothing of a lease. */
export function joinManager(
  fleet: FleetReader,
  { joinToken, manager, hash, nowMs }: ManagerJoin,
): Decision<{ readonly manager: string; readonly token: TokenId }> {
  const credential = { id: managerCredentialId(joinToken), hash };
  const used = consumeJoinToken(fleet, { joinToken, subject: { kind: 'manager', name: manager }, credential, nowMs });
  if (used.kind === 'refuse') return used;
  return accept(used.changes, { manager, token: used.answer });
}

/** With its credentials its certificates end, since none counts without one. A join token that was not used yet ends as well. */
export function revokeManagerTokens(
  fleet: FleetReader,
  { manager, by, nowMs }: { readonly manager: string; readonly by: string; readonly nowMs: number },
): Change[] {
  return tokensOfManager(fleet, manager).map((token) => revokeTokenChange(token, by, nowMs));
}
