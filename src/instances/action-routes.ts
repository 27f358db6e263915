// The HTTP surface of actions on existing instances: move, shelve, unshelve, rebuild. No decisions here.
import { Type, type Static, type TProperties } from 'typebox';
import { BY_ID, strictObject, HOST_REF, write, type Caller, type Route } from '../access/index.ts';
import { idOf, type FleetReader, type Refusal } from '../fleet/index.ts';
import { findHost } from '../hosts/index.ts';
import { refuse, type Decision } from '../journal/index.ts';
import { OPERATION, type OperationId } from '../operations/index.ts';
import { POWER_ACTIONS, type Builders, type InstanceVerb } from './builder.ts';
import { OPERATION_FIELDS, STARTED_FIELDS, answerStarted } from './build/create-command.ts';
import { FORCE, type Disruption, type InstanceUses } from './instance-use.ts';
import { moveInstances } from './move/move.ts';
import { rebuildInstances } from './shelve-rebuild/rebuild.ts';
import { shelveInstance, unshelveInstance } from './shelve-rebuild/shelve.ts';
import { INSTANCE_REPRESENTATION } from './representations.ts';

export interface ActionRouteOptions {
  /** Whether this server has the credentials of the network back ends that need some. */
  readonly hasCredentials: () => boolean;
  readonly builders: Builders;
  readonly uses: InstanceUses;
}

const ACTION_DEADLINE_MS = 3600 * 1000;

const MOVE = {
  kind: Type.Optional(Type.Enum(['live', 'cold'], { description: 'live by default: it keeps running while it moves' })),
  host: Type.Optional(Type.String({ ...HOST_REF, description: 'the target, by any id of it; chosen by default' })),
  force: FORCE,
};

export function instanceActionRoutes(options: ActionRouteOptions): Route[] {
  return [
    actionRoute(options, {
      verb: 'move',
      about: 'Move an instance to another host, running (live) or stopped (cold), with its ports and addresses',
      fields: MOVE,
      disruptionOf: () => 'move',
      decide: (fleet, { id, caller, body: { kind = 'live', host }, operation }) => {
        const barred = host === undefined ? undefined : siteLimitProblem(fleet, { caller, id, host });
        if (barred !== undefined) return refuse(barred);
        const target = host === undefined ? {} : { target: host };
        return moveInstances(fleet, { ids: [id], kind, ...target, ...operation, within: caller.site });
      },
    }),
    actionRoute(options, {
      verb: 'shelve',
      forProjects: true,
      about: 'Take an instance off its host and keep it, with its ports and addresses',
      fields: { force: FORCE },
      disruptionOf: () => 'shelve',
      decide: (fleet, { id, operation, hasCredentials }) => shelveInstance(fleet, { id, ...operation, hasCredentials }),
    }),
    actionRoute(options, {
      verb: 'unshelve',
      forProjects: true,
      about: 'Choose a host for a shelved instance and build it there',
      fields: {},
      decide: (fleet, { id, operation, hasCredentials }) =>
        unshelveInstance(fleet, { id, ...operation, hasCredentials }),
    }),
    actionRoute(options, {
      verb: 'rebuild',
      about: 'Build an instance elsewhere with the same ports, when its host is forced down',
      fields: {},
      decide: (fleet, { id, caller, operation }) =>
        rebuildInstances(fleet, { ids: [id], ...operation, within: caller.site }, options.uses),
    }),
    actionRoute(options, {
      verb: 'power',
      forProjects: true,
      about: 'Switch an instance on or off, or off and on again; where its builder can do that',
      fields: { power: Type.Enum(POWER_ACTIONS, { description: '`reboot`: off, and on again' }), force: FORCE },
      disruptionOf: ({ power }) => (power === 'on' ? undefined : 'power-off'),
      decide: (fleet, { id, operation, body: { power } }) => {
        const { name, beginPower } = options.builders.ofInstance(fleet, id);
        if (beginPower === undefined) throw new Error(`builder "${name}" switches nothing, and does not say so`);
        return beginPower(fleet, { id, power, ...operation });
      },
    }),
  ];
}

interface RequestedOperation {
  readonly operation: OperationId;
  readonly by: string;
  readonly why?: string;
  readonly nowMs: number;
  readonly deadlineMs: number;
}

interface ActionRequest<B> {
  readonly id: string;
  readonly caller: Caller;
  readonly body: B;
  readonly operation: RequestedOperation;
  /** Whether the credentials are there. */
  readonly hasCredentials: boolean;
}

interface ActionRoute<F extends TProperties> {
  readonly verb: InstanceVerb;
  readonly about: string;
  readonly forProjects?: true;
  /** The fields beside a reason and a deadline. */
  readonly fields: F;
  /** What it does to whatever runs on the instance; such an action has the field `force`. */
  readonly disruptionOf?: (body: Static<ReturnType<typeof Type.Object<F>>>) => Disruption | undefined;
  readonly decide: (
    fleet: FleetReader,
    actionRequest: ActionRequest<Static<ReturnType<typeof Type.Object<F>>>>,
  ) => Decision<{ readonly operation: OperationId }>;
}

function actionRoute<F extends TProperties>(
  options: ActionRouteOptions,
  { verb, about, forProjects, fields, disruptionOf, decide }: ActionRoute<F>,
): Route {
  return write({
    method: 'POST',
    path: `/api/v1/instances/:id/${verb}`,
    tag: 'instances',
    about,
    access: 'operator',
    scope: 'site',
    ...(forProjects && { forProjects }),
    params: BY_ID,
    body: strictObject({ ...fields, ...OPERATION_FIELDS }),
    answers: { 202: { about: 'the operation to follow', schema: Type.Object(STARTED_FIELDS) } },
    handle: ({ params: { id }, body, caller }, { clock, ids }) => {
      const operation = idOf(OPERATION, ids.next('op'));
      const { reason: why, deadlineMs = ACTION_DEADLINE_MS } = body as Static<typeof OPERATION_FIELDS_SCHEMA>;
      const said = why === undefined ? {} : { why };
      const hasCredentials = options.hasCredentials();
      const request: RequestedOperation = { operation, by: caller.name, ...said, nowMs: clock.nowMs(), deadlineMs };
      return {
        target: { representation: INSTANCE_REPRESENTATION, id },
        why: why === undefined ? `${verb} instance ${id}` : `${verb}: ${why}`,
        operation,
        decide: (fleet) => {
          const barred = options.builders.verbProblem(fleet, id, verb);
          if (barred !== undefined) return refuse(barred);
          const requestBody = body as ActionRequest<never>['body'];
          const decideAction = () =>
            decide(fleet, { id, caller, body: requestBody, operation: request, hasCredentials });
          const disruption = disruptionOf?.(requestBody);
          if (disruption === undefined) return decideAction();
          const isForced = (body as { readonly force?: boolean }).force === true;
          return options.uses.decide(fleet, { id, disruption, isForced, ...request }, decideAction);
        },
        answer: ({ result: started }) => answerStarted(started),
      };
    },
  });
}

const OPERATION_FIELDS_SCHEMA = Type.Object(OPERATION_FIELDS);

interface MoveTarget {
  readonly caller: Caller;
  readonly id: string;
  /** The requested target. */
  readonly host: string;
}

/** A site-bound caller moves nothing out of its site. Without a named host, the operation keeps to the site by itself. */
function siteLimitProblem(fleet: FleetReader, { caller, id, host }: MoveTarget): Refusal | undefined {
  if (caller.site === undefined || findHost(fleet, host)?.doc.site === caller.site) return undefined;
  const message = `Your token is bound to site "${caller.site}": host "${host}" is not of that site. Name a host of your site, or none.`;
  return { kind: 'forbidden', code: 'other-site', message, field: '/host', facts: { instance: id } };
}
