// Tenants for tests of scale-in: guests that live on hosts and move by an operation of their own, and posts that are held by one
// of the hosts that have presence for them. Both are documents, so that what is tested is what a restart would find.
import { Type, type Static } from 'typebox';
import {
  idOf,
  mark,
  put,
  remove,
  schemaKind,
  type Change,
  type FleetReader,
  type Index,
  type Model,
} from '../fleet/index.ts';
import {
  fail,
  newOperation,
  record,
  wait,
  type Driver,
  type OperationId,
  type OperationKind,
} from '../operations/index.ts';
import { findHost } from './decide.ts';
import type { Evacuating, Evacuation, Evacuator } from './evacuator.ts';
import { HOST, type Host } from './model.ts';

const TENANT_SCHEMA = Type.Object(
  {
    host: Type.String(),
    /** Where it goes just now. */
    to: Type.Optional(Type.String()),
    /** It may only be on these. */
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
  readonly on: (fleet: FleetReader, host: string) => string[];
}

/** Whether tenants of a kind wait, and for what. */
export interface Holding {
  reason?: { readonly code: string };
}

const inService = (fleet: FleetReader, id: string): boolean => {
  const doc = findHost(fleet, id)?.doc;
  return doc?.state === 'active' && doc.connection.state === 'up' && doc.quarantined === undefined;
};

function documentsOf<K extends string>(kindName: K) {
  const KIND = schemaKind(kindName, TENANT_SCHEMA);
  const BY_HOST: Index<K, TenantDoc> = {
    name: `${kindName}s-by-host`,
    kind: KIND,
    keysOf: ({ host, to }) => (to === undefined || to === host ? [host] : [host, to]),
  };
  const MOVING: Index<K, TenantDoc> = {
    name: `${kindName}s-moving`,
    kind: KIND,
    keysOf: ({ host, to }) => (to === undefined ? [] : [host]),
  };
  return { KIND, BY_HOST, MOVING };
}

export function tenantsOf(kindName: 'guest' | 'post', holding: Holding = {}): Tenants {
  const { KIND, BY_HOST, MOVING } = documentsOf(kindName);
  const docOf = (fleet: FleetReader, id: string): TenantDoc | undefined => fleet.get(KIND, idOf(KIND, id))?.doc;

  /** The host in service with the fewest of them; `more` counts what is planned already. */
  const choose = (fleet: FleetReader, { host, presence }: TenantDoc, more: Map<string, number>): string | undefined => {
    const hosts = presence ?? [...fleet.all(HOST)].map(({ id }): string => id);
    const load = (id: string): number => fleet.countOf(BY_HOST, id) + (more.get(id) ?? 0);
    return hosts
      .filter((id) => id !== host && inService(fleet, id))
      .sort((one, other) => load(one) - load(other) || (one < other ? -1 : 1))[0];
  };

  const evacuationOf = (fleet: FleetReader, host: string, id: string, more: Map<string, number>): Evacuation => {
    const doc = docOf(fleet, id);
    if (holding.reason !== undefined) return { kind: 'wait', reason: holding.reason };
    if (doc?.host !== host || doc.to !== undefined)
      return { kind: 'wait', reason: { code: 'other-work-ends-first', instance: id } };
    const at = findHost(fleet, host)?.doc as Host;
    const dead = at.forcedDown !== undefined;
    if (kindName === 'guest' && !dead && at.connection.state === 'down')
      return { kind: 'wait', reason: { code: 'host-silent', host, instance: id } };
    const to = choose(fleet, doc, more);
    if (to === undefined) {
      const message = `Nowhere to go for ${id}.`;
      return kindName === 'post' ? { kind: 'ends' } : { kind: 'wait', reason: { code: 'no-valid-host', message } };
    }
    more.set(to, (more.get(to) ?? 0) + 1);
    return dead && kindName === 'guest' ? { kind: 'rebuild', to } : { kind: 'move', how: 'live', to };
  };

  const evacuator: Evacuator = {
    name: `${kindName}s`,
    ...(kindName === 'post' && { leavesFirst: true as const, promisesTargets: true as const }),
    inventory: (fleet, host) => [...fleet.find(BY_HOST, host)].map(({ id }) => ({ kind: kindName, id })),
    underWay: (fleet, host) => fleet.countOf(MOVING, host),
    *staying(fleet, host) {
      for (const { id, doc } of fleet.find(BY_HOST, host)) {
        if (doc.host === host && doc.to === undefined) yield { kind: kindName, id };
      }
    },
    plan: (fleet, leavers) => {
      const more = new Map<string, number>();
      return leavers.flatMap(({ host, tenants }) =>
        tenants.map((tenant): Evacuating => {
          return { host, tenant, evacuation: evacuationOf(fleet, host, tenant.id, more) };
        }),
      );
    },
    begin: (fleet, planned, { operation, by, nowMs, deadlineMs }) => {
      const id = `${operation}.${kindName}s` as OperationId;
      const going = planned.flatMap(({ tenant, evacuation }) =>
        'to' in evacuation && evacuation.to !== undefined ? [{ id: tenant.id, to: evacuation.to }] : [],
      );
      const moving = going.map((one) =>
        put(KIND, idOf(KIND, one.id), { ...(docOf(fleet, one.id) as TenantDoc), to: one.to }),
      );
      const items = going.map((one) => ({ key: one.id, target: { kind: kindName, id: one.id }, step: 'go' }));
      const title = `move ${going.length} ${kindName}s`;
      const began = newOperation({ id, kind: `${kindName}-move`, title, by, nowMs, deadlineMs, items });
      return going.length === 0
        ? { changes: [], operations: [] }
        : { changes: [...moving, ...began], operations: [id] };
    },
    touches: (_fleet, { kind, before, after }) => {
      if (kind !== KIND.name) return [];
      const docs = [before?.doc, after?.doc].flatMap((doc) => (doc === undefined ? [] : [doc as TenantDoc]));
      return [...new Set(docs.map(({ host }) => host))];
    },
    abandon: (fleet, host) => {
      mark('tenant-abandoned');
      return [...fleet.find(BY_HOST, host)].filter(({ doc }) => doc.host === host).map(({ id }) => remove(KIND, id));
    },
    ...(kindName === 'post' && {
      failBack: (fleet: FleetReader, host: string) => {
        const back = [...fleet.all(KIND)].filter(({ doc }) => doc.presence?.includes(host) === true);
        return { changes: back.map(({ id, doc }) => put(KIND, id, { ...doc, host })), operations: [] };
      },
    }),
  };

  const operation: OperationKind = {
    name: `${kindName}-move`,
    steps: ['go'],
    cancel: { kind: 'none', because: 'of the test' },
    retry: { kind: 'none', because: 'of the test' },
    rollback: { kind: 'none', because: 'of the test' },
    plan: (fleet, _operation, items) =>
      items.map((item) => {
        const doc = docOf(fleet, item.doc.target.id);
        if (doc?.to === undefined) return fail(item, { code: 'tenant-gone' });
        const { step, attempt } = item.doc;
        const action = { driver: 'tenants', item: item.id, step, attempt, args: { id: item.doc.target.id } };
        return { kind: 'act', item: item.id, expected: item.revision, action };
      }),
    observe: (fleet, item, outcome) => {
      const id = idOf(KIND, item.doc.target.id);
      const doc = docOf(fleet, id);
      if (doc === undefined) return fail(item, { code: 'tenant-gone' });
      const { to, ...rest } = doc;
      if (outcome.kind === 'failed') {
        if (outcome.reason.code === 'not-yet') return wait(item, outcome.reason);
        return { ...fail(item, outcome.reason), changes: [put(KIND, id, rest)] };
      }
      const changes = [put(KIND, id, { ...rest, host: to ?? doc.host })];
      return record(item, { state: 'done', step: 'go' }, { changes });
    },
  };

  return {
    model: { kinds: [KIND], indexes: [BY_HOST, MOVING] },
    evacuator,
    operation,
    put: (id, doc) => put(KIND, idOf(KIND, id), doc),
    on: (fleet, host) => [...fleet.find(BY_HOST, host)].map(({ id }): string => id),
  };
}

/** Moves tenants when it is let: the first tries of some fail, and while it is held nobody arrives. */
export class TenantDriver implements Driver {
  readonly failures = new Map<string, number>();
  held = false;
  /** In the order in which they arrived. */
  readonly moved: string[] = [];

  async carryOut({ args }: Parameters<Driver['carryOut']>[0]): ReturnType<Driver['carryOut']> {
    const id = String(args['id']);
    if (this.held) return { kind: 'failed', reason: { code: 'not-yet' }, retryable: true };
    const left = this.failures.get(id) ?? 0;
    if (left > 0) {
      this.failures.set(id, left - 1);
      return { kind: 'failed', reason: { code: 'move-failed' }, retryable: false };
    }
    this.moved.push(id);
    return { kind: 'applied' };
  }
}
