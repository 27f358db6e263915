// Decides on a request for a node: what it repeats, who may request it, which node, and what becomes of it: reserved at once where the journal is the inventory,
// else claimed outside first. A request that finds none leaves a reservation too, so that its counts can be read.
import { put, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { quotaProblem } from '../../network/index.ts';
import type { OperationId } from '../../operations/index.ts';
import { isOwnInstance, ownInstance, takeForBuild } from '../builder/build-reservation.ts';
import { buildOf } from '../builder/node-of.ts';
import { managerId } from '../managers/decide.ts';
import type { IsLeaseLive } from '../managers/leases.ts';
import { isUnderLease } from '../managers/right.ts';
import { chooseNode } from '../matching/choose.ts';
import type { ReservationRequest } from '../matching/request.ts';
import {
  ALLOCATING_RESERVATIONS,
  FAILED_RESERVATIONS,
  MANAGER,
  NODE,
  NODES_BY_CLAIM,
  RESERVATION,
  type InventoryName,
  type Manager,
  type Reservation,
} from '../model.ts';
import type { StoredNode } from '../nodes/transitions.ts';
import { beginAllocation } from './allocation.ts';
import { failReservation, reservationId, takeNode } from './documents.ts';
import {
  claimUnsettled,
  managerDraining,
  managerLapsed,
  managerNotRegistered,
  requestDiffers,
  tooManyAllocations,
} from './refusals.ts';
import { countAllStages, searchFor, type NodeSearch } from './search.ts';
import { demandOf, noMatch } from './stage-sentences.ts';

/** How the claims of an inventory are made; `unknown` until it has said so. */
export type ClaimMode = 'inline' | 'endpoint' | 'direct' | 'unknown';

export interface ReserveCommand {
  readonly request: ReservationRequest;
  /** As it was sent. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly digest: string;
  /** Whose instance it is: named by the request or by its caller's token. */
  readonly project?: string | undefined;
  /** The site that the caller is bound to. */
  readonly site?: string | undefined;
  /** What the caller does not see does not exist for it. */
  readonly isVisible: (fleet: FleetReader, node: StoredNode) => boolean;
  /** A fresh id, for the operation of a claim that is made outside. */
  readonly operation: OperationId;
  readonly claimModeOf: (inventory: InventoryName) => ClaimMode;
  readonly isLeaseLive: IsLeaseLive;
  readonly by: string;
  readonly nowMs: number;
}

export type ReserveAnswer =
  | { readonly kind: 'existing' | 'reserved' | 'allocating' }
  /** Committed with its counts, and refused all the same. */
  | { readonly kind: 'no-match'; readonly refusal: Refusal };

/** Each has one claim at a time at its inventory; more would only queue there. */
const ALLOCATIONS_MAX = 300;

/** Of a project, which could fill the journal with them for a day otherwise: no quota counts them. The answer has the same counts. */
const FAILED_KEPT_MAX = 500;

/** Nodes on which the ports of an instance could not be connected, before the others are left alone: their segments are the same. */
const UNCONNECTED_MAX = 8;

export function reserveNode(fleet: FleetReader, command: ReserveCommand): Decision<ReserveAnswer> {
  const { request } = command;
  const existing = fleet.get(RESERVATION, reservationId(request.instance));
  if (existing !== undefined && existing.doc.state !== 'error') return repeat(fleet, existing.doc, command);
  const [unsettled] = fleet.find(NODES_BY_CLAIM, request.instance);
  if (unsettled !== undefined) return refuse(claimUnsettled(request.instance, unsettled.id));
  const manager = findLiveManager(fleet, command);
  if ('code' in manager) return refuse(manager);
  const exceeded = refuseBeyondQuota(fleet, command);
  if (exceeded !== undefined) return refuse(exceeded);
  const search = searchFor(fleet, command);
  return 'code' in search ? refuse(search) : reserveBest(fleet, { ...command, search, manager });
}

/** That of a build was counted with its instance. */
function refuseBeyondQuota(fleet: FleetReader, { request, project }: ReserveCommand): Refusal | undefined {
  if (project === undefined || request.build !== undefined) return undefined;
  const { cpus: vcpus, memoryMiB } = request.requirements;
  return quotaProblem(fleet, project, { instances: 1, vcpus, memoryMiB });
}

/** A reservation belongs to the build that made it, and one that was made by hand to no build, although both request the same. */
function repeat(
  fleet: FleetReader,
  existing: Reservation,
  { request: { instance, build }, digest }: ReserveCommand,
): Decision<ReserveAnswer> {
  const own = buildOf(existing);
  if (own === build && existing.digest === digest) return accept([], { kind: 'existing' });
  return refuse(
    build === undefined && isOwnInstance(fleet, instance) ? ownInstance(instance) : requestDiffers(instance),
  );
}

interface ValidRequest extends ReserveCommand {
  readonly search: NodeSearch;
  readonly manager: Manager;
}

function reserveBest(fleet: FleetReader, command: ValidRequest): Decision<ReserveAnswer> {
  const { search } = command;
  const except = new Set(search.except);
  for (let tries = 0; tries < UNCONNECTED_MAX; tries += 1) {
    const chosen = chooseNode(fleet, { ...search, except });
    if (chosen === undefined) break;
    const reserved = reserveChosen(fleet, command, fleet.get(NODE, chosen) as StoredNode);
    if (reserved !== undefined) return reserved;
    except.add(chosen);
  }
  return recordNoMatch(fleet, command);
}

/** Undefined when the ports of the instance cannot be connected there. */
function reserveChosen(
  fleet: FleetReader,
  command: ValidRequest,
  node: StoredNode,
): Decision<ReserveAnswer> | undefined {
  const { claimModeOf, manager, operation, search, by, nowMs } = command;
  const reservation = composeReservation(command);
  const managerEpoch = manager.leaseEpoch;
  if (claimModeOf(node.doc.inventory) !== 'inline') {
    if (fleet.countOf(ALLOCATING_RESERVATIONS, 'allocating') >= ALLOCATIONS_MAX)
      return refuse(tooManyAllocations(ALLOCATIONS_MAX));
    const changes = beginAllocation({ reservation, node, managerEpoch, operation, by, nowMs });
    return accept(changes, { kind: 'allocating' });
  }
  const forBuild = takeForBuild(fleet, { reservation, node, by, nowMs });
  if (forBuild.kind === 'fault') return undefined;
  const { requirements } = search;
  const taken = takeNode(fleet, { node, reservation, managerEpoch, requirements, by, nowMs });
  return accept([...taken, ...forBuild.changes], { kind: 'reserved' });
}

function composeReservation({ request, body, digest, project, site, by, nowMs }: ReserveCommand): Reservation {
  return {
    instance: request.instance,
    manager: request.manager,
    ...(project !== undefined && { project }),
    ...(site !== undefined && { site }),
    state: 'active',
    digest,
    request: body,
    ignored: [...request.ignored],
    createdAtMs: nowMs,
    changedBy: by,
    changedAtMs: nowMs,
  };
}

function findLiveManager(fleet: FleetReader, { request, site, isLeaseLive }: ReserveCommand): Manager | Refusal {
  const id = managerId(request.manager);
  const doc = fleet.get(MANAGER, id)?.doc;
  // To a caller of one site a manager of another is as unknown as one that there is not.
  const isForeign = site !== undefined && doc?.site !== undefined && doc.site !== site;
  if (doc === undefined || isForeign) return managerNotRegistered(id);
  if (!isUnderLease(fleet, id, doc.leaseEpoch, isLeaseLive)) return managerLapsed(id);
  return doc.draining === undefined ? doc : managerDraining(id);
}

function recordNoMatch(fleet: FleetReader, command: ValidRequest): Decision<ReserveAnswer> {
  const { request, project, search, by, nowMs } = command;
  const stages = countAllStages(fleet, search);
  const isKept =
    fleet.get(RESERVATION, reservationId(request.instance)) !== undefined ||
    fleet.countOf(FAILED_RESERVATIONS, project ?? '') < FAILED_KEPT_MAX;
  const refusal = noMatch(request.instance, stages, { ...demandOf(request, project), isKept });
  if (!isKept) return refuse(refusal);
  const failed = failReservation(composeReservation(command), { reason: refusal, stages, by, nowMs });
  return accept([put(RESERVATION, reservationId(request.instance), failed)], { kind: 'no-match', refusal });
}
