// GET /api/v1/hosts/:id/tenants: what lives on a host, and what an evacuation would do now for each of them.
import { Type } from 'typebox';
import {
  answer,
  BY_ID,
  closed,
  permits,
  read,
  refused,
  seesSite,
  type Caller,
  type Route,
  type Sight,
} from '../access/index.ts';
import { onTrial, put, type FleetReader } from '../fleet/index.ts';
import {
  allSteps,
  findHost,
  HOST,
  planOn,
  unknownHost,
  type Evacuating,
  type Evacuation,
  type Evacuator,
} from '../hosts/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import type { Explain } from '../operations/index.ts';

export interface TenantRoutes {
  readonly evacuators: readonly Evacuator[];
  readonly explain: Explain;
}

/** Each tenant is tried out in the decider, where nothing else is decided meanwhile. */
const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1000;

const Evacuated = Type.Object({
  kind: Type.Enum(['move', 'rebuild', 'ends', 'wait']),
  how: Type.Optional(Type.String({ description: 'of a move: live or cold' })),
  to: Type.Optional(Type.String({ description: 'the host that would be chosen now; for operators' })),
  reason: Type.Optional(Type.Object({ code: Type.String() }, { additionalProperties: true })),
  sentence: Type.Optional(Type.String({ description: 'the reason, for a person' })),
});

const Tenants = Type.Object({
  host: Type.String(),
  count: Type.Integer({ description: 'how many there are in all, shown or not' }),
  tenants: Type.Array(Type.Object({ kind: Type.String(), id: Type.String(), evacuation: Evacuated }), {
    description: 'in the order of evacuators, then of ids',
  }),
});

export function tenantRoutes({ evacuators, explain }: TenantRoutes): Route[] {
  return [
    read({
      method: 'GET',
      path: '/api/v1/hosts/:id/tenants',
      tag: 'hosts',
      about: 'Show what lives on a host, and what an evacuation would do now for each of them',
      plansOnFleet: true,
      access: 'viewer',
      scope: 'site',
      elsewhere: 'forward',
      params: BY_ID,
      query: closed({
        limit: Type.Optional(
          Type.Integer({ minimum: 1, maximum: LIMIT_MAX, description: `at most ${LIMIT_MAX}, else ${LIMIT_DEFAULT}` }),
        ),
      }),
      answers: { 200: { about: 'the tenants of the host', schema: Tenants } },
      // Decided where an evacuation would be, on what is true there, and not committed.
      handle: async (
        { params: { id }, query: { limit = LIMIT_DEFAULT }, caller, authority },
        { submit, clock, sightOf },
      ) => {
        const nowMs = clock.nowMs();
        const decide = (fleet: FleetReader): Decision<object> => {
          const host = findHost(fleet, id);
          if (host === undefined || !seesSite(caller, host.doc.site)) return refuse(unknownHost(id));
          const { count, tenants } = livingOn(fleet, id, { evacuators, limit, within: caller.site, nowMs });
          const showing = { caller, explain, sight: sightOf(caller, fleet) };
          return accept([], { host: id, count, tenants: tenants.map((one) => shown(one, showing)) });
        };
        const outcome = await submit(authority, { decide });
        return outcome.kind === 'refused' ? refused(outcome.refusal) : answer(outcome.answer);
      },
    }),
  ];
}

interface Living {
  readonly count: number;
  readonly tenants: readonly Evacuating[];
}

interface Planning {
  readonly evacuators: readonly Evacuator[];
  readonly limit: number;
  /** Of a caller that is bound to a site: what it could have moved stays there. */
  readonly within: string | undefined;
  readonly nowMs: number;
}

/** How many tenants a host has, and what would be done for the first of them. */
function livingOn(fleet: FleetReader, host: string, { evacuators, limit, within, nowMs }: Planning): Living {
  return onTrial(fleet, (trial) => {
    const stored = findHost(trial, host);
    // As a scale-in finds it: nothing leaves a host that stays.
    if (stored?.doc.state === 'active') trial.add([put(HOST, stored.id, { ...stored.doc, state: 'draining' })]);
    let count = 0;
    const tenants = evacuators.flatMap((one) => {
      const here = one.inventory(trial, host);
      const first = here.slice(0, Math.max(0, limit - count));
      count += here.length;
      const leavers = [{ host, tenants: first, within }];
      return onTrial(trial, (own) => allSteps(planOn(one, own, leavers, { nowMs, explained: first.length })));
    });
    return { count, tenants };
  });
}

interface Showing {
  readonly caller: Caller;
  readonly explain: Explain;
  readonly sight: Sight | undefined;
}

/** What comes from another site is counted and not named before it is here. */
function shown({ tenant, evacuation }: Evacuating, showing: Showing): object {
  const id = showing.sight?.text(tenant.id) ?? tenant.id;
  return { kind: tenant.kind, id, evacuation: shownEvacuation(evacuation, showing) };
}

/** Which hosts have room is for operators to know. */
function shownEvacuation(evacuation: Evacuation, { caller, explain, sight }: Showing): object {
  if (evacuation.kind === 'ends') return evacuation;
  if (evacuation.kind === 'wait') {
    const reason = sight?.reason(evacuation.reason) ?? evacuation.reason;
    return { kind: 'wait', reason, sentence: explain(reason) };
  }
  const { to, ...rest } = evacuation;
  return permits(caller, 'operator') && sight?.sees(HOST.name, to) !== false ? { ...rest, to } : rest;
}
