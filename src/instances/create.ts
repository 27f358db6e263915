// Asking for instances. The ports come first, then the place: where the network's back end is part of the journal, both are
// in the commit that accepts the request; otherwise the build takes it from there. All of the request, or none of it.
import { idOf, merged, onTrial, put, type Change, type FleetReader, type Refusal, type Trial } from '../fleet/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import { newOperation, type NewItem, type OperationId } from '../operations/index.ts';
import {
  credentialsMissing,
  missingCredentialsAlarm,
  NETWORK,
  nicPort,
  PORT,
  portQuotaRefusal,
  resolveNetworks,
  type BackEndName,
  type Port,
  type RequestedNetworks,
  type ResolvedNic,
  type StoredPort,
} from '../network/index.ts';
import { reportText, type ScheduleReport } from '../scheduler/index.ts';
import { SITE, unknownSite } from '../sites/index.ts';
import { findHost, unknownHost } from '../hosts/index.ts';
import { pathOf } from './gates.ts';
import { FLAVOR, GROUP, INSTANCE, type Flavor, type Instance } from './model.ts';
import { isInline } from './place.ts';
import { placed, type Tried } from './attempt.ts';
import { quotaRefusal } from './usage.ts';

export interface CreateInstances {
  readonly name: string;
  readonly count: number;
  readonly minCount: number;
  readonly flavor: string;
  readonly image?: string;
  readonly project: string;
  readonly place: Instance['place'];
  readonly networks: RequestedNetworks;
  readonly securityGroups?: readonly string[];
  readonly attemptsMax?: number;
  readonly operation: OperationId;
  /** Fresh ids for the ports that are to be made: enough for every NIC of every instance. */
  readonly portIds: readonly string[];
  readonly by: string;
  readonly why?: string;
  readonly admin: boolean;
  /** Whether this server has the credentials of the network back ends that need some. */
  readonly credentials: boolean;
  readonly nowMs: number;
  readonly deadlineMs: number;
}

export interface Created {
  readonly operation: OperationId;
  readonly instances: readonly string[];
}

/** The first try and two more. */
export const ATTEMPTS_DEFAULT = 3;

export function createInstances(fleet: FleetReader, command: CreateInstances): Decision<Created> {
  const asked = understood(fleet, command);
  if ('code' in asked) return refuse(asked);
  return onTrial(fleet, (trial) => {
    trial.add(asked.changes);
    const made: Made[] = [];
    let shortage: ScheduleReport | undefined;
    for (const [nth, name] of asked.names.entries()) {
      const one = make(trial, command, { ...asked, name, nth });
      if ('code' in one) return refuse(one);
      if (one.kind === 'none' && asked.names.length > 1) {
        shortage ??= one.report;
        continue;
      }
      trial.add(one.changes);
      made.push(one);
    }
    if (made.length < command.minCount) return refuse(tooFew(command, made.length, shortage));
    return accept(merged([...asked.changes, ...made.flatMap((one) => one.changes), ...begun(command, made)]), {
      operation: command.operation,
      instances: made.map((one) => one.name),
    });
  });
}

interface Asked {
  readonly names: readonly string[];
  readonly flavor: Flavor;
  readonly nics: readonly ResolvedNic[];
  readonly path: Instance['path'];
  readonly changes: readonly Change[];
}

function understood(fleet: FleetReader, command: CreateInstances): Asked | Refusal {
  const { name, count, project } = command;
  const flavor = fleet.get(FLAVOR, idOf(FLAVOR, command.flavor))?.doc;
  if (flavor === undefined) return unknown('flavor', command.flavor);
  const names = count === 1 ? [name] : Array.from({ length: count }, (_, nth) => `${name}-${nth + 1}`);
  const problem =
    placeProblem(fleet, command) ?? namesProblem(fleet, names) ?? quotaRefusal(fleet, project, flavor, count);
  if (problem !== undefined) return problem;
  const ask = { networks: command.networks, project, admin: command.admin, count, instance: name };
  const { securityGroups } = command;
  const resolved = resolveNetworks(fleet, { ...ask, ...(securityGroups !== undefined && { securityGroups }) });
  if ('code' in resolved) return resolved;
  const { nics, changes } = resolved;
  const fresh = nics.filter((nic) => nic.kind === 'new').length;
  const quota = portQuotaRefusal(fleet, project, fresh * count);
  if (quota !== undefined) return quota;
  const lacking = credentialsMissing(backEndsOf(fleet, nics), command.credentials);
  const alarm = missingCredentialsAlarm(fleet, lacking, command.nowMs);
  return { names, flavor, nics, path: pathOf(fleet, !lacking), changes: [...changes, ...alarm] };
}

function backEndsOf(fleet: FleetReader, nics: readonly ResolvedNic[]): BackEndName[] {
  return nics.flatMap((nic) => {
    const network = nic.kind === 'port' ? nic.port.doc.network : nic.network;
    return fleet.get(NETWORK, idOf(NETWORK, network))?.doc.backEnd ?? [];
  });
}

function placeProblem(fleet: FleetReader, { place, project }: CreateInstances): Refusal | undefined {
  const { group, site, onlyHost } = place;
  if (group !== undefined) {
    const stored = fleet.get(GROUP, idOf(GROUP, group))?.doc;
    if (stored === undefined) return unknown('group', group);
    if (stored.project !== project) return groupOfOther(group, project);
  }
  if (site !== undefined && fleet.get(SITE, idOf(SITE, site)) === undefined) return unknownSite(site, '/site');
  if (onlyHost !== undefined && findHost(fleet, onlyHost) === undefined) return unknownHost(onlyHost);
  return undefined;
}

function namesProblem(fleet: FleetReader, names: readonly string[]): Refusal | undefined {
  const taken = names.find((name) => fleet.get(INSTANCE, idOf(INSTANCE, name)) !== undefined);
  if (taken === undefined) return undefined;
  const message = `There is an instance "${taken}" already. Choose another name, or delete that one first.`;
  return { kind: 'conflict', code: 'name-taken', message, field: '/name', facts: { instance: taken } };
}

interface Made {
  readonly kind: 'made';
  readonly name: string;
  readonly changes: readonly Change[];
  readonly item: NewItem;
}

type None = { readonly kind: 'none'; readonly report: ScheduleReport };

/** One instance with its ports; placed at once when nothing outside the journal has to be asked first. */
function make(
  trial: Trial,
  command: CreateInstances,
  of: Asked & { readonly name: string; readonly nth: number },
): Made | None | Refusal {
  const ports = portsFor(trial, command, of);
  if ('code' in ports) return ports;
  const instance = newInstance(command, of, ports);
  const key = { key: of.name, target: { kind: INSTANCE.name, id: of.name } };
  const intent = [put(INSTANCE, idOf(INSTANCE, of.name), instance), ...ports.map(({ id, doc }) => put(PORT, id, doc))];
  const outside = of.path.create === 'conductor' && ports.some((port) => !isInline(trial, port.doc));
  const later = (step: string): Made => ({ kind: 'made', name: of.name, changes: intent, item: { ...key, step } });
  if (outside) return later('ports');
  const tried: Tried = placed(trial, { id: of.name, instance, ports, by: command.by, nowMs: command.nowMs });
  // The build says why, with the report, in its own commit: the request is accepted all the same.
  if (tried.kind === 'given-up') return command.count > 1 ? { kind: 'none', report: tried.report } : later('schedule');
  const { changes, step, host } = tried;
  return {
    kind: 'made',
    name: of.name,
    changes: merged([...intent, ...changes]),
    item: { ...key, step, host, state: 'running' },
  };
}

function portsFor(
  trial: Trial,
  command: CreateInstances,
  { nics, name, nth, path }: Asked & { readonly name: string; readonly nth: number },
): StoredPort[] | Refusal {
  const ports: StoredPort[] = [];
  for (const [nic, resolved] of nics.entries()) {
    const { project, by, nowMs, securityGroups } = command;
    const portId = command.portIds[nth * nics.length + nic] ?? `${name}-${nic}`;
    const of = { instance: name, nic, project, portId, by, nowMs };
    const port = nicPort(trial, resolved, { ...of, ...(securityGroups !== undefined && { securityGroups }) });
    if ('code' in port) return port;
    const doc = path.create === 'conductor' ? port.doc : intended(port.doc);
    // The next NIC must not be given what this one has.
    trial.add([put(PORT, port.id, doc)]);
    ports.push({ id: port.id, revision: 0, doc });
  }
  return ports;
}

/** A port that an older host makes for itself: what it will be, without what only its making gives it. */
function intended(port: Port): Port {
  if (port.createdBy === 'user') return port;
  return { ...port, state: 'wanted', addresses: port.addresses.filter(({ chosenBy }) => chosenBy === 'user') };
}

function newInstance(
  command: CreateInstances,
  { name, flavor, path }: Asked & { readonly name: string },
  ports: readonly StoredPort[],
): Instance {
  const { image, place, project, by, nowMs, minCount, attemptsMax = ATTEMPTS_DEFAULT } = command;
  const { vcpus, memoryMiB, diskGiB, resources } = flavor;
  const traits = (ours: readonly string[], theirs: readonly string[] = []): string[] => [
    ...new Set([...ours, ...theirs]),
  ];
  return {
    name,
    project,
    flavor: flavor.name,
    amounts: { vcpus, memoryMiB, diskGiB, ...(resources !== undefined && { resources }) },
    ...(image !== undefined && { image }),
    place: {
      ...place,
      requiredTraits: traits(flavor.requiredTraits, place.requiredTraits),
      forbiddenTraits: traits(flavor.forbiddenTraits, place.forbiddenTraits),
    },
    state: 'building',
    nics: ports.map(({ id, doc }) => ({ port: id, network: doc.network })),
    path,
    ...(minCount > 1 && { together: { minimum: minCount } }),
    attempts: [],
    attemptsMax,
    wasActive: false,
    createdBy: by,
    createdAtMs: nowMs,
    changedBy: by,
    changedAtMs: nowMs,
  };
}

function begun(command: CreateInstances, made: readonly Made[]): Change[] {
  const { operation, by, why, nowMs, deadlineMs } = command;
  const title = made.length === 1 ? `build instance ${made[0]?.name}` : `build ${made.length} instances`;
  const items = made.map((one) => one.item);
  const said = why === undefined ? {} : { why };
  return newOperation({ id: operation, kind: 'instance-build', title, by, ...said, nowMs, deadlineMs, items });
}

function tooFew({ count, minCount }: CreateInstances, made: number, report: ScheduleReport | undefined): Refusal {
  const why = report === undefined ? '' : ` ${reportText(report)}`;
  const message = `Only ${made} of ${count} instances find a place, and at least ${minCount} were asked for. Nothing was made.${why}`;
  return { kind: 'conflict', code: 'no-valid-host', message, facts: { placed: made, count, minCount, ...report } };
}

function unknown(what: 'flavor' | 'group', id: string): Refusal {
  const message = `There is no ${what} "${id}". List them with "muster ${what}s list".`;
  return { kind: 'not-found', code: `unknown-${what}`, message, field: `/${what}`, facts: { [what]: id } };
}

function groupOfOther(group: string, project: string): Refusal {
  const message = `Server group "${group}" belongs to another project than "${project}".`;
  return { kind: 'forbidden', code: 'group-of-other-project', message, field: '/group', facts: { group, project } };
}
