// Pending clean-ups: peers that could not be notified of a host's removal may still have flows and tunnels to it. Each is a document until the
// peer reports again and has converged, or is removed itself. A host that was removed itself and joins again is its own peer: it was not
// notified of the hosts that were removed meanwhile.
import { Type, type Static } from 'typebox';
import {
  idOf,
  mark,
  put,
  remove,
  schemaKind,
  type Change,
  type FleetReader,
  type Id,
  type Index,
  type Stored,
} from '../../fleet/index.ts';
import {
  decideLater,
  newOperation,
  OPEN_ITEMS_BY_TARGET,
  record,
  targetKey,
  wait,
  type ActionOutcome,
  type PlannedStep,
  type OperationId,
  type OperationKind,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { findHost, type StoredHost } from '../find-host.ts';
import { HOST } from '../model.ts';
import { transportZoneOf } from '../transport-zone.ts';
import { cleanupBlocker, retryConvergence, awaitCleanUp } from '../convergence.ts';

const PENDING_SCHEMA = Type.Object(
  {
    /** The host that may still have flows and tunnels to the removed one. */
    peer: Type.String(),
    host: Type.String(),
    sinceMs: Type.Integer(),
  },
  { additionalProperties: false },
);
export type PendingCleanUp = Static<typeof PENDING_SCHEMA>;
export const PENDING_CLEAN_UP = schemaKind('pending-clean-up', PENDING_SCHEMA);

/** By the removed host. */
export const PENDING_BY_HOST: Index<'pending-clean-up', PendingCleanUp> = {
  name: 'pending-clean-ups-by-host',
  kind: PENDING_CLEAN_UP,
  keysOf: (doc) => [doc.host],
};

export const PENDING_BY_PEER: Index<'pending-clean-up', PendingCleanUp> = {
  name: 'pending-clean-ups-by-peer',
  kind: PENDING_CLEAN_UP,
  keysOf: (doc) => [doc.peer],
};

/** Host names may contain dots; none contains this character. */
export function pendingId(peer: string, host: string): Id<'pending-clean-up'> {
  return idOf(PENDING_CLEAN_UP, `${peer}@${host}`);
}

/** The zones of the peers that may still have flows and tunnels to a host. */
export function zonesOfUncleanPeers(fleet: FleetReader, host: string): string[] {
  return [...fleet.find(PENDING_BY_HOST, host)].flatMap(({ doc: { peer } }) => {
    const stored = findHost(fleet, peer)?.doc;
    return stored === undefined ? [] : [transportZoneOf(stored), ...(stored.leftZones ?? [])];
  });
}

/** A peer may be away for years: until it is back or removed, the record is kept. */
const CLEAN_UP_DEADLINE_MS = 100 * 365 * 24 * 3600 * 1000;

/** Records the clean-up of these peers, and starts to wait for them. `key` distinguishes it from others. */
export function recordPendingCleanUps(
  peers: readonly string[],
  host: string,
  at: { key: string; nowMs: number },
): Change[] {
  if (peers.length === 0) return [];
  const docs = peers.map((peer) => ({ id: pendingId(peer, host), doc: { peer, host, sinceMs: at.nowMs } }));
  return [
    ...docs.map(({ id, doc }) => put(PENDING_CLEAN_UP, id, doc)),
    ...newOperation({
      id: `clean-up-${at.key}` as OperationId,
      kind: peerCleanUpKind.name,
      title: `clean tunnels and flows of peers to host ${host}`,
      by: 'muster',
      nowMs: at.nowMs,
      deadlineMs: CLEAN_UP_DEADLINE_MS,
      items: docs.map(({ id, doc }) => ({
        key: doc.peer,
        target: { kind: PENDING_CLEAN_UP.name, id },
        host: doc.peer,
        step: 'await-peer',
      })),
    }),
  ];
}

/**
 * A host that was removed may never have wiped its switch, and hosts that it has tunnels to may have been removed after it. Until its agent
 * has brought its switch to its view, a clean-up of its own is pending.
 */
export function recordOwnCleanUp(host: StoredHost, at: { readonly key: string; readonly nowMs: number }): Change[] {
  if (host.doc.readmitted !== true) return [];
  mark('readmitted-host-to-be-cleaned');
  return recordPendingCleanUps([host.id], host.id, at);
}

export const peerCleanUpKind: OperationKind = {
  name: 'peer-clean-up',
  steps: ['await-peer', 'clean'],
  cancel: { kind: 'none', because: 'flows and tunnels to a removed host would stay unnoticed' },
  retry: { kind: 'does', what: 'the peers are waited for again' },

  plan: (fleet, items, nowMs) => items.flatMap((item) => planItem(fleet, item, nowMs)),
  observe: (item, outcome, { fleet, nowMs }) => observeConvergence(fleet, item, outcome, nowMs),
  itemsToWake: (fleet, { kind, before, after }) => {
    const id = (after ?? before)?.id;
    return kind === HOST.name && id !== undefined ? itemsOfPeer(fleet, id) : [];
  },
};

function* itemsOfPeer(fleet: FleetReader, peer: string): Iterable<StoredItem> {
  for (const { id } of fleet.find(PENDING_BY_PEER, peer)) yield* openItems(fleet, id);
}

function openItems(fleet: FleetReader, id: string): Iterable<StoredItem> {
  return fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(PENDING_CLEAN_UP.name, id));
}

function planItem(fleet: FleetReader, item: StoredItem, nowMs: number): readonly PlannedStep[] {
  const pending = pendingOf(fleet, item);
  if (pending === undefined) return [decideLater(item, (at) => endObsolete(at, item))];
  const { peer, host } = pending.doc;
  const doc = findHost(fleet, peer)?.doc;
  const because = doc && cleanupBlocker(doc);
  if (because !== undefined) return [wait(item, { code: because, peer, host })];
  if (nowMs < (item.doc.retryAtMs ?? 0)) return [];
  return [awaitCleanUp(item, { hosts: [peer], revision: pending.revision })];
}

/** Undefined when there is nothing to be cleaned any more. */
function pendingOf(fleet: FleetReader, item: StoredItem): Stored<'pending-clean-up', PendingCleanUp> | undefined {
  const pending = fleet.get(PENDING_CLEAN_UP, idOf(PENDING_CLEAN_UP, item.doc.target.id));
  return pending === undefined || isObsolete(fleet, pending.doc) ? undefined : pending;
}

/** Decided inside the commit: a host that was back may have been removed once more since, and the record is of that removal then. */
function endObsolete(fleet: FleetReader, item: StoredItem): readonly RecordStep[] {
  if (pendingOf(fleet, item) !== undefined) return [];
  mark('nothing-to-be-cleaned-any-more');
  return [finishCleanUp(fleet, item)];
}

/** The peer is removed itself, or the host is back and the tunnels are needed again. */
function isObsolete(fleet: FleetReader, { peer, host }: PendingCleanUp): boolean {
  const stored = findHost(fleet, peer)?.doc;
  if (stored === undefined || stored.state === 'removed') return true;
  const removed = findHost(fleet, host)?.doc.state;
  const isBack = removed !== undefined && removed !== 'removed' && removed !== 'finalizing';
  return isBack && peer !== host;
}

function finishCleanUp(fleet: FleetReader, item: StoredItem): RecordStep {
  const id = idOf(PENDING_CLEAN_UP, item.doc.target.id);
  const changes = fleet.get(PENDING_CLEAN_UP, id) === undefined ? [] : [remove(PENDING_CLEAN_UP, id)];
  return record(item, { state: 'done', step: 'clean', host: null }, { changes });
}

function observeConvergence(fleet: FleetReader, item: StoredItem, outcome: ActionOutcome, nowMs: number): RecordStep {
  if (outcome.kind !== 'failed') return finishCleanUp(fleet, item);
  return retryConvergence(item, outcome.reason, nowMs);
}
