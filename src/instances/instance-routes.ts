// The HTTP surface of instances: look at them, ask for some, ask what would become of asking, delete them. What is done to
// one that runs is in the file beside this one.
import { Type } from 'typebox';
import {
  answer,
  BY_ID,
  denyForeignNames,
  HOST_REF,
  ID,
  listRoute,
  noSuch,
  permits,
  read,
  refusalAnswer,
  findVisible,
  write,
  type Answer,
  type Call,
  type Caller,
  type Listing,
  type NewNames,
  type Route,
  type RouteContext,
} from '../access/index.ts';
import { idOf, type Refusal } from '../fleet/index.ts';
import { accept, type Decision } from '../journal/index.ts';
import { OPERATION } from '../operations/index.ts';
import { reportWithinSite } from '../scheduler/index.ts';
import { instanceNames } from './asked.ts';
import { createInstances, previewInstances, type CreateInstances, type Preview } from './create.ts';
import { degradedPorts } from './degraded.ts';
import { DELETE_DEADLINE_MS, deleteInstances } from './delete.ts';
import { gateRoutes } from './gate-routes.ts';
import { instanceActionRoutes } from './instance-action-routes.ts';
import { createCommand, NEW_INSTANCES, STARTED, started, type NewInstances } from './instance-request.ts';
import { siteOfInstance } from './instance-site.ts';
import {
  INSTANCE_SCHEMA,
  INSTANCES_BY_FLAVOR,
  INSTANCES_BY_GROUP,
  INSTANCES_BY_HOST,
  INSTANCES_BY_PROJECT,
  INSTANCES_BY_STATE,
  type Instance,
} from './model.ts';
import { explainedReport, INSTANCE_VIEW, instanceText, PORTS, Report, SHOWN_INSTANCE, textWithPorts } from './views.ts';

export interface InstanceRoutes {
  /** Whether this server has the credentials of the network back ends that need some. */
  readonly credentials: () => boolean;
}

const INSTANCES = '/api/v1/instances';

export function instanceRoutes(options: InstanceRoutes): Route[] {
  return [
    listInstances(),
    getInstance(),
    createRoute(options),
    previewRoute(options),
    deleteRoute(),
    ...instanceActionRoutes(options),
    ...gateRoutes(options),
  ];
}

function listInstances(): Route {
  const { state, project } = INSTANCE_SCHEMA.properties;
  const listing: Listing<'instance', Instance> = {
    representation: INSTANCE_VIEW,
    text: instanceText,
    filters: {
      degraded: {
        schema: Type.Boolean({ description: 'active, and not all of its ports are connected' }),
        valuesOf: (doc, _id, fleet) => [degradedPorts(fleet, { doc }).length > 0],
      },
      state: { schema: state, valuesOf: (doc) => [doc.state], index: INSTANCES_BY_STATE },
      host: { schema: HOST_REF, valuesOf: (doc) => [doc.host], index: INSTANCES_BY_HOST, names: 'host' },
      project: { schema: project, valuesOf: (doc) => [doc.project], index: INSTANCES_BY_PROJECT },
      flavor: { schema: ID, valuesOf: (doc) => [doc.flavor], index: INSTANCES_BY_FLAVOR },
      group: { schema: ID, valuesOf: (doc) => [doc.place.group], index: INSTANCES_BY_GROUP },
      site: { schema: ID, valuesOf: (doc, id, fleet) => [siteOfInstance(doc, id, fleet)] },
    },
    nameIsId: true,
    sorts: {
      name: (doc) => doc.name,
      state: (doc) => doc.state,
      project: (doc) => doc.project,
      createdAtMs: (doc) => doc.createdAtMs,
      changedAtMs: (doc) => doc.changedAtMs,
    },
  };
  return listRoute(
    { path: INSTANCES, plural: 'instances' },
    { listing, scope: 'site', forProjects: true, schema: SHOWN_INSTANCE },
  );
}

function getInstance(): Route {
  const schema = Type.Object({ ...SHOWN_INSTANCE.properties, ports: PORTS });
  return read({
    method: 'GET',
    path: `${INSTANCES}/:id`,
    tag: 'instances',
    about: 'Show an instance with its ports, what was tried for it, and on a fault why',
    access: 'viewer',
    scope: 'site',
    forProjects: true,
    params: BY_ID,
    answers: { 200: { about: 'the instance, its ports in the order of its NICs', schema } },
    handle: ({ params, caller }, { journal: { fleet }, redactorFor }) => {
      const stored = findVisible(fleet, INSTANCE_VIEW, { caller, id: params.id });
      if (stored === undefined) return refusalAnswer(noSuch('instance', params.id));
      // Ports change without their instance: the tag is good for If-Match, and nobody is told that nothing has changed.
      const headers = { etag: `"${stored.revision}"` };
      return { kind: 'answer', status: 200, text: textWithPorts(stored, fleet, redactorFor(caller, fleet)), headers };
    },
  });
}

function createRoute({ credentials }: InstanceRoutes): Route {
  return write({
    method: 'POST',
    path: INSTANCES,
    tag: 'instances',
    about: 'Create instances: take or make their ports, find each a host, and start the operation that builds them',
    access: 'operator',
    scope: 'site',
    forProjects: true,
    asksForNames: true,
    body: NEW_INSTANCES,
    answers: {
      202: {
        about: 'the operation to follow, and what the instances are called',
        schema: Type.Object({ ...STARTED, instances: Type.Array(Type.String()) }),
      },
    },
    handle: (call, world) => {
      const command = commandOf(call, world, credentials());
      if ('code' in command) return refusalAnswer(command);
      return {
        why: command.why ?? whyOf(command),
        operation: command.operation,
        creates: namesOf(command),
        decide: (fleet) => createInstances(fleet, command),
        answer: (created) => started(created),
      };
    },
  });
}

type Asking = Call<unknown, unknown, NewInstances>;

function commandOf(
  { body, caller }: Asking,
  { clock, ids }: RouteContext,
  credentials: boolean,
): CreateInstances | Refusal {
  const operation = idOf(OPERATION, ids.next('op'));
  const newId = (prefix: string): string => ids.next(prefix);
  return createCommand(body, { caller, nowMs: clock.nowMs(), credentials, operation, newId });
}

function namesOf(command: CreateInstances): NewNames {
  return { representation: INSTANCE_VIEW, names: instanceNames(command), fieldOf: () => '/name' };
}

function whyOf({ name, count }: CreateInstances): string {
  return count === 1 ? `create instance ${name}` : `create ${count} instances ${name}`;
}

const Previewed = Type.Object({
  count: Type.Integer(),
  placed: Type.Integer({ description: 'how many would find a host' }),
  places: Type.Optional(
    Type.Array(Type.Object({ name: Type.String(), host: Type.String(), pools: Type.Array(Type.String()) }), {
      description: 'which hosts, and the pool of each NIC; for operators',
    }),
  ),
  report: Type.Optional(Report),
});

/** Decided where a real request would be, on what is true there, and not committed. */
function previewRoute({ credentials }: InstanceRoutes): Route {
  return read({
    method: 'POST',
    path: `${INSTANCES}/preview`,
    tag: 'instances',
    about: 'Ask where instances would go, or why they would not; nothing is made',
    plansOnFleet: true,
    access: 'viewer',
    scope: 'site',
    forProjects: true,
    asksForNames: true,
    onFollower: 'forward',
    body: NEW_INSTANCES,
    answers: { 200: { about: 'how many would find a host, and why the others would not', schema: Previewed } },
    handle: async (call, world) => {
      const command = commandOf(call, world, credentials());
      if ('code' in command) return refusalAnswer(command);
      const outcome = await world.submit(call.authority, {
        decide: (fleet): Decision<Preview> => {
          const denied = denyForeignNames(fleet, call.caller, namesOf(command));
          if (denied !== undefined) return { kind: 'refuse', refusal: denied };
          const preview = previewInstances(fleet, command);
          return 'code' in preview ? { kind: 'refuse', refusal: preview } : accept([], preview);
        },
      });
      return outcome.kind === 'refused'
        ? refusalAnswer(outcome.refusal)
        : previewAnswer(outcome.answer, { count: command.count, caller: call.caller });
    },
  });
}

interface PreviewAsked {
  readonly count: number;
  readonly caller: Caller;
}

function previewAnswer({ placed, report }: Preview, { count, caller }: PreviewAsked): Answer {
  return answer({
    count,
    placed: placed.length,
    ...(permits(caller, 'operator') && caller.project === undefined && { places: placed }),
    ...(report !== undefined && {
      report: explainedReport(caller.site === undefined ? report : reportWithinSite(report)),
    }),
  });
}

function deleteRoute(): Route {
  return write({
    method: 'DELETE',
    path: `${INSTANCES}/:id`,
    tag: 'instances',
    about: 'Delete an instance: the ports made for it go with it, ports of users are handed back',
    access: 'operator',
    scope: 'site',
    forProjects: true,
    params: BY_ID,
    answers: { 202: { about: 'the operation to follow', schema: Type.Object(STARTED) } },
    handle: ({ params, caller }, { clock, ids }) => {
      const operation = idOf(OPERATION, ids.next('op'));
      const asked = { operation, by: caller.name, nowMs: clock.nowMs(), deadlineMs: DELETE_DEADLINE_MS };
      return {
        target: { view: INSTANCE_VIEW, id: params.id },
        why: `delete instance ${params.id}`,
        operation,
        decide: (fleet) => deleteInstances(fleet, { ids: [params.id], ...asked }),
        answer: (deleted) => started(deleted),
      };
    },
  });
}
