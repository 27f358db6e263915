// Decides what an agent may do and what its reports mean: joining, its version, its results of tasks. Pure: secrets come as hashes, times
// as values.
import { idOf, mark, put, type FleetReader } from '../../fleet/index.ts';
import { consumeJoinToken, joinTokenOfOtherHost, TOKEN, type TokenId } from '../../access/index.ts';
import { endRemovedReports, findHost, HOST, recordOwnCleanUp } from '../../hosts/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { recordTaskAnswer, type TaskAnswer } from '../../operations/index.ts';
import { notInFleet, supersededCredential } from './admission.ts';
import type { ViewSource } from './compose-view.ts';
import type { JoinResponse } from '../protocol/messages.ts';

/** The author of an agent's changes in the history. */
export function agentName(host: string): string {
  return `agent/${host}`;
}

/** The id of the credential that is made from a join token: chosen by the server, so that no agent can name another's token. */
export function credentialId(joinToken: TokenId): TokenId {
  return idOf(TOKEN, `${joinToken}.agent`);
}

export interface JoinCommand {
  readonly joinToken: TokenId;
  /** The host that the join token is for. */
  readonly host: string;
  /** The host that the agent believes it is. */
  readonly claimed: string | undefined;
  readonly hash: string;
  readonly nowMs: number;
}

/** Uses the join token, creates the credential and binds the host to it, all in one commit or none of it. */
export function joinAgent(fleet: FleetReader, command: JoinCommand): Decision<JoinResponse> {
  const { joinToken, host: id, claimed, hash, nowMs } = command;
  const host = findHost(fleet, id);
  if (host === undefined || host.doc.state === 'removed') return refuse(notInFleet(id, host));
  if (claimed !== undefined && claimed !== id) return refuse(joinTokenOfOtherHost(id, claimed));
  const credential = { id: credentialId(joinToken), hash };
  const used = consumeJoinToken(fleet, { joinToken, subject: { kind: 'host', name: id }, credential, nowMs });
  if (used.kind === 'refuse') return used;
  const joined = { host: id, token: used.answer };
  if (used.changes.length > 0) {
    const bound = { ...host.doc, credential: used.answer, changedBy: agentName(id), changedAtMs: nowMs };
    const cleanUp = recordOwnCleanUp(host, { key: used.answer, nowMs });
    return accept([...used.changes, put(HOST, host.id, bound), ...endRemovedReports(fleet, id), ...cleanUp], joined);
  }
  if (host.doc.credential !== used.answer) return refuse(supersededCredential(id));
  mark('gateway-join-repeated');
  return accept([], joined);
}

export interface VersionReport {
  readonly host: string;
  readonly serviceVersion: number;
  readonly nowMs: number;
}

export function recordVersion(fleet: FleetReader, { host: id, serviceVersion, nowMs }: VersionReport): Decision<null> {
  const host = findHost(fleet, id);
  if (host === undefined || host.doc.state === 'removed' || host.doc.serviceVersion === serviceVersion)
    return accept([], null);
  const doc = { ...host.doc, serviceVersion, changedBy: agentName(id), changedAtMs: nowMs };
  return accept([put(HOST, host.id, doc)], null);
}

export interface HostTaskAnswer {
  readonly host: string;
  readonly answer: TaskAnswer;
  readonly nowMs: number;
}

/** Records the result for its item. A result that no item waits for from this host changes nothing. */
export function recordAnswer(
  fleet: FleetReader,
  kinds: ViewSource['kinds'],
  { host, answer, nowMs }: HostTaskAnswer,
): Decision<'recorded' | 'stale'> {
  return recordTaskAnswer(fleet, kinds, { answer, isAddressee: (item) => item.doc.host === host, nowMs });
}
