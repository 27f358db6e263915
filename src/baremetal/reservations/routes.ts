// The HTTP surface of reservations: request a node, read, release. No decisions here. The body keeps the spelling of the specification.
import { Type } from 'typebox';
import {
  answer,
  BY_ID,
  denyOtherProject,
  findVisible,
  ID,
  listRoute,
  otherManager,
  problemAnswer,
  read,
  readResource,
  refusalAnswer,
  renderCommitted,
  write,
  type Answer,
  type Call,
  type Caller,
  type Listing,
  type Resource,
  type Route,
  type RouteContext,
} from '../../access/index.ts';
import { idOf, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { OPERATION } from '../../operations/index.ts';
import type { IsLeaseLive } from '../managers/leases.ts';
import {
  canonicalRequest,
  parseReservationBody,
  REQUEST_BYTES_MAX,
  RESERVATION_BODY,
  type ReservationBody,
  type ReservationRequest,
} from '../matching/request.ts';
import { NODE, RESERVATION_STATES, type InventoryName, type Reservation } from '../model.ts';
import { NODE_REPRESENTATION } from '../representations.ts';
import { reservationId, type StoredReservation } from './documents.ts';
import { buildOfManager, malformedReservation } from './refusals.ts';
import { releaseReservation } from './release.ts';
import { RESERVATION_REPRESENTATION } from './representation.ts';
import { reserveNode, type ClaimMode, type ReserveAnswer, type ReserveCommand } from './reserve.ts';
import { waitUntilSettled } from './settled.ts';

export interface ReservationRoutes {
  readonly claimModeOf: (inventory: InventoryName) => ClaimMode;
  readonly isLeaseLive: IsLeaseLive;
}

const RESERVATIONS: Resource<'reservation', Reservation> = {
  path: '/api/v1/reservations',
  plural: 'reservations',
  singular: 'reservation',
  representation: RESERVATION_REPRESENTATION,
};

const LISTING: Listing<'reservation', Reservation> = {
  representation: RESERVATION_REPRESENTATION,
  filters: {
    state: { schema: Type.Enum(RESERVATION_STATES), valuesOf: (doc) => [doc.state] },
    manager: { schema: ID, valuesOf: (doc) => [doc.manager], names: 'manager' },
    node: { schema: ID, valuesOf: (doc) => [doc.node], names: 'node' },
    project: { schema: ID, valuesOf: (doc) => [doc.project] },
    site: {
      schema: ID,
      valuesOf: (doc, _id, fleet) => [RESERVATION_REPRESENTATION.siteOf(doc, fleet)],
    },
  },
  sorts: { state: (doc) => doc.state, createdAtMs: (doc) => doc.createdAtMs, changedAtMs: (doc) => doc.changedAtMs },
};

/** How long an answer waits for the inventory before it says that it will take longer. */
const SETTLE_MS = 2000;

const FOR = { tag: 'reservations', scope: 'site', forProjects: true, forManagers: true } as const;

export function reservationRoutes(parts: ReservationRoutes): Route[] {
  return [
    listRoute(RESERVATIONS, { listing: LISTING, scope: 'site', forProjects: true }),
    showReservation,
    createReservation(parts),
    releaseRoute,
  ];
}

const showReservation = read({
  ...FOR,
  method: 'GET',
  path: `${RESERVATIONS.path}/:id`,
  about: 'Show a reservation; one that failed, with how many nodes were left after each stage, for a day',
  access: 'viewer',
  params: BY_ID,
  answers: { 200: { about: 'the reservation', schema: RESERVATION_REPRESENTATION.schema } },
  handle: (call, { journal, redactorFor }) => {
    const { fleet } = journal;
    const denied = denyOtherManager(
      fleet,
      call.caller,
      fleet.get(RESERVATION_REPRESENTATION.kind, reservationId(call.params.id)),
    );
    if (denied !== undefined) return refusalAnswer(denied);
    return readResource(fleet, RESERVATION_REPRESENTATION, call, redactorFor(call.caller, fleet));
  },
});

function createReservation(parts: ReservationRoutes): Route {
  const shown = { schema: RESERVATION_REPRESENTATION.schema };
  return write({
    ...FOR,
    method: 'POST',
    path: RESERVATIONS.path,
    about: 'Reserve a node for an instance; the fields are those of a flavor and an image, null is as good as absent',
    access: 'operator',
    asksForNames: true,
    body: RESERVATION_BODY,
    bodyBytesMax: REQUEST_BYTES_MAX,
    answers: {
      200: { about: 'the same was asked for before: the reservation as it is', ...shown },
      201: { about: 'the node is reserved', ...shown },
      202: { about: 'the inventory is being asked; poll the Location', ...shown },
    },
    handle: (call, context) => {
      const request = validateCall(call);
      if ('code' in request) return refusalAnswer(request);
      const id = request.instance;
      const command = composeCommand(call, { request, parts, context });
      return {
        creates: { representation: RESERVATION_REPRESENTATION, names: [id], fieldOf: () => '/instance_uuid' },
        why: `reserve a node for ${id}`,
        decide: (fleet) => reserveNode(fleet, command),
        answer: ({ result: reserved, after }) =>
          reserved.kind === 'no-match'
            ? problemAnswer(reserved.refusal, call.requestId)
            : renderCommitted(RESERVATION_REPRESENTATION, after, { id, ...STATUS[reserved.kind](id) }),
        settle: async (committed) => {
          if (committed.status !== ACCEPTED) return undefined;
          const settled = await waitUntilSettled(context, { id: reservationId(id), maxMs: SETTLE_MS });
          return settled === undefined ? undefined : answerSettled(settled, call, context);
        },
      };
    },
  });
}

const ACCEPTED = 202;
type ReservedKind = Exclude<ReserveAnswer['kind'], 'no-match'>;

const locationOf = (id: string): { readonly location: string } => ({ location: `${RESERVATIONS.path}/${id}` });
const STATUS: Readonly<Record<ReservedKind, (id: string) => { readonly status: number; readonly location?: string }>> =
  {
    existing: () => ({ status: 200 }),
    reserved: (id) => ({ status: 201, ...locationOf(id) }),
    allocating: (id) => ({ status: ACCEPTED, ...locationOf(id) }),
  };

type ReserveCall = Call<unknown, unknown, ReservationBody>;

/** What can be said without the fleet. */
function validateCall({ body, caller }: ReserveCall): ReservationRequest | Refusal {
  const request = parseReservationBody(body);
  if (!('requirements' in request)) return malformedReservation(request);
  if (caller.manager !== undefined && caller.manager !== request.manager)
    return otherManager(caller.manager, request.manager);
  if (request.build !== undefined && caller.manager === undefined) return buildOfManager(request.build);
  return denyOtherProject(caller, request.project) ?? request;
}

interface CallParts {
  readonly request: ReservationRequest;
  readonly parts: ReservationRoutes;
  readonly context: RouteContext;
}

function composeCommand({ body, caller }: ReserveCall, { request, parts, context }: CallParts): ReserveCommand {
  const { clock, ids, hash } = context;
  const project = request.project ?? caller.project;
  return {
    request,
    body,
    digest: hash(canonicalRequest(body)),
    ...(project !== undefined && { project }),
    ...(caller.site !== undefined && { site: caller.site }),
    isVisible: (fleet, { id }) => findVisible(fleet, NODE_REPRESENTATION, { caller, id }) !== undefined,
    operation: idOf(OPERATION, ids.next('op')),
    ...parts,
    by: caller.name,
    nowMs: clock.nowMs(),
  };
}

function answerSettled({ id, doc, revision }: StoredReservation, call: ReserveCall, context: RouteContext): Answer {
  const { reason, stages, state } = doc;
  if (state === 'error' && reason !== undefined) {
    return problemAnswer(
      { ...reason, facts: { instance: id, ...(stages !== undefined && { stages }) } },
      call.requestId,
    );
  }
  const redactor = context.redactorFor(call.caller, context.journal.fleet);
  const after = { revision, redactor, get: context.journal.fleet.get.bind(context.journal.fleet) };
  return renderCommitted(RESERVATION_REPRESENTATION, after, { id, status: 201, ...locationOf(id) });
}

const Released = Type.Object({
  state: Type.Enum(['released', 'releasing']),
  operation: Type.Optional(Type.String({ description: 'the operation that cleans the node, or gives it back' })),
});

const releaseRoute = write({
  ...FOR,
  method: 'DELETE',
  path: `${RESERVATIONS.path}/:id`,
  about: 'Release a reservation, whatever its state; a node to which something was deployed is cleaned first',
  access: 'operator',
  params: BY_ID,
  answers: {
    200: { about: 'it is gone, or never was', schema: Released },
    202: { about: 'it goes when the node is clean; nothing can stop that', schema: Released },
  },
  handle: ({ params, caller }, { clock, ids }) => {
    const { id: instance } = params;
    const operation = idOf(OPERATION, ids.next('op'));
    const command = { instance, operation, by: caller.name, nowMs: clock.nowMs() };
    return {
      why: `release the reservation of ${instance}`,
      decide: (fleet) => {
        const stored = findVisible(fleet, RESERVATION_REPRESENTATION, { caller, id: instance });
        const denied = denyFormerManager(fleet, caller, stored);
        if (denied !== undefined) return refusalAnswer(denied);
        return releaseReservation(fleet, stored, command);
      },
      answer: ({ result: release }) =>
        release.kind === 'released'
          ? answer({ state: 'released' })
          : answer({ state: 'releasing', operation: release.operation }, ACCEPTED),
    };
  },
});

/** A manager's token is for what it requested, and for what it has. */
function denyOtherManager(
  fleet: FleetReader,
  { manager }: Caller,
  stored: StoredReservation | undefined,
): Refusal | undefined {
  if (manager === undefined || stored === undefined) return undefined;
  const present = managerOf(fleet, stored);
  return [stored.doc.manager, present].includes(manager) ? undefined : otherManager(manager, present);
}

/** A manager that requested a node which another one has by now has no more rights to it. */
function denyFormerManager(
  fleet: FleetReader,
  { manager }: Caller,
  stored: StoredReservation | undefined,
): Refusal | undefined {
  if (manager === undefined || stored === undefined) return undefined;
  const present = managerOf(fleet, stored);
  return manager === present ? undefined : otherManager(manager, present);
}

/** The manager of its node; before there is one, the one that requested it. */
function managerOf(fleet: FleetReader, { doc: { node, manager } }: StoredReservation): string {
  const present = node === undefined ? undefined : fleet.get(NODE, idOf(NODE, node))?.doc.manager;
  return present ?? manager;
}
