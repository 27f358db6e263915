// The operation that hands services over, make before break: the new host is built while the old one serves, then the others
// are pointed to the new one, the old one last, and only then does the old one let go. Connections that the old one translates are
// copied before the switch, and those that came meanwhile after it. What hosts do lies in their views: each step changes the
// service, and waits until those concerned are in line with their views.
import { idOf, mark, put, valueOf, type FleetReader, type Reason } from '../fleet/index.ts';
import { findHost, HOST, isOutOfControl, type Host } from '../hosts/index.ts';
import {
  decideLater,
  expecting,
  OPEN_ITEMS_BY_TARGET,
  record,
  targetKey,
  wait,
  type ActionOutcome,
  type Next,
  type OperationKind,
  type RecordStep,
  type StoredItem,
} from '../operations/index.ts';
import { isConnected } from './health.ts';
import {
  isBeforeSwitch,
  SERVICE,
  SERVICES_TOUCHING_HOST,
  type HandOver,
  type Service,
  type StoredService,
} from './model.ts';
import { designatedTo, withoutHandOver } from './passing.ts';
import {
  canBeSeeded,
  givenUpOn,
  isWaitingForHosts,
  SEED_PATIENCE_MS,
  SERVICE_NOT_READY,
  toldOf,
  uncopiedIn,
  type Uncopied,
} from './seeding.ts';
import { endAlarm, nextWithAlarm, withAlarm } from './readiness-alarm.ts';
import { ELECTION } from './settings.ts';
import { BY, retargeted } from './retarget.ts';
import { PATIENCE_MS, passedBy, targetOf, type Passed } from './target.ts';
import { stepOfUnheard, targetAskOf, type TargetAsk } from './unheard-target.ts';
import { presentHosts } from './wanted.ts';

const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 8000;
/** Whoever copies is waited for a few seconds in all. */
const COPY_RETRY_MAX_MS = 1000;
const NO_CANDIDATE = 'no-candidate';

export const handOver: OperationKind = {
  name: 'hand-over',
  steps: ['prepare', 'seed', 'switch', 'retire', 'reseed', 'turn', 'drain', 'clear'],
  cancel: {
    kind: 'does',
    what: 'What is still being prepared stays with its old host. What was switched stays with its new one.',
  },
  retry: {
    kind: 'none',
    because:
      'elections begin another hand-over by themselves as long as there is a cause; "muster services move" asks for one',
  },
  rollback: { kind: 'none', because: 'what was switched goes back by another hand-over' },
  plan: (fleet, _operation, items, nowMs) =>
    items.flatMap((item) => nextOf(fleet, item, nowMs).map((next) => nextWithAlarm(fleet, item, next, nowMs))),
  observe: (fleet, item, outcome, nowMs) => withAlarm(fleet, item, observe(fleet, item, outcome, nowMs), nowMs),
  undo: letGo,
  // One that failed has let go; by then the service may be in another hand-over.
  needsUndo: (fleet, item) => passedBy(fleet.get(SERVICE, idOf(SERVICE, item.doc.target.id)), item) !== undefined,
  overdue: letGo,
  wakes: (fleet, { kind, before, after }) => {
    const id = (after ?? before)?.id;
    if (kind !== HOST.name || id === undefined) return [];
    if (!matters(before?.doc as Host | undefined, after?.doc as Host | undefined)) return [];
    return [...fleet.find(SERVICES_TOUCHING_HOST, id)].flatMap((service) => [
      ...fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(SERVICE.name, service.id)),
    ]);
  },
};

function matters(before: Host | undefined, after: Host | undefined): boolean {
  return (
    before?.state !== after?.state ||
    before?.connection.state !== after?.connection.state ||
    isOutOfControl(before ?? {}) !== isOutOfControl(after ?? {}) ||
    (before?.forcedDown === undefined) !== (after?.forcedDown === undefined) ||
    (before?.quarantined === undefined) !== (after?.quarantined === undefined)
  );
}

function nextOf(fleet: FleetReader, item: StoredItem, nowMs: number): Next[] {
  const service = fleet.get(SERVICE, idOf(SERVICE, item.doc.target.id));
  if (item.doc.step === 'clear') return [clearing(fleet, item, service, nowMs)].flat();
  const passed = passedBy(service, item);
  if (passed === undefined) return [over(item, service)];
  switch (passed.handOver.phase) {
    case 'preparing':
    case 'seeding':
      return beforeSwitch(fleet, item, passed, nowMs);
    case 'switched':
      return inLine(item, { hosts: concerned(fleet, passed), revision: passed.service.revision, nowMs });
    case 'retiring':
    case 'reseeding':
    case 'draining':
      if (item.doc.step === 'drain') return draining(item, nowMs);
      if (item.doc.step === 'reseed') return copying(fleet, item, passed, nowMs);
      return inLine(item, { hosts: old(fleet, passed.handOver), revision: passed.service.revision, nowMs });
  }
}

/** The service went, or was elected anew because its host was lost: nothing is left to do. */
function over(item: StoredItem, service: StoredService | undefined): RecordStep {
  mark(service === undefined ? 'hand-over-service-gone' : 'hand-over-superseded');
  return record(item, { state: 'done', step: item.doc.step, reason: overtaken(item.doc.target.id, service?.doc) });
}

function overtaken(id: string, service: Service | undefined): Reason {
  if (service === undefined) return { code: 'service-gone', service: id };
  if (service.designated === undefined) return { code: 'service-withdrawn', service: id };
  return { code: 'elected-anew', service: id, host: service.designated.host };
}

function beforeSwitch(fleet: FleetReader, item: StoredItem, passed: Passed, nowMs: number): Next[] {
  const {
    service,
    handOver: { from, to, sinceMs, phase },
  } = passed;
  const late = nowMs - sinceMs > PATIENCE_MS && isWaitingForHosts(item);
  const target = targetOf(fleet, passed, { nowMs, late });
  const held = target.kind === 'host-stays' ? undefined : holdOf(fleet, passed);
  if (held !== undefined) return [wait(item, { code: held, service: service.id, host: from })];
  switch (target.kind) {
    case 'fit':
      if (phase === 'seeding') return copying(fleet, item, passed, nowMs);
      return inLine(item, { hosts: [to], revision: service.revision, nowMs, ...targetAskOf(fleet, passed) });
    case 'recovering':
      return [wait(item, { code: 'host-recovering', host: to, service: service.id })];
    case 'nobody':
      return [
        wait(
          item,
          { code: NO_CANDIDATE, service: service.id, host: to, because: target.because },
          sinceMs + PATIENCE_MS + 1,
        ),
      ];
    case 'another':
    case 'give-up':
    case 'host-stays':
      // Decided inside the commit, where nothing is given twice.
      return [decideLater(item, (newest, atMs) => retargeted(newest, item, { nowMs: atMs, late }))];
  }
}

/** Why nothing is switched now. A host that could not be told to stop would go on beside the next one. */
function holdOf(
  fleet: FleetReader,
  { handOver: { from } }: Passed,
): 'elections-held' | 'held-out-of-control' | undefined {
  if (valueOf(fleet, ELECTION).held) return 'elections-held';
  return isOutOfControl(findHost(fleet, from)?.doc ?? {}) ? 'held-out-of-control' : undefined;
}

/** Both ends are waited for, not for long: a connection that is cut is less than a service that does not move. */
function copying(fleet: FleetReader, item: StoredItem, passed: Passed, nowMs: number): Next[] {
  const {
    service,
    handOver: { from, to, sinceMs },
  } = passed;
  const isOver = nowMs - sinceMs > SEED_PATIENCE_MS && isWaitingForHosts(item);
  if (isOver || !canBeSeeded(fleet, passed)) {
    mark('hand-over-without-connections');
    return [decideLater(item, (newest, atMs) => [advanced(newest, item, atMs, givenUpOn(item))])];
  }
  const ask = isBeforeSwitch(passed.handOver) ? targetAskOf(fleet, passed) : {};
  return inLine(item, { hosts: [from, to], revision: service.revision, nowMs, ...ask });
}

/** All that are connected and point to it, but for the old host: that one comes last. */
function concerned(fleet: FleetReader, { service, handOver: { from, to } }: Passed): string[] {
  const hosts = new Set([...presentHosts(fleet, service.doc), to]);
  hosts.delete(from);
  return [...hosts].filter((host) => isConnected(fleet, host)).sort();
}

function old(fleet: FleetReader, { from }: Pick<HandOver, 'from'>): string[] {
  return isConnected(fleet, from) ? [from] : [];
}

function draining(item: StoredItem, nowMs: number): Next[] {
  if (nowMs < (item.doc.retryAtMs ?? 0)) return [];
  return [decideLater(item, (fleet, atMs) => [advanced(fleet, item, atMs)])];
}

function clearing(fleet: FleetReader, item: StoredItem, service: StoredService | undefined, nowMs: number): Next[] {
  if (service === undefined) return [over(item, service)];
  return inLine(item, { hosts: old(fleet, { from: item.doc.host ?? '' }), revision: service.revision, nowMs });
}

interface InLine extends Partial<TargetAsk> {
  readonly hosts: readonly string[];
  /** They are in line when they have applied what was true then. */
  readonly revision: number;
  readonly nowMs: number;
}

function inLine(item: StoredItem, { hosts, revision, nowMs, ...ask }: InLine): Next[] {
  if (hosts.length === 0) return [decideLater(item, (fleet, atMs) => [advanced(fleet, item, atMs)])];
  const { step, attempt, state, reason, retryAtMs = 0 } = item.doc;
  // Who waited for somebody to take it need not wait any more when there is one.
  if (state === 'waiting' && reason?.code !== NO_CANDIDATE && nowMs < retryAtMs) return [];
  // Of this service alone: what hosts lack for others does not hold it up.
  const args = { hosts, revision, service: item.doc.target.id, ...ask };
  const action = { driver: 'views', item: item.id, step, attempt, args };
  return [{ kind: 'act', item: item.id, expected: item.revision, action }];
}

function observe(fleet: FleetReader, item: StoredItem, outcome: ActionOutcome, nowMs: number): RecordStep {
  if (outcome.kind !== 'failed') return advanced(fleet, item, nowMs);
  const instead = stepOfUnheard(fleet, item, outcome.reason, nowMs);
  if (instead !== undefined) return instead;
  const { step, attempt } = item.doc;
  const longestMs = step === 'seed' || step === 'reseed' ? COPY_RETRY_MAX_MS : RETRY_MAX_MS;
  const pauseMs = Math.min(longestMs, RETRY_MIN_MS * 2 ** Math.min(attempt - 1, 10));
  return record(item, {
    state: 'waiting',
    step,
    reason: { ...outcome.reason, ...servedBy(fleet, item, outcome.reason), ...uncopiedIn(item) },
    retryAtMs: nowMs + pauseMs,
    attempt: attempt + 1,
  });
}

/** Who does the service while hosts are not ready for it: after the switch that is the new host. */
function servedBy(fleet: FleetReader, item: StoredItem, { code }: Reason): Omit<Reason, 'code'> {
  const designated = fleet.get(SERVICE, idOf(SERVICE, item.doc.target.id))?.doc.designated;
  return code === SERVICE_NOT_READY && designated !== undefined ? { servedBy: designated.host } : {};
}

/** The hosts that a step waited for are in line, or given up on: the next one, decided on the newest state. */
function advanced(fleet: FleetReader, item: StoredItem, nowMs: number, givenUp?: Uncopied): RecordStep {
  const stored = fleet.get(SERVICE, idOf(SERVICE, item.doc.target.id));
  const { step } = item.doc;
  const uncopied = givenUp ?? uncopiedIn(item);
  if (step === 'clear') return record(item, { state: 'done', step, ...toldOf(item, uncopied) });
  const passed = passedBy(stored, item);
  if (passed === undefined) return over(item, stored);
  const onwards = { fleet, item, passed, nowMs, uncopied };
  switch (step) {
    case 'prepare':
    case 'seed':
      return towardsSwitch(onwards);
    case 'switch':
      return goes(onwards, { step: 'retire', phase: 'retiring' });
    case 'retire':
      return canBeSeeded(fleet, passed) ? goes(onwards, { step: 'reseed', phase: 'reseeding' }) : turnsAway(onwards);
    case 'reseed':
      return turnsAway(onwards);
    case 'turn':
      return drains(onwards);
    default: {
      const doc = withoutHandOver(passed.service.doc, { by: BY, nowMs });
      const progress = { state: 'running', step: 'clear', ...toldOf(item, uncopied) } as const;
      return record(item, progress, { changes: [put(SERVICE, passed.service.id, doc)] });
    }
  }
}

interface Onwards {
  readonly fleet: FleetReader;
  readonly item: StoredItem;
  readonly passed: Passed;
  readonly nowMs: number;
  readonly uncopied: Uncopied;
}

interface Goal {
  readonly step: string;
  readonly phase: HandOver['phase'];
  /** As the service is from then on, when more than the phase is another. */
  readonly doc?: Service;
}

function goes({ item, passed, nowMs, uncopied }: Onwards, { step, phase, doc }: Goal): RecordStep {
  const { service, handOver: now } = passed;
  const became: Service = { ...(doc ?? service.doc), handOver: { ...now, phase, sinceMs: nowMs } };
  const progress = { state: 'running', step, ...toldOf(item, uncopied) } as const;
  return record(item, progress, { changes: [put(SERVICE, service.id, became)] });
}

function towardsSwitch(onwards: Onwards): RecordStep {
  const { fleet, item, passed, nowMs } = onwards;
  const { step, attempt } = item.doc;
  const isHeld = holdOf(fleet, passed) !== undefined;
  const fit = !isHeld && targetOf(fleet, passed, { nowMs, late: false }).kind === 'fit';
  if (!fit) return record(item, { state: 'running', step, attempt: attempt + 1 });
  if (step === 'prepare' && canBeSeeded(fleet, passed)) return goes(onwards, { step: 'seed', phase: 'seeding' });
  const { service, handOver: now } = passed;
  const doc = designatedTo(fleet, service.doc, { host: now.to, why: now.why }, { by: BY, nowMs });
  return goes(onwards, { step: 'switch', phase: 'switched', doc });
}

/** The old host translated what it knew until now. What is copied, or was given up, is asked of nobody any more. */
function turnsAway(onwards: Onwards): RecordStep {
  const { type } = onwards.passed.service.doc;
  return type === 'nat' ? goes(onwards, { step: 'turn', phase: 'draining' }) : drains(onwards);
}

function drains({ fleet, item, passed, nowMs, uncopied }: Onwards): RecordStep {
  const { service, handOver: now } = passed;
  const retryAtMs = nowMs + valueOf(fleet, ELECTION).handOverDrainMs;
  const reason = { code: 'hand-over-drains', host: now.from, service: service.id, ...uncopied };
  return record(item, { state: 'waiting', step: 'drain', reason, retryAtMs });
}

/** Whoever has it now keeps it alone. */
function letGo(fleet: FleetReader, item: StoredItem, nowMs: number): Pick<RecordStep, 'changes' | 'expects'> {
  const passed = passedBy(fleet.get(SERVICE, idOf(SERVICE, item.doc.target.id)), item);
  const quiet = endAlarm(fleet, item.doc.target.id);
  if (passed === undefined) return { changes: quiet, expects: [] };
  const { service } = passed;
  const doc = withoutHandOver(service.doc, { by: BY, nowMs });
  return { changes: [put(SERVICE, service.id, doc), ...quiet], expects: [expecting(SERVICE, service)] };
}
