// The API representation of a preview: bounded in size, with the sentences of reasons. It must never show a caller what belongs to other
// sites or projects.
import { Type } from 'typebox';
import { permits, type Caller, type Redactor } from '../../access/index.ts';
import type { Reason as ReasonValue } from '../../fleet/index.ts';
import type { Explain } from '../../operations/index.ts';
import type { PlannedEvacuation, Evacuation, Tenant } from '../evacuator.ts';
import { CONNECTION_STATES, HOST, HOST_STATES } from '../model.ts';
import type { TenantPlan, ScaleInPreview } from './preview.ts';
import { redactStrays } from '../strays.ts';
import { STRAYS_SCHEMA } from '../strays-schema.ts';
import { REMOVAL_IMPACT_SCHEMA, type RemovalImpact } from './removal-impact.ts';

const Reason = Type.Object({ code: Type.String() }, { additionalProperties: true });

/** What becomes of a tenant. */
export const EVACUATION_KINDS = 'drain: what lives in it leaves it, and it goes with what it runs in';

const EVACUATION = Type.Object({
  kind: Type.Enum(['move', 'drain', 'rebuild', 'ends', 'wait'], { description: EVACUATION_KINDS }),
  how: Type.Optional(Type.String({ description: 'of a move: live, cold or handover' })),
  to: Type.Optional(Type.String({ description: 'the host that would be chosen now; for operators' })),
  reason: Type.Optional(Reason),
  sentence: Type.Optional(Type.String({ description: 'the reason, for a person' })),
});

const TENANT = { kind: Type.String(), id: Type.String() };
const Counts = Type.Record(Type.String(), Type.Integer());

export const BLOCKED = Type.Array(
  Type.Object({ host: Type.String(), ...TENANT, reason: Reason, sentence: Type.String() }),
  { description: 'tenants that cannot move now, each with what is missing' },
);

export const REVISIONS = Type.Object(
  { first: Type.Integer(), last: Type.Integer() },
  { description: 'fleet revisions at the begin and the end of planning, which follows the fleet in between' },
);

export const PREVIEW = Type.Object({
  revisions: REVISIONS,
  plan: Type.String({
    description: 'identifies this plan: a start with it is refused if the plan has changed by then',
  }),
  hosts: Type.Array(
    Type.Object({
      host: Type.String(),
      state: Type.Enum(HOST_STATES),
      connection: Type.Enum(CONNECTION_STATES),
      underWay: Type.Integer({ description: 'tenants moving off it, or drained on it, now' }),
      strays: Type.Optional(
        Type.Object(STRAYS_SCHEMA.properties, {
          description: 'strays: what the host has and the fleet does not know; they block its removal',
        }),
      ),
      count: Type.Integer({ description: 'its tenants, shown or not' }),
      tenants: Type.Array(Type.Object({ ...TENANT, evacuation: EVACUATION })),
      touches: REMOVAL_IMPACT_SCHEMA,
    }),
  ),
  counts: Type.Object({
    tenants: Type.Integer(),
    moves: Type.Integer(),
    drains: Type.Integer({ description: 'tenants that are drained where they are' }),
    blocked: Type.Integer(),
    designations: Type.Integer(),
    ends: Type.Integer({ description: 'services that end with their host' }),
  }),
  blocked: BLOCKED,
  designations: Type.Array(Type.Object({ ...TENANT, from: Type.String(), to: Type.Optional(Type.String()) }), {
    description: 'services that move by a handover; one without "to" stays, degraded, and ends with its host',
  }),
  loads: Type.Object({
    hosts: Type.Integer({ description: 'hosts that would receive something' }),
    busiest: Type.Array(Type.Object({ host: Type.String(), before: Counts, after: Counts }), {
      description: 'the hosts that would receive the most, by kind of tenant; for operators',
    }),
  }),
  interruptions: Type.Array(
    Type.Object({
      kind: Type.String(),
      by: Type.Enum(['move', 'drain', 'rebuild', 'ends', 'wait']),
      how: Type.Optional(Type.String()),
      count: Type.Integer(),
      interruption: Type.Enum(['none', 'brief', 'restart', 'ends']),
    }),
  ),
  estimate: Type.Object({
    durationMs: Type.Integer(),
    moves: Type.Integer(),
    drains: Type.Integer(),
    assuming: Type.Array(
      Type.Object({
        kind: Type.String(),
        moves: Type.Integer(),
        drains: Type.Optional(Type.Integer({ description: 'they are estimated one after the other' })),
        eachMs: Type.Integer(),
        measuredOver: Type.Optional(
          Type.Integer({ description: 'the number of moves that were measured; absent when the duration is assumed' }),
        ),
      }),
    ),
    budgets: Type.Object({ movesAtOnce: Type.Integer(), movesPerHostAtOnce: Type.Integer() }),
  }),
});

/** How reasons are written, and which names the reader may see; all of them when no sight is given. */
export interface RenderContext {
  readonly explain: Explain;
  readonly sight: Redactor | undefined;
}

export interface PreviewRenderContext extends RenderContext {
  readonly caller: Caller;
  /** The limit of entries of each list. */
  readonly limit: number;
  /** The impact on other hosts, for each host in the order of the preview. */
  readonly touched: readonly RemovalImpact[];
}

export function renderPreview(preview: ScaleInPreview, showing: PreviewRenderContext): object {
  const { hosts, blocked, designations, loads, interruptions, estimate, planHash } = preview;
  const { limit, touched } = showing;
  let left = limit;
  return {
    plan: planHash,
    hosts: hosts.map(({ tenants, strays, ...host }, nth) => {
      const first = tenants.slice(0, left);
      left -= first.length;
      return {
        ...host,
        ...redactStrays(strays, showing.sight),
        count: tenants.length,
        tenants: first.map((one) => renderTenant(one, showing)),
        ...renderRemovalImpact(touched[nth], showing),
      };
    }),
    counts: {
      tenants: hosts.reduce((sum, { tenants }) => sum + tenants.length, 0),
      moves: estimate.moves,
      drains: estimate.drains,
      blocked: blocked.length,
      designations: designations.length,
      ends: designations.filter(({ to }) => to === undefined).length,
    },
    blocked: blocked.slice(0, limit).map((one) => renderBlocked(one, showing)),
    designations: designations.slice(0, limit).map(({ tenant, from, to }) => ({
      ...renderTenantName(tenant, showing),
      from,
      ...(to !== undefined && canKnow(to, showing) && { to }),
    })),
    loads: renderLoads(loads, showing),
    interruptions,
    estimate,
  };
}

/** The number of receiving hosts elsewhere is not shown either. */
function renderLoads({ busiest, hosts }: ScaleInPreview['loads'], showing: PreviewRenderContext): object {
  const known = busiest.filter(({ host }) => canKnow(host, showing));
  const { sight } = showing;
  const seen = sight === undefined ? hosts : busiest.filter(({ host }) => sight.canSee(HOST.name, host)).length;
  return { hosts: seen, busiest: known };
}

/** Hosts of other sites are not shown, nor counted in the impact. */
function renderRemovalImpact(touched: RemovalImpact | undefined, { sight, limit }: PreviewRenderContext): object {
  if (touched === undefined) return {};
  const { host: _, byPeer, ...counts } = touched;
  if (sight === undefined) return { touches: { ...counts, byPeer } };
  const named = byPeer.filter(({ host }) => sight.canSee(HOST.name, host));
  return { touches: { ...impactCountsOf(named), byPeer: named.slice(0, limit) } };
}

/** Over the peers that are shown: one tunnel each. */
function impactCountsOf(peers: RemovalImpact['byPeer']): Omit<RemovalImpact, 'host' | 'byPeer'> {
  const groups = peers.reduce((sum, { services }) => sum + services.length, 0);
  return {
    tunnels: peers.length,
    flows: peers.reduce((sum, { flows }) => sum + flows, 0),
    groups,
    services: new Set(peers.flatMap(({ services }) => services)).size,
  };
}

/** Which hosts have free capacity is for operators only, and only in their own site. */
function canKnow(host: string, { caller, sight }: PreviewRenderContext): boolean {
  return permits(caller, 'operator') && sight?.canSee(HOST.name, host) !== false;
}

function renderTenant({ tenant, evacuation }: TenantPlan, showing: PreviewRenderContext): object {
  return { ...renderTenantName(tenant, showing), evacuation: renderEvacuation(evacuation, showing) };
}

function renderEvacuation(evacuation: Evacuation, showing: PreviewRenderContext): object {
  if (evacuation.kind === 'wait') return { kind: 'wait', ...renderReason(evacuation.reason, showing) };
  if (!('to' in evacuation)) return evacuation;
  const { to, ...rest } = evacuation;
  return canKnow(to, showing) ? { ...rest, to } : rest;
}

/** A tenant that arrives from another site is not named before it is here. */
function renderTenantName({ kind, id }: Tenant, { sight }: RenderContext): Tenant {
  return { kind, id: sight?.redactText(id) ?? id };
}

function renderReason(
  reason: ReasonValue,
  { explain, sight }: RenderContext,
): { readonly reason: ReasonValue; readonly sentence: string } {
  const limited = sight?.redactReason(reason) ?? reason;
  return { reason: limited, sentence: explain(limited) };
}

export function renderBlocked({ host, tenant, evacuation }: PlannedEvacuation, context: RenderContext): object {
  const reason = evacuation.kind === 'wait' ? evacuation.reason : { code: evacuation.kind };
  return { host, ...renderTenantName(tenant, context), ...renderReason(reason, context) };
}
