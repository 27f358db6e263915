// The operation `handover`, make before break: the target is prepared while the old host serves, then the other hosts redirect to the target,
// the old host last, and only then does the old one release the service. For NAT, conntrack sync copies connections before the switch, and
// those that came meanwhile after it. The instructions to hosts are in their views: each step changes the service document, and waits until
// the hosts concerned have converged. A step must never begin on the assumption that a host has applied the one before.
import { idOf, mark, put, valueOf, type FleetReader, type Reason } from '../../fleet/index.ts';
import { findHost, HOST, isOutOfControl, type Host } from '../../hosts/index.ts';
import {
  decideLater,
  expectUnchanged,
  OPEN_ITEMS_BY_TARGET,
  record,
  retryWithBackoff,
  targetKey,
  wait,
  type ActionOutcome,
  type PlannedStep,
  type OperationKind,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { canTakePartInHandover } from '../health.ts';
import {
  isBeforeSwitch,
  SERVICE,
  SERVICES_TOUCHING_HOST,
  type Handover,
  type Service,
  type StoredService,
} from '../model.ts';
import { designate, clearHandover } from '../designation.ts';
import {
  canSyncConntrack,
  collectUnsyncedHosts,
  isWaitingForHosts,
  CONNTRACK_SYNC_TIMEOUT_MS,
  SERVICE_NOT_READY,
  unsyncedReason,
  readUnsyncedHosts,
  type UnsyncedHosts,
} from './conntrack-sync.ts';
import { clearReadinessAlarm, addReadinessAlarmToNext, addReadinessAlarm } from './readiness-alarm.ts';
import { ELECTION } from '../settings.ts';
import { HANDOVER_AUTHOR, retargetHandover } from './retarget.ts';
import { TARGET_TIMEOUT_MS, findActiveHandover, assessTarget, type ActiveHandover } from './target.ts';
import { handleBfdDownTarget, targetCheckFor, type TargetCheck } from './bfd-down-target.ts';
import { hostsWithPresence } from '../desired-services.ts';

const HANDOVER_BACKOFF = { firstMs: 500, longestMs: 8000 };
/** Whoever copies is waited for a few seconds in all. */
const COPY_BACKOFF = { firstMs: 500, longestMs: 1000 };
const NO_CANDIDATE = 'no-candidate';

export const handoverKind: OperationKind = {
  name: 'handover',
  steps: ['prepare', 'sync', 'switch', 'retire', 'resync', 'redirect', 'drain', 'clear'],
  cancel: {
    kind: 'does',
    what: 'Services that are still being prepared stay with their old host. Services that were switched stay with the new one.',
  },
  retry: {
    kind: 'none',
    because:
      'elections begin another handover by themselves as long as there is a cause; "muster services move" requests one',
  },
  plan: (fleet, items, nowMs) =>
    items.flatMap((item) =>
      planItem(fleet, item, nowMs).map((next) => addReadinessAlarmToNext(fleet, item, next, nowMs)),
    ),
  observe: (item, outcome, { fleet, nowMs }) =>
    addReadinessAlarm(fleet, item, observe(fleet, item, outcome, nowMs), nowMs),
  undo: cancelHandover,
  // A failed one has released the service; by then it may be in another handover.
  needsUndo: (fleet, item) =>
    findActiveHandover(fleet.get(SERVICE, idOf(SERVICE, item.doc.target.id)), item) !== undefined,
  onDeadline: cancelHandover,
  itemsToWake: (fleet, { kind, before, after }) => {
    const id = (after ?? before)?.id;
    if (kind !== HOST.name || id === undefined) return [];
    if (!isRelevantToHandover(before?.doc as Host | undefined, after?.doc as Host | undefined)) return [];
    return [...fleet.find(SERVICES_TOUCHING_HOST, id)].flatMap((service) => [
      ...fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(SERVICE.name, service.id)),
    ]);
  },
};

function isRelevantToHandover(before: Host | undefined, after: Host | undefined): boolean {
  return (
    before?.state !== after?.state ||
    before?.connection.state !== after?.connection.state ||
    isOutOfControl(before ?? {}) !== isOutOfControl(after ?? {}) ||
    (before?.forcedDown === undefined) !== (after?.forcedDown === undefined) ||
    (before?.quarantined === undefined) !== (after?.quarantined === undefined)
  );
}

function planItem(fleet: FleetReader, item: StoredItem, nowMs: number): PlannedStep[] {
  const service = fleet.get(SERVICE, idOf(SERVICE, item.doc.target.id));
  if (item.doc.step === 'clear') return [planClear(fleet, item, service, nowMs)].flat();
  const active = findActiveHandover(service, item);
  if (active === undefined) return [endSuperseded(item, service)];
  switch (active.handover.phase) {
    case 'preparing':
    case 'syncing':
      return planBeforeSwitch(fleet, item, active, nowMs);
    case 'switched':
      return awaitHostsConverged(item, {
        hosts: hostsToRepoint(fleet, active),
        revision: active.service.revision,
        nowMs,
      });
    case 'retiring':
    case 'resyncing':
    case 'draining':
      if (item.doc.step === 'drain') return planDrain(item, nowMs);
      if (item.doc.step === 'resync') return planConntrackSync(fleet, item, active, nowMs);
      return awaitHostsConverged(item, {
        hosts: findConnectedOldHost(fleet, active.handover),
        revision: active.service.revision,
        nowMs,
      });
  }
}

/** The service was removed, or elected again because its host was lost: nothing is left to do. */
function endSuperseded(item: StoredItem, service: StoredService | undefined): RecordStep {
  mark(service === undefined ? 'handover-service-gone' : 'handover-superseded');
  return record(item, {
    state: 'done',
    step: item.doc.step,
    reason: supersededReason(item.doc.target.id, service?.doc),
  });
}

function supersededReason(id: string, service: Service | undefined): Reason {
  if (service === undefined) return { code: 'service-gone', service: id };
  if (service.designated === undefined) return { code: 'service-withdrawn', service: id };
  return { code: 'elected-anew', service: id, host: service.designated.host };
}

function planBeforeSwitch(fleet: FleetReader, item: StoredItem, active: ActiveHandover, nowMs: number): PlannedStep[] {
  const {
    service,
    handover: { from, to, sinceMs, phase },
  } = active;
  const isTimedOut = nowMs - sinceMs > TARGET_TIMEOUT_MS && isWaitingForHosts(item);
  const target = assessTarget(fleet, active, { nowMs, isTimedOut });
  const held = target.kind === 'host-stays' ? undefined : holdReason(fleet, active);
  if (held !== undefined) return [wait(item, { code: held, service: service.id, host: from })];
  switch (target.kind) {
    case 'fit':
      if (phase === 'syncing') return planConntrackSync(fleet, item, active, nowMs);
      return awaitHostsConverged(item, {
        hosts: [to],
        revision: service.revision,
        nowMs,
        ...targetCheckFor(fleet, active),
      });
    case 'recovering':
      return [wait(item, { code: 'host-recovering', host: to, service: service.id })];
    case 'none':
      return [
        wait(
          item,
          { code: NO_CANDIDATE, service: service.id, host: to, because: target.because },
          sinceMs + TARGET_TIMEOUT_MS + 1,
        ),
      ];
    case 'another':
    case 'abandon':
    case 'host-stays':
      // Decided inside the commit, where no service is designated twice.
      return [decideLater(item, (newest, atMs) => retargetHandover(newest, item, { nowMs: atMs, isTimedOut }))];
  }
}

/** Why nothing is switched now. A host that cannot be ordered to stop would continue to serve beside the target. */
function holdReason(
  fleet: FleetReader,
  { handover: { from } }: ActiveHandover,
): 'elections-held' | 'held-out-of-control' | undefined {
  if (valueOf(fleet, ELECTION).held) return 'elections-held';
  return isOutOfControl(findHost(fleet, from)?.doc ?? {}) ? 'held-out-of-control' : undefined;
}

/** Both ends are waited for, but not for long: a cut connection is less than a service that does not move. */
function planConntrackSync(fleet: FleetReader, item: StoredItem, active: ActiveHandover, nowMs: number): PlannedStep[] {
  const {
    service,
    handover: { from, to, sinceMs },
  } = active;
  const isOver = nowMs - sinceMs > CONNTRACK_SYNC_TIMEOUT_MS && isWaitingForHosts(item);
  if (isOver || !canSyncConntrack(fleet, active)) {
    mark('handover-without-connections');
    return [decideLater(item, (newest, atMs) => [advanceHandover(newest, item, atMs, collectUnsyncedHosts(item))])];
  }
  const request = isBeforeSwitch(active.handover) ? targetCheckFor(fleet, active) : {};
  return awaitHostsConverged(item, { hosts: [from, to], revision: service.revision, nowMs, ...request });
}

/** All connected hosts that send to it, except the old host: that one comes last. */
function hostsToRepoint(fleet: FleetReader, { service, handover: { from, to } }: ActiveHandover): string[] {
  const hosts = new Set([...hostsWithPresence(fleet, service.doc), to]);
  hosts.delete(from);
  return [...hosts].filter((host) => canTakePartInHandover(fleet, host)).sort();
}

function findConnectedOldHost(fleet: FleetReader, { from }: Pick<Handover, 'from'>): string[] {
  return canTakePartInHandover(fleet, from) ? [from] : [];
}

function planDrain(item: StoredItem, nowMs: number): PlannedStep[] {
  if (nowMs < (item.doc.retryAtMs ?? 0)) return [];
  return [decideLater(item, (fleet, atMs) => [advanceHandover(fleet, item, atMs)])];
}

function planClear(
  fleet: FleetReader,
  item: StoredItem,
  service: StoredService | undefined,
  nowMs: number,
): PlannedStep[] {
  if (service === undefined) return [endSuperseded(item, service)];
  return awaitHostsConverged(item, {
    hosts: findConnectedOldHost(fleet, { from: item.doc.host ?? '' }),
    revision: service.revision,
    nowMs,
  });
}

interface HandoverConvergence extends Partial<TargetCheck> {
  readonly hosts: readonly string[];
  /** Hosts have converged when they have applied the views of this revision. */
  readonly revision: number;
  readonly nowMs: number;
}

function awaitHostsConverged(
  item: StoredItem,
  { hosts, revision, nowMs, ...request }: HandoverConvergence,
): PlannedStep[] {
  if (hosts.length === 0) return [decideLater(item, (fleet, atMs) => [advanceHandover(fleet, item, atMs)])];
  const { step, attempt, state, reason, retryAtMs = 0 } = item.doc;
  // A handover that waited for a candidate continues when there is one.
  if (state === 'waiting' && reason?.code !== NO_CANDIDATE && nowMs < retryAtMs) return [];
  // Only this service counts: problems of a host with others do not hold it up.
  const args = { hosts, revision, service: item.doc.target.id, ...request };
  const action = { driver: 'views', item: item.id, step, attempt, args };
  return [{ kind: 'act', item: item.id, expected: item.revision, action }];
}

function observe(fleet: FleetReader, item: StoredItem, outcome: ActionOutcome, nowMs: number): RecordStep {
  if (outcome.kind !== 'failed') return advanceHandover(fleet, item, nowMs);
  const instead = handleBfdDownTarget(fleet, item, outcome.reason, nowMs);
  if (instead !== undefined) return instead;
  const { step } = item.doc;
  const reason = { ...outcome.reason, ...servingHostFact(fleet, item, outcome.reason), ...readUnsyncedHosts(item) };
  const policy = step === 'sync' || step === 'resync' ? COPY_BACKOFF : HANDOVER_BACKOFF;
  return retryWithBackoff(item, reason, { nowMs, policy });
}

/** The serving host while hosts are not ready: after the switch that is the new host. */
function servingHostFact(fleet: FleetReader, item: StoredItem, { code }: Reason): Omit<Reason, 'code'> {
  const designated = fleet.get(SERVICE, idOf(SERVICE, item.doc.target.id))?.doc.designated;
  return code === SERVICE_NOT_READY && designated !== undefined ? { servedBy: designated.host } : {};
}

/** The hosts of a step have converged, or are not waited for any more: the next step, decided on the newest state. */
function advanceHandover(fleet: FleetReader, item: StoredItem, nowMs: number, unsynced?: UnsyncedHosts): RecordStep {
  const stored = fleet.get(SERVICE, idOf(SERVICE, item.doc.target.id));
  const { step } = item.doc;
  const uncopied = unsynced ?? readUnsyncedHosts(item);
  if (step === 'clear') return record(item, { state: 'done', step, ...unsyncedReason(item, uncopied) });
  const active = findActiveHandover(stored, item);
  if (active === undefined) return endSuperseded(item, stored);
  const onwards = { fleet, item, active, nowMs, uncopied };
  switch (step) {
    case 'prepare':
    case 'sync':
      return advanceTowardsSwitch(onwards);
    case 'switch':
      return advancePhase(onwards, { step: 'retire', phase: 'retiring' });
    case 'retire':
      return canSyncConntrack(fleet, active)
        ? advancePhase(onwards, { step: 'resync', phase: 'resyncing' })
        : redirectOldHost(onwards);
    case 'resync':
      return redirectOldHost(onwards);
    case 'redirect':
      return startDrain(onwards);
    default: {
      const doc = clearHandover(active.service.doc, { by: HANDOVER_AUTHOR, nowMs });
      const progress = { state: 'running', step: 'clear', ...unsyncedReason(item, uncopied) } as const;
      return record(item, progress, { changes: [put(SERVICE, active.service.id, doc)] });
    }
  }
}

interface HandoverStep {
  readonly fleet: FleetReader;
  readonly item: StoredItem;
  readonly active: ActiveHandover;
  readonly nowMs: number;
  readonly uncopied: UnsyncedHosts;
}

interface PhaseTarget {
  readonly step: string;
  readonly phase: Handover['phase'];
  /** The new service document, when more than its phase changes. */
  readonly doc?: Service;
}

function advancePhase({ item, active, nowMs, uncopied }: HandoverStep, { step, phase, doc }: PhaseTarget): RecordStep {
  const { service, handover: now } = active;
  const became: Service = { ...(doc ?? service.doc), handover: { ...now, phase, sinceMs: nowMs } };
  const progress = { state: 'running', step, ...unsyncedReason(item, uncopied) } as const;
  return record(item, progress, { changes: [put(SERVICE, service.id, became)] });
}

function advanceTowardsSwitch(onwards: HandoverStep): RecordStep {
  const { fleet, item, active, nowMs } = onwards;
  const { step, attempt } = item.doc;
  const isHeld = holdReason(fleet, active) !== undefined;
  const fit = !isHeld && assessTarget(fleet, active, { nowMs, isTimedOut: false }).kind === 'fit';
  if (!fit) return record(item, { state: 'running', step, attempt: attempt + 1 });
  if (step === 'prepare' && canSyncConntrack(fleet, active))
    return advancePhase(onwards, { step: 'sync', phase: 'syncing' });
  const { service, handover: now } = active;
  const doc = designate(fleet, service.doc, { host: now.to, why: now.why }, { by: HANDOVER_AUTHOR, nowMs });
  return advancePhase(onwards, { step: 'switch', phase: 'switched', doc });
}

/** The old host's NAT ends here. Copied or missing connections are requested from no host any more. */
function redirectOldHost(onwards: HandoverStep): RecordStep {
  const { type } = onwards.active.service.doc;
  return type === 'nat' ? advancePhase(onwards, { step: 'redirect', phase: 'draining' }) : startDrain(onwards);
}

function startDrain({ fleet, item, active, nowMs, uncopied }: HandoverStep): RecordStep {
  const { service, handover: now } = active;
  const retryAtMs = nowMs + valueOf(fleet, ELECTION).handoverDrainMs;
  const reason = { code: 'handover-drains', host: now.from, service: service.id, ...uncopied };
  return record(item, { state: 'waiting', step: 'drain', reason, retryAtMs });
}

/** The designated host keeps it alone. */
function cancelHandover(fleet: FleetReader, item: StoredItem, nowMs: number): Pick<RecordStep, 'changes' | 'expects'> {
  const active = findActiveHandover(fleet.get(SERVICE, idOf(SERVICE, item.doc.target.id)), item);
  const quiet = clearReadinessAlarm(fleet, item.doc.target.id);
  if (active === undefined) return { changes: quiet, expects: [] };
  const { service } = active;
  const doc = clearHandover(service.doc, { by: HANDOVER_AUTHOR, nowMs });
  return { changes: [put(SERVICE, service.id, doc), ...quiet], expects: [expectUnchanged(SERVICE, service)] };
}
