// Decides on operators' commands on services: edit its settings, move it to another host, fail back. A move whose target is no candidate is
// refused; nothing must begin that would only wait.
import { noSuch } from '../access/index.ts';
import { idOf, put, valueOf, type Change, type FleetReader, type Refusal } from '../fleet/index.ts';
import { findHost, isOutOfControl, unknownHost } from '../hosts/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import type { OperationId } from '../operations/index.ts';
import { ElectionContext } from './candidates.ts';
import { chooseHost } from './choose.ts';
import { handoverBudget } from './handover/budget.ts';
import { SERVICE, type Cause, type Service, type StoredService } from './model.ts';
import { setFailBackPending, beginHandovers, isHandoverActive, type BeginHandovers } from './designation.ts';
import { ELECTION } from './settings.ts';
import { hasPresence } from './desired-services.ts';
import { REJECTION_SENTENCES, whyOf, type ElectedHost } from './why.ts';

export interface EditService {
  readonly id: string;
  readonly edit: Partial<Pick<Service, 'exclusion' | 'onControlLoss'>>;
  readonly by: string;
  readonly nowMs: number;
}

export function editService(fleet: FleetReader, { id, edit, by, nowMs }: EditService): Decision<Service> {
  const stored = findService(fleet, id);
  if (stored === undefined) return refuse(noSuch(SERVICE.name, id));
  const { exclusion, onControlLoss } = { ...stored.doc, ...edit };
  if (exclusion === stored.doc.exclusion && onControlLoss === stored.doc.onControlLoss) return accept([], stored.doc);
  const doc: Service = { ...stored.doc, exclusion, onControlLoss, changedBy: by, changedAtMs: nowMs };
  return accept([put(SERVICE, stored.id, doc)], doc);
}

export interface MoveService extends BeginHandovers {
  readonly id: string;
  /** The requested target; the best other candidate by default. */
  readonly host?: string;
}

export interface MoveAnswer {
  /** Absent when it is there already. */
  readonly operation?: OperationId;
  readonly to: string;
}

export function moveService(fleet: FleetReader, command: MoveService): Decision<MoveAnswer> {
  const { id, host } = command;
  const service = findService(fleet, id);
  if (service === undefined) return refuse(noSuch(SERVICE.name, id));
  const at = service.doc.designated?.host;
  if (at === undefined) return refuse(notDesignated(id));
  if (isHandoverActive(fleet, service)) return refuse(handoverUnderWay(service));
  if (host === at) return accept([], { to: at });
  if (valueOf(fleet, ELECTION).held) return refuse(electionsHeld());
  if (isOutOfControl(findHost(fleet, at)?.doc ?? {})) return refuse(denyOutOfControl(service, at));
  const choice = chooseMoveTarget(fleet, service, { host, cause: 'asked-for', nowMs: command.nowMs });
  if ('code' in choice) return refuse(choice);
  const changes = beginHandovers([{ service, to: choice.host, why: choice.why }], command);
  return accept(changes, { operation: command.operation, to: choice.host });
}

interface MoveTarget {
  readonly host: string | undefined;
  readonly cause: Cause;
  readonly nowMs: number;
}

function chooseMoveTarget(
  fleet: FleetReader,
  service: StoredService,
  { host, cause, nowMs }: MoveTarget,
): ElectedHost | Refusal {
  const context = new ElectionContext(fleet);
  const excluded = [service.doc.designated?.host ?? ''];
  if (host === undefined)
    return chooseHost(context, { service, cause, excluded, fallback: 'none' }, nowMs) ?? noCandidate(service);
  if (findHost(fleet, host) === undefined) return { ...unknownHost(host), field: '/host' };
  const because = context.rejectionOf(service.doc, host);
  if (because !== undefined) {
    const message = `Host "${host}" cannot take ${service.id}: it ${REJECTION_SENTENCES[because]}. "muster services why ${service.id}" names those that can.`;
    return { kind: 'conflict', code: 'not-a-candidate', message, field: '/host', facts: { host, because } };
  }
  return { host, why: whyOf(cause, context.candidatesOf(service, excluded), host, nowMs) };
}

/**
 * The handovers that fail a host's services back: those that left it by its present scale-in and still have presence there. Elections start
 * the ones beyond the budget, as others end.
 */
export function failBack(
  fleet: FleetReader,
  services: readonly StoredService[],
  how: BeginHandovers & { readonly host: string },
): Change[] {
  const context = new ElectionContext(fleet);
  const { host, nowMs } = how;
  const able = services.filter(
    (service) =>
      service.doc.designated !== undefined &&
      !isHandoverActive(fleet, service) &&
      hasPresence(fleet, service.doc, host),
  );
  const passing = able.slice(0, handoverBudget(fleet)).map((service) => {
    const why = whyOf('fail-back', context.candidatesOf(service, [service.doc.designated?.host ?? '']), host, nowMs);
    return { service, to: host, why };
  });
  const later = able.slice(passing.length).map(({ id, doc }) => put(SERVICE, id, setFailBackPending(doc, true, how)));
  return [...beginHandovers(passing, how), ...later];
}

function findService(fleet: FleetReader, id: string): StoredService | undefined {
  return fleet.get(SERVICE, idOf(SERVICE, id));
}

export function electionsHeld(): Refusal {
  const message =
    'Elections are held by the setting "election". An administrator ends that with "muster settings set election held=false".';
  return { kind: 'conflict', code: 'elections-held', message };
}

function denyOutOfControl({ id }: StoredService, host: string): Refusal {
  const message = `The switch of host "${host}" is out of control and could not be ordered to stop ${id}: two hosts would serve it. "muster hosts show ${host}" says what is wrong; if the host is off for certain, say so with "muster hosts force-down ${host} --reason <why>".`;
  return { kind: 'conflict', code: 'switch-out-of-control', message, facts: { service: id, host } };
}

function notDesignated(id: string): Refusal {
  const message = `${id} is not served now, so there is nothing to move: a host is elected as soon as there is a candidate. "muster services why ${id}" says what the hosts lack.`;
  return { kind: 'conflict', code: 'not-designated', message, facts: { service: id } };
}

function handoverUnderWay({ id, doc: { handover } }: StoredService): Refusal {
  const to = handover === undefined ? '' : ` to ${handover.to}`;
  const message = `A handover of ${id}${to} is under way already. Wait until it has ended; "muster services show ${id}" shows how far it is.`;
  const facts = { service: id, ...(handover !== undefined && { operation: handover.operation }) };
  return { kind: 'conflict', code: 'handover-under-way', message, facts };
}

function noCandidate({ id, doc }: StoredService): Refusal {
  const message = `No other host can take ${id}; it stays at ${doc.designated?.host}. "muster services why ${id}" says more.`;
  return { kind: 'conflict', code: 'no-candidate', message, facts: { service: id } };
}
