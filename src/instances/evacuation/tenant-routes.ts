// GET /api/v1/hosts/:id/tenants: what lives on a host, and what an evacuation would do now for each tenant. It commits nothing.
import { Type } from 'typebox';
import {
  answer,
  BY_ID,
  strictObject,
  permits,
  read,
  refusalAnswer,
  canSeeSite,
  type Caller,
  type Route,
  type Redactor,
} from '../../access/index.ts';
import type { Refusal, Steps } from '../../fleet/index.ts';
import {
  EVACUATION_KINDS,
  findHost,
  HOST,
  planInSlices,
  planBatchInSteps,
  siteToStayIn,
  unknownHost,
  type PlannedEvacuation,
  type Evacuation,
  type Evacuator,
  type Slices,
  type StoredHost,
} from '../../hosts/index.ts';
import type { Explain } from '../../operations/index.ts';

export interface TenantRouteOptions {
  readonly evacuators: readonly Evacuator[];
  readonly explain: Explain;
}

/** Each tenant is tried in the decider, which holds up every other decision. */
const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 1000;

const EvacuationSchema = Type.Object({
  kind: Type.Enum(['move', 'drain', 'rebuild', 'ends', 'wait'], { description: EVACUATION_KINDS }),
  how: Type.Optional(Type.String({ description: 'of a move: live or cold' })),
  to: Type.Optional(Type.String({ description: 'the host that would be chosen now; for operators' })),
  reason: Type.Optional(Type.Object({ code: Type.String() }, { additionalProperties: true })),
  sentence: Type.Optional(Type.String({ description: 'the reason, for a person' })),
});

const TenantsSchema = Type.Object({
  host: Type.String(),
  count: Type.Integer({ description: 'how many there are in all, shown or not' }),
  tenants: Type.Array(Type.Object({ kind: Type.String(), id: Type.String(), evacuation: EvacuationSchema }), {
    description: 'in the order of evacuators, then of ids',
  }),
});

export function tenantRoutes({ evacuators, explain }: TenantRouteOptions): Route[] {
  return [
    read({
      method: 'GET',
      path: '/api/v1/hosts/:id/tenants',
      tag: 'hosts',
      about: 'Show what lives on a host, and what an evacuation would do now for each of them',
      plansOnFleet: true,
      access: 'viewer',
      scope: 'site',
      onFollower: 'forward',
      params: BY_ID,
      query: strictObject({
        limit: Type.Optional(
          Type.Integer({ minimum: 1, maximum: LIMIT_MAX, description: `at most ${LIMIT_MAX}, else ${LIMIT_DEFAULT}` }),
        ),
      }),
      answers: { 200: { about: 'the tenants of the host', schema: TenantsSchema } },
      // Planned in the decider, where an evacuation would be, on current state, and not committed.
      handle: async ({ params: { id }, query: { limit = LIMIT_DEFAULT }, caller, authority }, world) => {
        const nowMs = world.clock.nowMs();
        const made = await planInSlices(world, authority, function* livingSteps(slices): Steps<object | Refusal> {
          const { fleet } = slices;
          const host = findHost(fleet, id);
          if (host === undefined || !canSeeSite(caller, host.doc.site)) return unknownHost(id);
          const { count, tenants } = yield* planTenants(slices, host, {
            evacuators,
            limit,
            within: caller.site,
            nowMs,
          });
          const showing = { caller, explain, sight: world.redactorFor(caller, fleet) };
          return { host: id, count, tenants: tenants.map((one) => tenantToJson(one, showing)) };
        });
        if ('code' in made) return refusalAnswer(made);
        return 'code' in made.plan ? refusalAnswer(made.plan) : answer(made.plan);
      },
    }),
  ];
}

interface HostTenants {
  readonly count: number;
  readonly tenants: readonly PlannedEvacuation[];
}

interface TenantPlanOptions {
  readonly evacuators: readonly Evacuator[];
  readonly limit: number;
  /** For a site-bound caller: tenants of a host that nothing drains stay there. */
  readonly within: string | undefined;
  readonly nowMs: number;
}

/** The number of tenants of a host, and the plan for the first of them, as its drain plans it, or as one would that is started now. */
function* planTenants(
  slices: Slices,
  host: StoredHost,
  { evacuators, limit, within, nowMs }: TenantPlanOptions,
): Steps<HostTenants> {
  const planned = yield* planBatchInSteps(slices, evacuators, {
    hosts: [host],
    siteToStayIn: ({ id }) => siteToStayIn(slices.fleet, id, within),
    nowMs,
    explained: limit,
    readIn: within,
  });
  const tenants = planned.flatMap(({ evacuating }) => evacuating);
  return { count: tenants.length, tenants: tenants.slice(0, limit) };
}

interface TenantRenderContext {
  readonly caller: Caller;
  readonly explain: Explain;
  readonly sight: Redactor | undefined;
}

/** A tenant that arrives from another site is counted and not named before it is here. */
function tenantToJson({ tenant, evacuation }: PlannedEvacuation, showing: TenantRenderContext): object {
  const id = showing.sight?.redactText(tenant.id) ?? tenant.id;
  return { kind: tenant.kind, id, evacuation: evacuationToJson(evacuation, showing) };
}

/** Which hosts have free capacity is for operators only. */
function evacuationToJson(evacuation: Evacuation, { caller, explain, sight }: TenantRenderContext): object {
  if (evacuation.kind === 'wait') {
    const reason = sight?.redactReason(evacuation.reason) ?? evacuation.reason;
    return { kind: 'wait', reason, sentence: explain(reason) };
  }
  if (!('to' in evacuation)) return evacuation;
  const { to, ...rest } = evacuation;
  return permits(caller, 'operator') && sight?.canSee(HOST.name, to) !== false ? { ...rest, to } : rest;
}
