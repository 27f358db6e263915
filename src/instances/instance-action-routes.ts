// What is done to an instance that is there: move it, shelve it and bring it back, build it anew when its host is gone.
import { Type, type Static, type TProperties } from 'typebox';
import { BY_ID, strictObject, HOST_REF, write, type Caller, type Route } from '../access/index.ts';
import { idOf, type FleetReader, type Refusal } from '../fleet/index.ts';
import { findHost } from '../hosts/index.ts';
import { refuse, type Decision } from '../journal/index.ts';
import { OPERATION, type OperationId } from '../operations/index.ts';
import { ASKED, STARTED, started } from './instance-request.ts';
import { moveInstances } from './move.ts';
import { rebuildInstances } from './rebuild.ts';
import { shelveInstance, unshelveInstance } from './shelve.ts';
import { INSTANCE_VIEW } from './views.ts';

export interface ActionRoutes {
  /** Whether this server has the credentials of the network back ends that need some. */
  readonly credentials: () => boolean;
}

const ACTION_DEADLINE_MS = 3600 * 1000;

const MOVE = {
  kind: Type.Optional(Type.Enum(['live', 'cold'], { description: 'live unless said: it runs on while it moves' })),
  host: Type.Optional(Type.String({ ...HOST_REF, description: 'where to, by any id of it; else one is found' })),
};

export function instanceActionRoutes({ credentials }: ActionRoutes): Route[] {
  return [
    action(credentials, {
      verb: 'move',
      about: 'Move an instance to another host, running (live) or stopped (cold), with its ports and addresses',
      fields: MOVE,
      decide: (fleet, { id, caller, body: { kind = 'live', host }, asked }) => {
        const barred = host === undefined ? undefined : leavesSite(fleet, { caller, id, host });
        if (barred !== undefined) return refuse(barred);
        const target = host === undefined ? {} : { target: host };
        return moveInstances(fleet, { ids: [id], kind, ...target, ...asked, within: caller.site });
      },
    }),
    action(credentials, {
      verb: 'shelve',
      forProjects: true,
      about: 'Take an instance off its host and keep it, with its ports and addresses',
      fields: {},
      decide: (fleet, { id, asked, given }) => shelveInstance(fleet, { id, ...asked, credentials: given }),
    }),
    action(credentials, {
      verb: 'unshelve',
      forProjects: true,
      about: 'Find a shelved instance a host and build it there',
      fields: {},
      decide: (fleet, { id, asked, given }) => unshelveInstance(fleet, { id, ...asked, credentials: given }),
    }),
    action(credentials, {
      verb: 'rebuild',
      about: 'Build an instance elsewhere with the same ports, when its host is forced down',
      fields: {},
      decide: (fleet, { id, caller, asked }) => rebuildInstances(fleet, { ids: [id], ...asked, within: caller.site }),
    }),
  ];
}

interface Asked {
  readonly operation: OperationId;
  readonly by: string;
  readonly why?: string;
  readonly nowMs: number;
  readonly deadlineMs: number;
}

interface Ask<B> {
  readonly id: string;
  readonly caller: Caller;
  readonly body: B;
  readonly asked: Asked;
  /** Whether the credentials are there. */
  readonly given: boolean;
}

interface Action<F extends TProperties> {
  readonly verb: string;
  readonly about: string;
  readonly forProjects?: true;
  /** What may be said beside a reason and a deadline. */
  readonly fields: F;
  readonly decide: (
    fleet: FleetReader,
    ask: Ask<Static<ReturnType<typeof Type.Object<F>>>>,
  ) => Decision<{ readonly operation: OperationId }>;
}

function action<F extends TProperties>(
  credentials: () => boolean,
  { verb, about, forProjects, fields, decide }: Action<F>,
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
    body: strictObject({ ...fields, ...ASKED }),
    answers: { 202: { about: 'the operation to follow', schema: Type.Object(STARTED) } },
    handle: ({ params: { id }, body, caller }, { clock, ids }) => {
      const operation = idOf(OPERATION, ids.next('op'));
      const { reason: why, deadlineMs = ACTION_DEADLINE_MS } = body as Static<typeof ASKED_ONLY>;
      const said = why === undefined ? {} : { why };
      const given = credentials();
      const asked: Asked = { operation, by: caller.name, ...said, nowMs: clock.nowMs(), deadlineMs };
      return {
        target: { view: INSTANCE_VIEW, id },
        why: why === undefined ? `${verb} instance ${id}` : `${verb}: ${why}`,
        operation,
        decide: (fleet) => decide(fleet, { id, caller, body: body as Ask<never>['body'], asked, given }),
        answer: (begun) => started(begun),
      };
    },
  });
}

const ASKED_ONLY = Type.Object(ASKED);

interface Leaving {
  readonly caller: Caller;
  readonly id: string;
  /** Where it is to go. */
  readonly host: string;
}

/** A site-bound caller sends nothing out of its site. Where no host is named, the operation keeps to the site by itself. */
function leavesSite(fleet: FleetReader, { caller, id, host }: Leaving): Refusal | undefined {
  if (caller.site === undefined || findHost(fleet, host)?.doc.site === caller.site) return undefined;
  const message = `Your token is bound to site "${caller.site}": host "${host}" is not of that site.`;
  return { kind: 'forbidden', code: 'other-site', message, field: '/host', facts: { instance: id } };
}
