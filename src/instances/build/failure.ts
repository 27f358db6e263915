// The end of a build that found no host: ports that Muster created are deleted, users' ports are handed back as they were, the claim is released,
// and the instance records why. Back ends outside the journal have released the ports before.
import { idOf, mark, put, remove, type Change, type FleetReader } from '../../fleet/index.ts';
import { CLAIM, claimId, releasePort, PORT, unbindPort } from '../../network/index.ts';
import { endSentence, shortenText } from '../../operations/index.ts';
import { reportText, type ScheduleReport } from '../../scheduler/index.ts';
import { FAULTS, toFaultCode } from '../faults.ts';
import { INSTANCE, isAwaitingRebuildHost, type Instance, type InstanceFault } from '../model.ts';
import { isInline, portsOf } from './placement.ts';

export interface ChangeStamp {
  readonly by: string;
  readonly nowMs: number;
}

export const BUILD_FAILED_MESSAGE = 'The build failed.';

/** Why a build failed, from its last placement and its last try. */
export function composeFault(instance: Instance, report: ScheduleReport | undefined, nowMs: number): InstanceFault {
  const last = instance.attempts.at(-1);
  if (report !== undefined) {
    const exhausted = report.stages.some((stage) => stage.cause === 'addresses-exhausted' && stage.after === 0);
    const code = exhausted ? 'addresses-exhausted' : 'no-valid-host';
    // The fault of a try says more than that no host is left after it.
    const tried =
      last?.fault === undefined ? 'No host fits.' : `${endSentence(last.text ?? last.fault)} No other host fits.`;
    const message = shortenText(`${tried} ${reportText(report)}`, 1000);
    const stages = report.stages
      .slice(0, 40)
      .map((stage) => ({ ...stage, ...(stage.facts && { facts: { ...stage.facts } }) }));
    return { code, message, atMs: nowMs, report: { hosts: report.hosts, stages } };
  }
  if (last?.fault === undefined) return { code: 'given-up', message: BUILD_FAILED_MESSAGE, atMs: nowMs };
  const aborted = FAULTS[toFaultCode(last.fault)].next === 'abort';
  const tries = `${instance.attempts.length} of ${instance.attemptsMax} tries`;
  const message = aborted
    ? (last.text ?? last.fault)
    : `Failed after ${tries}. The last one: ${last.text ?? last.fault}`;
  return { code: aborted ? last.fault : 'attempts-exhausted', message: shortenText(message, 1000), atMs: nowMs };
}

/** The instance in error, holding nothing. An instance that was requested together with others fails with all of them. */
export function releaseFailedBuild(
  fleet: FleetReader,
  id: string,
  instance: Instance & { fault: InstanceFault },
  end: ChangeStamp,
): Change[] {
  const { host: _, ...rest } = instance;
  const doc: Instance = { ...rest, state: 'error', nics: [], changedBy: end.by, changedAtMs: end.nowMs };
  const own =
    instance.together === undefined ? put(INSTANCE, idOf(INSTANCE, id), doc) : remove(INSTANCE, idOf(INSTANCE, id));
  return [own, ...releaseHoldings(fleet, id, instance, end)];
}

/**
 * An instance that ran keeps its ports and their addresses, and can be tried again. A rebuild that found no other host leaves it at its own, as it
 * was: its copy there may be the only one, and the host may come back. An unshelve puts it back on the shelf. A back end outside the journal may
 * still have a port bound at the last host; the next bind there has a higher serial and replaces it.
 */
export function keepWithoutHost(
  fleet: FleetReader,
  id: string,
  instance: Instance & { fault: InstanceFault },
  end: ChangeStamp,
): Change[] {
  const { rebuiltFrom = 'error', ...kept } = instance;
  if (isAwaitingRebuildHost(instance)) return [keepAtHost(id, { ...kept, state: rebuiltFrom }, end)];
  mark('kept-without-host');
  const wasRebuilding = instance.state === 'rebuilding';
  const fault = withPreface(
    instance.fault,
    wasRebuilding
      ? `It has no host, and keeps its ports and addresses; "muster instances rebuild ${id}" tries again.`
      : `It is back on the shelf, with its ports and addresses; "muster instances unshelve ${id}" tries again.`,
  );
  return detachFromHost(fleet, id, { ...kept, state: wasRebuilding ? 'error' : 'shelved', fault }, end);
}

/** What became of the instance, before what the build met. */
function withPreface(fault: InstanceFault, preface: string): InstanceFault {
  return { ...fault, message: shortenText(`${preface} ${fault.message}`, 1000) };
}

function keepAtHost(id: string, instance: Instance & { fault: InstanceFault }, { by, nowMs }: ChangeStamp): Change {
  mark('rebuild-found-no-place');
  const { fault, host } = instance;
  const preface = `It stays on host ${host}, and its copy there is kept; "muster instances rebuild ${id}" tries again.`;
  return put(INSTANCE, idOf(INSTANCE, id), {
    ...instance,
    fault: withPreface(fault, preface),
    changedBy: by,
    changedAtMs: nowMs,
  });
}

/** The instance without a host, without a claim there, and with its ports unbound. They are still its own. */
export function detachFromHost(
  fleet: FleetReader,
  id: string,
  instance: Instance,
  { by, nowMs }: ChangeStamp,
): Change[] {
  const { host: _, ...rest } = instance;
  const doc: Instance = { ...rest, changedBy: by, changedAtMs: nowMs };
  // The back end has unbound under a higher serial: that serial is used as well.
  const bound = portsOf(fleet, instance).filter((port) => port.doc.binding !== undefined || !isInline(fleet, port.doc));
  return [
    put(INSTANCE, idOf(INSTANCE, id), doc),
    ...dropClaim(fleet, id),
    ...bound.map((port) => put(PORT, port.id, unbindPort(port.doc, { by, nowMs }))),
  ];
}

/** Releases the claim at its host. */
export function dropClaim(fleet: FleetReader, instance: string): Change[] {
  const id = claimId(instance, 'home');
  return fleet.get(CLAIM, id) === undefined ? [] : [remove(CLAIM, id)];
}

/** Releases everything that an instance held: its claims, and its ports, deleted or handed back. */
export function releaseHoldings(
  fleet: FleetReader,
  id: string,
  instance: Instance,
  { by, nowMs }: ChangeStamp,
): Change[] {
  const claims = [claimId(id, 'home'), claimId(id, 'move')].filter((claim) => fleet.get(CLAIM, claim) !== undefined);
  const { wasActive } = instance;
  return [
    ...claims.map((claim) => remove(CLAIM, claim)),
    ...portsOf(fleet, instance).flatMap((port) => releasePort(fleet, port, { wasActive, by, nowMs })),
  ];
}
