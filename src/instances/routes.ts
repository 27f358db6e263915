// The HTTP surface of instances: list, show, create, dry run, delete. Actions on existing instances are in action-routes.ts. No decisions here.
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
  strictObject,
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
import { idOf, type FleetReader, type Refusal } from '../fleet/index.ts';
import { accept, type Decision } from '../journal/index.ts';
import { OPERATION } from '../operations/index.ts';
import { scopeReportToSite } from '../scheduler/index.ts';
import { instanceNames } from './build/request.ts';
import { createInstances, previewInstances, type CreateInstances } from './build/create.ts';
import type { Builders, Preview } from './builder.ts';
import { degradedPorts, findHostOff } from './degraded/degraded.ts';
import { findEnded } from './degraded/ended.ts';
import { DELETE_DEADLINE_MS } from './delete/delete.ts';
import { deleteInstances } from './delete/request.ts';
import { gateRoutes } from './gate-routes.ts';
import { FORCE, type InstanceUses } from './instance-use.ts';
import { instanceActionRoutes } from './action-routes.ts';
import {
  toCreateCommand,
  NEW_INSTANCES,
  STARTED_FIELDS,
  answerStarted,
  type NewInstances,
} from './build/create-command.ts';
import { siteOfInstance } from './scope.ts';
import {
  INSTANCE_SCHEMA,
  INSTANCES_BY_FLAVOR,
  INSTANCES_BY_GROUP,
  INSTANCES_BY_HOST,
  INSTANCES_BY_PROJECT,
  INSTANCES_BY_STATE,
  type Instance,
} from './model.ts';
import {
  explainReport,
  INSTANCE_REPRESENTATION,
  instanceToJsonText,
  PORTS_SCHEMA,
  ReportSchema,
  INSTANCE_READ_SCHEMA,
  NODE_STATUS_SCHEMA,
  NodeStagesSchema,
  instanceWithPortsToJsonText,
} from './representations.ts';

export interface InstanceRouteOptions {
  /** Whether this server has the credentials of the network back ends that need some. */
  readonly hasCredentials: () => boolean;
  readonly builders: Builders;
  readonly uses: InstanceUses;
}

const INSTANCES = '/api/v1/instances';

export function instanceRoutes(options: InstanceRouteOptions): Route[] {
  return [
    listInstances(),
    getInstance(options),
    createRoute(options),
    previewRoute(options),
    deleteRoute(options),
    ...instanceActionRoutes(options),
    ...gateRoutes(options),
  ];
}

function isDegraded(fleet: FleetReader, instance: { readonly doc: Instance }): boolean {
  const doesNotRun = findHostOff(fleet, instance) !== undefined || findEnded(instance) !== undefined;
  return doesNotRun || degradedPorts(fleet, instance).length > 0;
}

function listInstances(): Route {
  const { state, project } = INSTANCE_SCHEMA.properties;
  const listing: Listing<'instance', Instance> = {
    representation: INSTANCE_REPRESENTATION,
    text: instanceToJsonText,
    filters: {
      degraded: {
        schema: Type.Boolean({ description: 'active, and it does not run or not all of its ports are connected' }),
        valuesOf: (doc, _id, fleet) => [isDegraded(fleet, { doc })],
      },
      state: { schema: state, valuesOf: (doc) => [doc.state], index: INSTANCES_BY_STATE },
      host: { schema: HOST_REF, valuesOf: (doc) => [doc.host], index: INSTANCES_BY_HOST, names: 'host' },
      project: { schema: project, valuesOf: (doc) => [doc.project], index: INSTANCES_BY_PROJECT },
      flavor: { schema: ID, valuesOf: (doc) => [doc.flavor], index: INSTANCES_BY_FLAVOR },
      group: { schema: ID, valuesOf: (doc) => [doc.place.group], index: INSTANCES_BY_GROUP },
      site: { schema: ID, valuesOf: (doc, _id, fleet) => [siteOfInstance(doc, fleet)] },
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
    { listing, scope: 'site', forProjects: true, schema: INSTANCE_READ_SCHEMA },
  );
}

function getInstance({ builders }: InstanceRouteOptions): Route {
  const nodeStatus = Type.Optional(NODE_STATUS_SCHEMA);
  const schema = Type.Object({ ...INSTANCE_READ_SCHEMA.properties, nodeStatus, ports: PORTS_SCHEMA });
  return read({
    method: 'GET',
    path: `${INSTANCES}/:id`,
    tag: 'instances',
    about: 'Show an instance with its ports, its tries, and its fault',
    access: 'viewer',
    scope: 'site',
    forProjects: true,
    params: BY_ID,
    answers: { 200: { about: 'the instance, its ports in the order of its NICs', schema } },
    handle: ({ params, caller }, { journal: { fleet }, redactorFor }) => {
      const stored = findVisible(fleet, INSTANCE_REPRESENTATION, { caller, id: params.id });
      if (stored === undefined) return refusalAnswer(noSuch('instance', params.id, caller));
      // Ports change without their instance: the tag is good for If-Match, and a GET is never answered with 304.
      const headers = { etag: `"${stored.revision}"` };
      const status = builders.ofInstance(fleet, stored.id).readStatus?.(fleet, stored.id);
      return {
        kind: 'answer',
        status: 200,
        text: instanceWithPortsToJsonText(stored, fleet, status, redactorFor(caller, fleet)),
        headers,
      };
    },
  });
}

function createRoute({ hasCredentials, builders }: InstanceRouteOptions): Route {
  return write({
    method: 'POST',
    path: INSTANCES,
    tag: 'instances',
    about:
      'Create instances: use or create their ports, choose a host for each, and start the operation that builds them',
    access: 'operator',
    scope: 'site',
    forProjects: true,
    asksForNames: true,
    body: NEW_INSTANCES,
    answers: {
      202: {
        about: 'the operation to follow, and what the instances are called',
        schema: Type.Object({ ...STARTED_FIELDS, instances: Type.Array(Type.String()) }),
      },
    },
    handle: (call, world) => {
      const command = commandOf(call, world, hasCredentials());
      if ('code' in command) return refusalAnswer(command);
      return {
        why: command.why ?? whyOf(command),
        operation: command.operation,
        creates: namesOf(command),
        decide: (fleet) => createInstances(fleet, command, builders),
        answer: ({ result: created }) => answerStarted(created),
      };
    },
  });
}

type CreateCall = Call<unknown, unknown, NewInstances>;

function commandOf(
  { body, caller }: CreateCall,
  { clock, ids }: RouteContext,
  hasCredentials: boolean,
): CreateInstances | Refusal {
  const operation = idOf(OPERATION, ids.next('op'));
  const newId = (prefix: string): string => ids.next(prefix);
  return toCreateCommand(body, { caller, nowMs: clock.nowMs(), hasCredentials, operation, newId });
}

function namesOf(command: CreateInstances): NewNames {
  return { representation: INSTANCE_REPRESENTATION, names: instanceNames(command), fieldOf: () => '/name' };
}

function whyOf({ name, count }: CreateInstances): string {
  return count === 1 ? `create instance ${name}` : `create ${count} instances ${name}`;
}

const PreviewSchema = Type.Object({
  count: Type.Integer(),
  placed: Type.Integer({ description: 'how many would find a host' }),
  places: Type.Optional(
    Type.Array(
      Type.Object({
        name: Type.String(),
        host: Type.Optional(Type.String()),
        manager: Type.Optional(Type.String({ description: 'who would reserve a bare-metal node for it' })),
        pools: Type.Array(Type.String()),
      }),
      { description: 'which hosts, and the pool of each NIC; for operators' },
    ),
  ),
  report: Type.Optional(ReportSchema),
  nodes: Type.Optional(NodeStagesSchema),
});

/** Decided where a real request would be, on current state, and not committed. */
function previewRoute({ hasCredentials, builders }: InstanceRouteOptions): Route {
  return read({
    method: 'POST',
    path: `${INSTANCES}/preview`,
    tag: 'instances',
    about: 'Show where instances would go, or why they would not; nothing is created',
    plansOnFleet: true,
    access: 'viewer',
    scope: 'site',
    forProjects: true,
    asksForNames: true,
    onFollower: 'forward',
    body: NEW_INSTANCES,
    answers: { 200: { about: 'how many would find a host, and why the others would not', schema: PreviewSchema } },
    handle: async (call, world) => {
      const command = commandOf(call, world, hasCredentials());
      if ('code' in command) return refusalAnswer(command);
      const outcome = await world.submit(call.authority, {
        decide: (fleet): Decision<Preview> => {
          const denied = denyForeignNames(fleet, call.caller, namesOf(command));
          if (denied !== undefined) return { kind: 'refuse', refusal: denied };
          const preview = previewInstances(fleet, command, builders);
          return 'code' in preview ? { kind: 'refuse', refusal: preview } : accept([], preview);
        },
      });
      return outcome.kind === 'refused'
        ? refusalAnswer(outcome.refusal)
        : previewToJson(outcome.answer, { count: command.count, caller: call.caller });
    },
  });
}

interface PreviewOptions {
  readonly count: number;
  readonly caller: Caller;
}

function previewToJson({ placed, report, nodes }: Preview, { count, caller }: PreviewOptions): Answer {
  return answer({
    count,
    placed: placed.length,
    ...(permits(caller, 'operator') && caller.project === undefined && { places: placed }),
    ...(report !== undefined && {
      report: explainReport(caller.site === undefined ? report : scopeReportToSite(report)),
    }),
    ...(nodes !== undefined && { nodes }),
  });
}

function deleteRoute({ builders, uses }: InstanceRouteOptions): Route {
  return write({
    method: 'DELETE',
    path: `${INSTANCES}/:id`,
    tag: 'instances',
    about: 'Delete an instance: the ports created for it are deleted with it, ports of users are handed back',
    access: 'operator',
    scope: 'site',
    forProjects: true,
    params: BY_ID,
    query: strictObject({ force: FORCE }),
    answers: { 202: { about: 'the operation to follow', schema: Type.Object(STARTED_FIELDS) } },
    handle: ({ params: { id }, query: { force = false }, caller }, { clock, ids }) => {
      const operation = idOf(OPERATION, ids.next('op'));
      const command = { operation, by: caller.name, nowMs: clock.nowMs(), deadlineMs: DELETE_DEADLINE_MS };
      return {
        target: { representation: INSTANCE_REPRESENTATION, id },
        why: `delete instance ${id}`,
        operation,
        decide: (fleet) =>
          uses.decide(fleet, { id, disruption: 'delete', isForced: force, ...command }, () =>
            deleteInstances(fleet, { ids: [id], ...command }, builders),
          ),
        answer: ({ result: deleted }) => answerStarted(deleted),
      };
    },
  });
}
