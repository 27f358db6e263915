// Tenants for tests of scale-in: guests that live on hosts and move by an operation of their own, and posts that are held by one of the hosts
// that have presence for them. Both are documents, so that tests see what a restart would find.
import { Type, type Static } from 'typebox';
import {
  idOf,
  put,
  remove,
  schemaKind,
  type Change,
  type FleetReader,
  type Index,
  type Kind,
  type Model,
} from '../../fleet/index.ts';
import {
  fail,
  newOperation,
  record,
  wait,
  type Driver,
  type OperationId,
  type OperationKind,
} from '../../operations/index.ts';
import { findHost } from '../decide.ts';
import {
  runInOneStep,
  type BeginEvacuation,
  type PlannedEvacuation,
  type Evacuation,
  type Evacuator,
} from '../evacuator.ts';
import { HOST, type Host } from '../model.ts';

const TENANT_SCHEMA = Type.Object(
  {
    host: Type.String(),
    /** The target of its current move. */
    to: Type.Optional(Type.String()),
    /** The only hosts that it may be on. */
    presence: Type.Optional(Type.Array(Type.String())),
  },
  { additionalProperties: false },
);
type TenantDoc = Static<typeof TENANT_SCHEMA>;

export interface Tenants {
  readonly model: Model;
  readonly evacuator: Evacuator;
  readonly operation: OperationKind;
  readonly put: (id: string, doc: TenantDoc) => Change;
  readonly doc: (fleet: FleetReader, id: string) => TenantDoc | undefined;
  readonly on: (fleet: FleetReader, host: string) => string[];
}

/** The reason for which tenants of a kind wait, if any. */
export interface Holding {
  reason?: { readonly code: string };
}

const inService = (fleet: FleetReader, id: string): boolean => {
  const doc = findHost(fleet, id)?.doc;
  return doc?.state === 'active' && doc.connection.state === 'up' && doc.quarantined === undefined;
};

interface Kit {
  readonly name: 'guest' | 'post';
  readonly kind: Kind<string, TenantDoc>;
  /** Where they are, and where they move. */
  readonly byHost: Index<string, TenantDoc>;
  /** By the host that they leave. */
  readonly moving: Index<string, TenantDoc>;
  readonly holding: Holding;
}

function kitOf(name: Kit['name'], holding: Holding): Kit {
  const kind: Kind<string, TenantDoc> = schemaKind(name as string, TENANT_SCHEMA);
  return {
    name,
    kind,
    byHost: {
      name: `${name}s-by-host`,
      kind,
      keysOf: ({ host, to }) => (to === undefined || to === host ? [host] : [host, to]),
    },
    moving: { name: `${name}s-moving`, kind, keysOf: ({ host, to }) => (to === undefined ? [] : [host]) },
    holding,
  };
}

function docOf({ kind }: Kit, fleet: FleetReader, id: string): TenantDoc | undefined {
  return fleet.get(kind, idOf(kind, id))?.doc;
}

/** The active host with the fewest of them; `more` counts those already planned. */
function choose(
  { byHost }: Kit,
  fleet: FleetReader,
  { host, presence }: TenantDoc,
  more: Map<string, number>,
): string | undefined {
  const hosts = presence ?? [...fleet.all(HOST)].map(({ id }): string => id);
  const load = (id: string): number => fleet.countOf(byHost, id) + (more.get(id) ?? 0);
  return hosts
    .filter((id) => id !== host && inService(fleet, id))
    .sort((one, other) => load(one) - load(other) || (one < other ? -1 : 1))[0];
}

function evacuationOf(
  kit: Kit,
  fleet: FleetReader,
  { host, id }: { readonly host: string; readonly id: string },
  more: Map<string, number>,
): Evacuation {
  const doc = docOf(kit, fleet, id);
  if (kit.holding.reason !== undefined) return { kind: 'wait', reason: kit.holding.reason };
  if (doc?.host !== host || doc.to !== undefined)
    return { kind: 'wait', reason: { code: 'other-work-ends-first', instance: id } };
  const at = findHost(fleet, host)?.doc as Host;
  const dead = at.forcedDown !== undefined && kit.name === 'guest';
  if (kit.name === 'guest' && !dead && at.connection.state === 'down')
    return { kind: 'wait', reason: { code: 'host-silent', host, instance: id } };
  const to = choose(kit, fleet, doc, more);
  if (to === undefined) {
    const message = `Nowhere to go for ${id}.`;
    return kit.name === 'post'
      ? { kind: 'ends' }
      : { kind: 'wait', reason: { code: 'no-valid-host', instance: id, message } };
  }
  more.set(to, (more.get(to) ?? 0) + 1);
  return dead ? { kind: 'rebuild', to } : { kind: 'move', how: 'live', to };
}

function beginTenantMoves(
  kit: Kit,
  fleet: FleetReader,
  planned: readonly PlannedEvacuation[],
  { operation, by, nowMs, deadlineMs, drainedHost }: BeginEvacuation,
): readonly Change[] {
  const { name, kind } = kit;
  const id = `${operation}.${name}s` as OperationId;
  const going = planned.flatMap(({ tenant, evacuation }) =>
    'to' in evacuation ? [{ id: tenant.id, to: evacuation.to }] : [],
  );
  if (going.length === 0) return [];
  const moving = going.map((one) =>
    put(kind, idOf(kind, one.id), { ...(docOf(kit, fleet, one.id) as TenantDoc), to: one.to }),
  );
  const items = going.map((one) => ({ key: one.id, target: { kind: name, id: one.id }, drainedHost, step: 'go' }));
  const title = `move ${going.length} ${name}s`;
  const began = newOperation({ id, kind: `${name}-move`, title, by, nowMs, deadlineMs, items });
  return [...moving, ...began];
}

function evacuatorOf(kit: Kit): Evacuator {
  const { name, kind, byHost, moving } = kit;
  const tenantOf = ({ id }: { readonly id: string }) => ({ kind: name, id });
  return {
    name: `${name}s`,
    ...(name === 'post' && {
      leavesFirst: true as const,
      canEndWithHost: true as const,
      holdsRecover: (fleet: FleetReader, host: string) => fleet.countOf(moving, host) > 0,
    }),
    dependsOn: [byHost],
    inventory: (fleet, host) => [...fleet.find(byHost, host)].map(tenantOf),
    countLeaving: (fleet, host) => fleet.countOf(moving, host),
    listRemainingTenants: (fleet, host) =>
      [...fleet.find(byHost, host)].filter(({ doc }) => doc.host === host && doc.to === undefined).map(tenantOf),
    *plan(openTrial, leavers) {
      const fleet = yield* openTrial();
      const more = new Map<string, number>();
      return leavers.flatMap(({ host, tenants }) =>
        tenants.map((tenant) => {
          return { host, tenant, evacuation: evacuationOf(kit, fleet, { host, id: tenant.id }, more) };
        }),
      );
    },
    begin: (fleet, planned, how) => runInOneStep({ changes: beginTenantMoves(kit, fleet, planned, how) }),
    hostsAffectedBy: (change) => {
      if (change.kind !== kind.name) return [];
      const docs = [change.before?.doc, change.after?.doc].filter((doc) => doc !== undefined);
      return [...new Set(docs.map((doc) => (doc as TenantDoc).host))];
    },
    abandon: (fleet, host) =>
      [...fleet.find(byHost, host)].filter(({ doc }) => doc.host === host).map(({ id }) => remove(kind, id)),
    ...(name === 'post' && {
      failBack: (fleet: FleetReader, host: string) => {
        const back = [...fleet.all(kind)].filter(({ doc }) => doc.presence?.includes(host) === true);
        return back.map(({ id, doc }) => put(kind, id, { ...doc, host }));
      },
    }),
  };
}

function operationOf(kit: Kit): OperationKind {
  const { name, kind } = kit;
  return {
    name: `${name}-move`,
    steps: ['go'],
    cancel: { kind: 'none', because: 'of the test' },
    retry: { kind: 'none', because: 'of the test' },
    plan: (fleet, items) =>
      items.map((item) => {
        const { step, attempt, target } = item.doc;
        if (docOf(kit, fleet, target.id)?.to === undefined) return fail(item, { code: 'tenant-gone' });
        const action = { driver: 'tenants', item: item.id, step, attempt, args: { id: target.id } };
        return { kind: 'act', item: item.id, expected: item.revision, action };
      }),
    observe: (item, outcome, { fleet }) => {
      const id = idOf(kind, item.doc.target.id);
      const doc = docOf(kit, fleet, id);
      if (doc === undefined) return fail(item, { code: 'tenant-gone' });
      const { to, ...rest } = doc;
      if (outcome.kind !== 'failed') {
        const changes = [put(kind, id, { ...rest, host: to ?? doc.host })];
        return record(item, { state: 'done', step: 'go' }, { changes });
      }
      if (outcome.reason.code !== 'move-failed') return wait(item, outcome.reason);
      return { ...fail(item, outcome.reason), changes: [put(kind, id, rest)] };
    },
  };
}

export function tenantsOf(name: Kit['name'], holding: Holding = {}): Tenants {
  const kit = kitOf(name, holding);
  const { kind, byHost, moving } = kit;
  return {
    model: { kinds: [kind], indexes: [byHost, moving] },
    evacuator: evacuatorOf(kit),
    operation: operationOf(kit),
    put: (id, doc) => put(kind, idOf(kind, id), doc),
    doc: (fleet, id) => docOf(kit, fleet, id),
    on: (fleet, host) => [...fleet.find(byHost, host)].map(({ id }): string => id),
  };
}

/** Moves tenants when called: the first tries of some fail, and while held none arrives. */
export class TenantDriver implements Driver {
  readonly failures = new Map<string, number>();
  held = false;
  /** Services that cannot be handed over now, with the reason code. */
  readonly unready = new Map<string, string>();
  /** In the order of arrival. */
  readonly moved: string[] = [];

  async carryOut({ args }: Parameters<Driver['carryOut']>[0]): ReturnType<Driver['carryOut']> {
    const id = String(args['id']);
    if (this.held) return { kind: 'failed', reason: { code: 'not-yet' } };
    const code = this.unready.get(id);
    if (code !== undefined) return { kind: 'failed', reason: { code, service: id, because: 'test' } };
    const left = this.failures.get(id) ?? 0;
    if (left > 0) {
      this.failures.set(id, left - 1);
      return { kind: 'failed', reason: { code: 'move-failed' } };
    }
    this.moved.push(id);
    return { kind: 'applied' };
  }
}
