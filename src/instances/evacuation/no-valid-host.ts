// Why leaving instances have no host to move to: for each of them which filter excluded how many hosts, with its own ports and addresses. One scan of
// the hosts is shared by all instances with equal requirements, and made in steps.
import { idOf, put, remove, type FleetReader, type Reason, type Trial } from '../../fleet/index.ts';
import type { PlannedEvacuation, LeavingTenants } from '../../hosts/index.ts';
import { CLAIM, claimId, segmentOfPool } from '../../network/index.ts';
import { shortenText } from '../../operations/index.ts';
import {
  groupTallyOf,
  reportInSteps,
  reportText,
  type ReportStage,
  type ScheduleReport,
  type ScheduleRequest,
} from '../../scheduler/index.ts';
import { GROUP, INSTANCE } from '../model.ts';
import { portsOf, composeScheduleRequest, type StoredInstance } from '../build/placement.ts';
import { resetPlacement } from '../shelve-rebuild/shelve.ts';
import { explainBackoff } from './pacing.ts';

const NO_VALID_HOST = 'no-valid-host';

const MESSAGE_MAX = 1000;

/** The reason in a plan without reports: a drain plans many times a minute, and a scan of every host is for the request of a person. */
export function noValidHostReason(id: string, { host, within }: Pick<LeavingTenants, 'host' | 'within'>): Reason {
  const where = within === undefined ? '' : ` of site ${within}`;
  const message = `No host${where} fits instance ${id} now. "muster hosts tenants ${host}" says what the hosts lack, and so does "muster scale-in status" once its host leaves.`;
  return { code: NO_VALID_HOST, instance: id, message };
}

/**
 * Members of an affinity group that are all on this host: none of them may leave first. Reported without a scan of the hosts, whatever else they
 * lack.
 */
export function affinityBlockReason(fleet: FleetReader, { id, doc }: StoredInstance, host: string): Reason | undefined {
  const { group = '' } = doc.place;
  if (fleet.get(GROUP, idOf(GROUP, group))?.doc.policy !== 'affinity') return undefined;
  const members = groupTallyOf(fleet, group);
  const others = (members?.countOn(host) ?? 0) - 1;
  return members?.size === 1 && others > 0 ? { code: 'held-together', instance: id, host, group, others } : undefined;
}

/** The requirements of a leaving instance: without its claim there and without earlier tries. */
function composeLeavingRequest(
  fleet: FleetReader,
  { id, doc }: StoredInstance,
  { host, within }: Pick<LeavingTenants, 'host' | 'within'>,
): ScheduleRequest {
  const instance = resetPlacement(doc);
  const how = { role: 'move', by: 'evacuator', nowMs: 0 } as const;
  return composeScheduleRequest(fleet, {
    id,
    instance,
    ports: portsOf(fleet, instance),
    ...how,
    within,
    excludedHosts: [host],
  });
}

interface ExplainLimits {
  /** The number of reports. */
  readonly most: number;
  /** Whether tenants of this host are explained; all are by default. */
  readonly isExplained?: ((host: string) => boolean) | undefined;
  /** The site whose hosts are counted for the instances of a host; all hosts where there is none. */
  readonly within: ReadonlyMap<string, string | undefined>;
}

/** The same plan with what the last tries found, and the reports of the first `most` without a host. The trial contains the claims of all the others. */
export function* explainNoValidHost(
  trial: Trial,
  planned: readonly PlannedEvacuation[],
  { most, isExplained = () => true, within }: ExplainLimits,
): Generator<undefined, readonly PlannedEvacuation[]> {
  const reports = new Map<string, ScheduleReport>();
  const explained = [...planned];
  let left = most;
  for (let at = 0; at < planned.length && left > 0; at += 1) {
    const one = planned[at] as PlannedEvacuation;
    if (one.evacuation.kind !== 'wait' || !isExplained(one.host)) continue;
    const instance = trial.get(INSTANCE, idOf(INSTANCE, one.tenant.id));
    if (instance === undefined) continue;
    if (one.evacuation.reason.code !== NO_VALID_HOST) {
      explained[at] = { ...one, evacuation: { kind: 'wait', reason: explainBackoff(instance, one.evacuation.reason) } };
      continue;
    }
    left -= 1;
    const request = composeLeavingRequest(trial, instance, { host: one.host, within: within.get(one.host) });
    const key = requestKey(request);
    const known = reports.get(key) ?? (yield* reportWithoutClaim(trial, instance.id, request));
    reports.set(key, known);
    const reason = {
      code: NO_VALID_HOST,
      instance: instance.id,
      message: composeMessage(instance.id, replaceAddresses(known, request)),
    };
    explained[at] = { ...one, evacuation: { kind: 'wait', reason } };
    yield;
  }
  return explained;
}

/** Its copy at its host does not count as a member of its group: a group of its own excludes no host. */
function* reportWithoutClaim(trial: Trial, id: string, request: ScheduleRequest): Generator<undefined, ScheduleReport> {
  const home = trial.get(CLAIM, claimId(id, 'home'));
  if (home !== undefined) trial.add([remove(CLAIM, home.id)]);
  const report = yield* reportInSteps(trial, request);
  if (home !== undefined) trial.add([put(CLAIM, home.id, home.doc)]);
  return report;
}

/** Requests with the same key have the same report, except for the addresses that they keep. */
function requestKey({ nics, excludedHosts: _, exclusionReasons, tried: __, ...rest }: ScheduleRequest): string {
  const swept = [...(exclusionReasons ?? [])]
    .filter(([, { because }]) => because !== 'to-be-left')
    .map(([host]) => host);
  return JSON.stringify([rest, swept, nics.map(({ address, ...need }) => [need, address !== undefined])]);
}

/** A report that was made for another instance with the same requirements, with this one's addresses. */
function replaceAddresses({ hosts, stages }: ScheduleReport, { nics }: ScheduleRequest): ScheduleReport {
  return { hosts, stages: stages.map((stage) => replaceAddress(stage, nics)) };
}

function replaceAddress(stage: ReportStage, nics: ScheduleRequest['nics']): ReportStage {
  const { facts } = stage;
  if (facts?.['address'] === undefined) return stage;
  const isMeant = ({ network, address, choices }: ScheduleRequest['nics'][number]): boolean =>
    address !== undefined && network === facts['network'] && segmentIn(choices) === facts['segment'];
  return { ...stage, facts: { ...facts, address: nics.find(isMeant)?.address ?? facts['address'] } };
}

function segmentIn([first]: ScheduleRequest['nics'][number]['choices']): string | undefined {
  return first === undefined ? undefined : segmentOfPool(first.pool);
}

function composeMessage(id: string, report: ScheduleReport): string {
  const fitting = report.stages.at(-1)?.after ?? report.hosts;
  // It was planned before others of the plan released capacity.
  const later = fitting === 0 ? '' : ` ${fitting} would fit once the others of the plan have moved.`;
  return shortenText(`No host fits instance ${id} now. ${reportText(report)}${later}`, MESSAGE_MAX);
}
