// Decides on scale-in: take hosts out of service, remove them, bring them back. Each verb is one commit, decided by the verb table on the
// newest state; a repeated request must change nothing.
import { put, type Change, type FleetReader } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { newOperation, siteLimitOf, type NewItem, type OperationId } from '../../operations/index.ts';
import type { StoredHost } from '../decide.ts';
import type { Evacuator } from '../evacuator.ts';
import { HOST, type Host } from '../model.ts';
import type { Hash } from '../preview/plan-hash.ts';
import {
  resolveNamedHosts,
  refuseVerb,
  findSharedOperation,
  unknownName,
  type HostResult,
  type NamedHost,
  type ScaleInAnswer,
} from './answer.ts';
import { assessEnd } from './end-verdict.ts';
import type { KnownBlockers } from './prepare.ts';
import { planStart, type PreparedStart } from './start-plan.ts';
import { SCALE_IN_TABLE, type ScaleInVerb } from './verb-table.ts';
import {
  cancelEmptiedOperations,
  cancelOpenItems,
  DRAIN_KIND,
  END_DEADLINE_MS,
  END_KIND,
  openWork,
  RECOVER_KIND,
  commonSiteOf,
} from './host-items.ts';

export interface ScaleInCommand {
  /** In any form; the same host twice counts once. */
  readonly hosts: readonly string[];
  /** Hosts of other sites are unknown to a caller that is bound to one. */
  readonly site?: string | undefined;
  readonly operation: OperationId;
  readonly by: string;
  readonly why?: string;
  readonly nowMs: number;
}

export interface StartScaleIn extends ScaleInCommand {
  /** False: the operator moves everything off them by other means. */
  readonly drain: boolean;
  /** The plan that a preview showed: a start with another plan is refused. */
  readonly plan?: { readonly plan: string; readonly hash: Hash };
  readonly deadlineMs: number;
  /** Planned before this commit. A start that needs a plan and has none, or an outdated one, is refused as not prepared. */
  readonly prepared?: PreparedStart;
  /** Up to this many tenants are planned in the commit; any number by default. */
  readonly plannedHereMax?: number;
}

export interface EndScaleIn extends ScaleInCommand {
  /** Found blocked before this commit, which does not search for the blockers again. */
  readonly knownBlockers?: KnownBlockers;
  /** A connected host is ordered to leave first. */
  readonly disconnect: boolean;
  /** Removes hosts whatever lives there. The reason is kept. */
  readonly force?: { readonly reason: string };
}

export interface RecoverHosts extends ScaleInCommand {
  /** What left them in this scale-in comes back. */
  readonly failBack: boolean;
}

/** The outcome for one host. */
export interface HostVerdict extends Omit<HostResult, 'host'> {
  readonly changes?: readonly Change[];
  /** Its item in the operation that the request starts. */
  readonly item?: NewItem;
}

/** A silent host returns when its heartbeats do, however late that is. */
const RECOVER_DEADLINE_MS = 30 * 24 * 3600 * 1000;

/** Tombstones all of them in this commit, or none. */
export function startScaleIn(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  command: StartScaleIn,
): Decision<ScaleInAnswer> {
  const named = resolveNamedHosts(fleet, command.hosts, command.site);
  const verdicts = named.map((one) => decideByTable(one, 'start', (host) => tombstoneHost(fleet, host, command)));
  const bad = verdicts.filter(({ result }) => result !== 'accepted' && result !== 'unchanged');
  if (bad.length > 0) return refuse(refuseVerb('start', bad.map(toHostResult)));
  const hosts = named.flatMap(({ host }) => host?.id ?? []);
  const changes = verdicts.flatMap((one) => one.changes ?? []);
  const isNew = verdicts.some(({ item }) => item !== undefined);
  const planned = planStart(fleet, evacuators, { command, hosts, changes, isNew });
  if (planned.kind === 'refuse') return planned;
  const how = { kind: DRAIN_KIND, does: 'scale in', within: command.site, deadlineMs: command.deadlineMs };
  const decision = decideVerdicts(fleet, command, verdicts, how);
  if (decision.kind === 'refuse' || !isNew) return decision;
  return accept([...decision.changes, ...planned.first()], decision.answer);
}

/** Each on its own: hosts that are proven empty are removed, the others report what blocks them. */
export function endScaleIn(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  command: EndScaleIn,
): Decision<ScaleInAnswer> {
  const named = resolveNamedHosts(fleet, command.hosts, command.site);
  const verdicts = named.map((one) =>
    decideByTable(one, 'end', (host) => assessUnlessBlocked(fleet, evacuators, { host, command })),
  );
  return acceptEach(fleet, command, verdicts, {
    kind: END_KIND,
    does: 'remove',
    verb: 'end',
    deadlineMs: END_DEADLINE_MS,
  });
}

/** Each on its own. No new move begins; open moves complete. */
export function recoverHosts(fleet: FleetReader, command: RecoverHosts): Decision<ScaleInAnswer> {
  const named = resolveNamedHosts(fleet, command.hosts, command.site);
  const verdicts = named.map((one) => decideByTable(one, 'recover', (host) => bringBack(fleet, host, command)));
  const how = { kind: RECOVER_KIND, does: 'bring back', verb: 'recover', deadlineMs: RECOVER_DEADLINE_MS } as const;
  return acceptEach(fleet, command, verdicts, how);
}

type NamedVerdict = HostVerdict & { readonly host: string };

/** By the verb table; `decide` is called only where the table allows a change or searches for the open operation. */
export function decideByTable(
  named: NamedHost,
  verb: ScaleInVerb,
  decide: (host: StoredHost) => HostVerdict,
): NamedVerdict {
  const { requestedId, host } = named;
  if (host === undefined) return unknownName(named);
  const name = host.id;
  const act = SCALE_IN_TABLE[host.doc.state][verb];
  if (act.act === 'refuse') {
    const reason = { code: act.because, host: name, state: host.doc.state };
    return { host: requestedId, name, result: 'wrong-state', reason };
  }
  return { host: requestedId, name, ...decide(host) };
}

function toHostResult({ changes: _, item: __, ...result }: NamedVerdict): HostResult {
  return result;
}

interface OperationSpec {
  readonly kind: string;
  readonly does: string;
  /** What is moved stays in this site: the caller may not write to others. */
  readonly within?: string | undefined;
  readonly deadlineMs: number;
}

/** Refused only when nothing was accepted for any of them and none was in the requested state already. */
function acceptEach(
  fleet: FleetReader,
  command: ScaleInCommand,
  verdicts: readonly NamedVerdict[],
  { verb, ...how }: OperationSpec & { readonly verb: ScaleInVerb },
): Decision<ScaleInAnswer> {
  const good = verdicts.filter(({ result }) => result === 'accepted' || result === 'unchanged');
  if (good.length === 0) return refuse(refuseVerb(verb, verdicts.map(toHostResult)));
  return decideVerdicts(fleet, command, verdicts, how);
}

function decideVerdicts(
  fleet: FleetReader,
  command: ScaleInCommand,
  verdicts: readonly NamedVerdict[],
  how: OperationSpec,
): Decision<ScaleInAnswer> {
  const { operation, by, why, nowMs } = command;
  const items = verdicts.flatMap(({ item }) => item ?? []);
  const made = verdicts.flatMap((one) => one.changes ?? []);
  const changes = [...made, ...cancelEmptiedOperations(fleet, made)];
  if (items.length === 0) {
    const hosts = verdicts.map(toHostResult);
    return accept(changes, { ...findSharedOperation(hosts), hosts });
  }
  const began = newOperation({
    id: operation,
    kind: how.kind,
    title: `${how.does} ${items.length === 1 ? `host ${items[0]?.key}` : `${items.length} hosts`}`,
    by,
    ...(why !== undefined && { why }),
    ...commonSiteOf(made),
    within: how.within,
    nowMs,
    deadlineMs: how.deadlineMs,
    items,
  });
  const hosts = verdicts.map((one) => toHostResult(one.item === undefined ? one : { ...one, operation }));
  return accept([...changes, ...began], { operation, hosts });
}

/** A host that was found blocked is not evaluated again, unless it changed since. */
function assessUnlessBlocked(
  fleet: FleetReader,
  evacuators: readonly Evacuator[],
  { host, command }: { readonly host: StoredHost; readonly command: EndScaleIn },
): HostVerdict {
  const before = command.knownBlockers?.get(host.id);
  return before?.host === host ? before.verdict : assessEnd(fleet, evacuators, { host, command });
}

/** A host that is leaving already stays as it is, unless no operation drains it any more or it is to be drained otherwise. */
export function tombstoneHost(fleet: FleetReader, host: StoredHost, command: StartScaleIn): HostVerdict {
  const { id, doc } = host;
  const { operation, drain, site, by, why, nowMs } = command;
  const item: NewItem = { key: id, target: { kind: HOST.name, id }, step: 'handover' };
  if (SCALE_IN_TABLE[doc.state].start.act === 'unchanged' && doc.leaving !== undefined) {
    const { leaving } = doc;
    const [underWay] = openWork(fleet, id, DRAIN_KIND);
    if (doc.state === 'drained' || openWork(fleet, id, END_KIND).length > 0) return unchangedVerdict(leaving.operation);
    // A drain that may leave the site was started by a caller who may; one that may not is started again for a caller who may.
    const within = underWay === undefined ? undefined : siteLimitOf(fleet, underWay.doc);
    const isWideEnough = within === undefined || within === site;
    if (underWay !== undefined && leaving.drain === drain && isWideEnough) return unchangedVerdict(leaving.operation);
    const keepsOperation = underWay !== undefined && within === site;
    // The last deadline has passed, or it was started without a drain: continue with what is left.
    const again = { ...leaving, drain, ...(!keepsOperation && { operation }) };
    const changed = put(HOST, id, { ...doc, leaving: again, changedBy: by, changedAtMs: nowMs });
    if (keepsOperation) return { result: 'accepted', operation: leaving.operation, changes: [changed] };
    return { result: 'accepted', changes: [changed, ...cancelOpenItems(fleet, id, nowMs, [DRAIN_KIND])], item };
  }
  // Rebuilt elsewhere while it left before: recovering it for a moment does not make it trusted.
  const rebuilt = doc.leaving?.rebuilt === true && { rebuilt: true };
  const leaving = { operation, drain, by, ...(why !== undefined && { why }), atMs: nowMs, ...rebuilt };
  const next: Host = { ...doc, state: 'draining', leaving, changedBy: by, changedAtMs: nowMs };
  return { result: 'accepted', changes: [put(HOST, id, next), ...cancelOpenItems(fleet, id, nowMs)], item };
}

function unchangedVerdict(operation: string): HostVerdict {
  return { result: 'unchanged', operation };
}

function bringBack(fleet: FleetReader, { id, doc }: StoredHost, command: RecoverHosts): HostVerdict {
  const { failBack, by, nowMs } = command;
  const { leaving } = doc;
  const item: NewItem = { key: id, target: { kind: HOST.name, id }, step: 'settle' };
  if (SCALE_IN_TABLE[doc.state].recover.act === 'unchanged') {
    const [under] = openWork(fleet, id, RECOVER_KIND);
    // Its operation has failed: wait for it again.
    if (doc.state === 'recovering' && under === undefined) return { result: 'accepted', item };
    return { result: 'unchanged', ...(under !== undefined && { operation: under.doc.operation }) };
  }
  if (doc.quarantined !== undefined) {
    const reason = { code: 'quarantined', host: id, because: doc.quarantined.because };
    return { result: 'wrong-state', reason };
  }
  const { failBack: _, forced: __, ...kept } = leaving ?? unknownLeaving(command);
  const back = { ...kept, ...(failBack && { failBack }) };
  const next: Host = { ...doc, state: 'recovering', leaving: back, changedBy: by, changedAtMs: nowMs };
  return {
    result: 'accepted',
    changes: [put(HOST, id, next), ...cancelOpenItems(fleet, id, nowMs)],
    item,
  };
}

/** For a leaving host without a recorded scale-in: it can be recovered all the same. */
function unknownLeaving({ operation, by, nowMs }: ScaleInCommand): NonNullable<Host['leaving']> {
  return { operation, drain: false, by, atMs: nowMs };
}
