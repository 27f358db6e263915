// The end of a scale-in, judged host by host: evidence that nothing lives there and that nobody is connected, in the commit that
// takes the host past the point of no return.
import { revokedToken, tokensOfHost } from '../access/index.ts';
import { put, type FleetReader, type Reason } from '../fleet/index.ts';
import type { NewItem } from '../operations/index.ts';
import type { StoredHost } from './decide.ts';
import type { Evacuator } from './evacuator.ts';
import { HOST, type Host } from './model.ts';
import { givenUp, isToBeFinalized } from './re-admit.ts';
import type { EndScaleIn, Verdict } from './scale-in.ts';
import { blockersOf, isConnected, stillConnected } from './scale-in-evidence.ts';
import { SCALE_IN_TABLE } from './scale-in-table.ts';
import { closedWork, DRAIN_KIND, END_KIND, finalizing, openWork } from './scale-in-work.ts';

/** What brings hosts in. */
const JOIN_KINDS = ['host-join', 'scale-out'];

interface Judging {
  readonly host: StoredHost;
  readonly command: EndScaleIn;
}

export function judged(fleet: FleetReader, evacuators: readonly Evacuator[], judging: Judging): Verdict {
  const { host, command } = judging;
  const { act } = SCALE_IN_TABLE[host.doc.state].end;
  if (act === 'forget') return joinCancelled(fleet, judging);
  const [under] = openWork(fleet, host.id, END_KIND);
  // Its operation has failed, by a deadline or a fault of ours: what is left of it is done by a new one.
  if (host.doc.state === 'finalizing' && under === undefined) return { result: 'accepted', item: finalizing(host.id) };
  if (act === 'unchanged' || under !== undefined) return underWay(judging, under?.doc.operation);
  const blockers = command.force === undefined ? blockersOf(fleet, evacuators, { host, nowMs: command.nowMs }) : [];
  const isOpen = isConnected(host.doc);
  const told = isOpen && !command.disconnect && command.force === undefined ? [stillConnected(host)] : [];
  const all = [...blockers, ...told];
  return all.length > 0 ? blocked(all) : ended(fleet, judging, isOpen);
}

function blocked(blockers: readonly Reason[]): Verdict {
  const [reason] = blockers;
  return { result: 'blocked', blockers, ...(reason !== undefined && { reason }) };
}

/** Somebody may ask for force while it is told to leave: from then on it goes whatever lives there. */
function underWay({ host, command }: Judging, operation: string | undefined): Verdict {
  const { doc } = host;
  const same = operation === undefined ? {} : { operation };
  if (command.force === undefined || doc.leaving === undefined || doc.leaving.forced !== undefined)
    return { result: 'unchanged', ...same };
  return { result: 'accepted', ...same, changes: [put(HOST, host.id, withForce(host.doc, command))] };
}

/** A connected host is told to leave before anything else; the evidence is looked at again when it has. */
function ended(fleet: FleetReader, { host, command }: Judging, isOpen: boolean): Verdict {
  const { id } = host;
  const { by, nowMs } = command;
  const doc = withForce(host.doc, command);
  const drains = closedWork(fleet, id, nowMs, [DRAIN_KIND]);
  if (isOpen) {
    const item: NewItem = { key: id, target: { kind: HOST.name, id }, host: id, step: 'disconnect', state: 'running' };
    return { result: 'accepted', item, changes: [put(HOST, id, doc), ...drains] };
  }
  const going: Host = { ...doc, state: 'finalizing', changedBy: by, changedAtMs: nowMs };
  return { result: 'accepted', item: finalizing(id), changes: [put(HOST, id, going), ...drains] };
}

function withForce(doc: Host, { force, operation, by, nowMs }: EndScaleIn): Host {
  if (force === undefined) return doc;
  const forced = { reason: force.reason, by, atMs: nowMs };
  const leaving = doc.leaving ?? { operation, drain: false, by, atMs: nowMs };
  return { ...doc, leaving: { ...leaving, forced }, changedBy: by, changedAtMs: nowMs };
}

/** It never was in service: its join is cancelled. Peers that may have tunnels to it are told as of any other. */
function joinCancelled(fleet: FleetReader, { host, command }: Judging): Verdict {
  const { operation, by, nowMs } = command;
  const tokens = tokensOfHost(fleet, host.id).map((token) => revokedToken(token, by, nowMs));
  const closed = closedWork(fleet, host.id, nowMs, JOIN_KINDS);
  const changes = [givenUp(host, operation, { by, nowMs }), ...tokens, ...closed];
  return { result: 'accepted', changes, ...(isToBeFinalized(host.doc) && { item: finalizing(host.id) }) };
}
