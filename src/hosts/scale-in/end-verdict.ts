// Decides the end of a scale-in host by host: evidence that nothing lives there and that it is not connected, in the commit that takes it
// past the point of no return. Without that evidence a host must never end, unless by force with a reason.
import { revokeTokenChange, tokensOfHost } from '../../access/index.ts';
import { put, type FleetReader, type Reason } from '../../fleet/index.ts';
import type { NewItem } from '../../operations/index.ts';
import type { StoredHost } from '../decide.ts';
import type { Evacuator } from '../evacuator.ts';
import { HOST, type Host } from '../model.ts';
import { abandonJoin, isToBeFinalized } from '../join/re-admit.ts';
import type { EndScaleIn, HostVerdict } from './decide.ts';
import { blockersOf, isConnected, stillConnectedReason } from './evidence.ts';
import { SCALE_IN_TABLE } from './verb-table.ts';
import { cancelOpenItems, DRAIN_KIND, END_KIND, finalizeItem, openWork } from './host-items.ts';

/** The operation that joins hosts. */
const JOIN_KINDS = ['host-join', 'scale-out'];

interface EndAssessment {
  readonly host: StoredHost;
  readonly command: EndScaleIn;
}

export function assessEnd(fleet: FleetReader, evacuators: readonly Evacuator[], assessing: EndAssessment): HostVerdict {
  const { host, command } = assessing;
  const { act } = SCALE_IN_TABLE[host.doc.state].end;
  if (act === 'forget') return cancelJoin(fleet, assessing);
  const [under] = openWork(fleet, host.id, END_KIND);
  // Its operation has failed, by a deadline or a fault of ours: a new one does what is left.
  if (host.doc.state === 'finalizing' && under === undefined)
    return { result: 'accepted', item: finalizeItem(host.id) };
  if (act === 'unchanged' || under !== undefined) return verdictWhileEnding(assessing, under?.doc.operation);
  const blockers = command.force === undefined ? blockersOf(fleet, evacuators, { host, nowMs: command.nowMs }) : [];
  const isOpen = isConnected(host.doc);
  const connected = isOpen && !command.disconnect && command.force === undefined ? [stillConnectedReason(host)] : [];
  const all = [...blockers, ...connected];
  return all.length > 0 ? composeBlockedVerdict(all) : beginEnd(fleet, assessing, isOpen);
}

function composeBlockedVerdict(blockers: readonly Reason[]): HostVerdict {
  const [reason] = blockers;
  return { result: 'blocked', blockers, ...(reason !== undefined && { reason }) };
}

/** Force may be requested while the host is ordered to leave: from then on it is removed whatever lives there. */
function verdictWhileEnding({ host, command }: EndAssessment, operation: string | undefined): HostVerdict {
  const { doc } = host;
  const same = operation === undefined ? {} : { operation };
  if (command.force === undefined || doc.leaving === undefined || doc.leaving.forced !== undefined)
    return { result: 'unchanged', ...same };
  return { result: 'accepted', ...same, changes: [put(HOST, host.id, applyForce(host.doc, command))] };
}

/** A connected host is ordered to leave before anything else; the evidence is evaluated again when it has. */
function beginEnd(fleet: FleetReader, { host, command }: EndAssessment, isOpen: boolean): HostVerdict {
  const { id } = host;
  const { by, nowMs } = command;
  const doc = applyForce(host.doc, command);
  const drains = cancelOpenItems(fleet, id, nowMs, [DRAIN_KIND]);
  if (isOpen) {
    const item: NewItem = { key: id, target: { kind: HOST.name, id }, host: id, step: 'disconnect', state: 'running' };
    return { result: 'accepted', item, changes: [put(HOST, id, doc), ...drains] };
  }
  const finalizing: Host = { ...doc, state: 'finalizing', changedBy: by, changedAtMs: nowMs };
  return { result: 'accepted', item: finalizeItem(id), changes: [put(HOST, id, finalizing), ...drains] };
}

function applyForce(doc: Host, { force, operation, by, nowMs }: EndScaleIn): Host {
  if (force === undefined) return doc;
  const forced = { reason: force.reason, by, atMs: nowMs };
  const leaving = doc.leaving ?? { operation, drain: false, by, atMs: nowMs };
  return { ...doc, leaving: { ...leaving, forced }, changedBy: by, changedAtMs: nowMs };
}

/** It never was active: its join is cancelled. Peers that may have tunnels to it are cleaned as for any other. */
function cancelJoin(fleet: FleetReader, { host, command }: EndAssessment): HostVerdict {
  const { operation, by, nowMs } = command;
  const tokens = tokensOfHost(fleet, host.id).map((token) => revokeTokenChange(token, by, nowMs));
  const closed = cancelOpenItems(fleet, host.id, nowMs, JOIN_KINDS);
  const changes = [abandonJoin(host, operation, { by, nowMs }), ...tokens, ...closed];
  return { result: 'accepted', changes, ...(isToBeFinalized(host.doc) && { item: finalizeItem(host.id) }) };
}
