// GET /api/v1/scale-in: every host between service and removal, what is left on it, and why it waits. It changes nothing.
import { Type } from 'typebox';
import {
  answer,
  strictObject,
  HOST_REF,
  ID,
  read,
  refusalAnswer,
  canSeeSite,
  type Caller,
  type Route,
  type Redactor,
} from '../../access/index.ts';
import type { Composition } from '../../composition/index.ts';
import { idOf, type FleetReader } from '../../fleet/index.ts';
import { ITEM, OPEN_ITEMS_BY_TARGET, targetKey, type Explain, type StoredItem } from '../../operations/index.ts';
import { findHost, unknownHost, type StoredHost } from '../decide.ts';
import type { Evacuator } from '../evacuator.ts';
import { CONNECTION_STATES, HOST, HOST_STATES, HOSTS_BY_STATE, type HostState } from '../model.ts';
import { PENDING_CLEAN_UP } from './pending-clean-up.ts';
import { redactStrays } from '../strays.ts';
import { STRAYS_SCHEMA } from '../strays-schema.ts';

interface StatusRoute {
  readonly evacuators: readonly Evacuator[];
  readonly explain: Explain;
  readonly scopes: Pick<Composition, 'scopeOf'>;
}

/** In the order of a host's way out. */
const ON_THEIR_WAY: readonly HostState[] = ['draining', 'drained', 'finalizing', 'recovering'];
/** The tenants of each are counted. */
const HOSTS_MAX = 1000;
const CLEAN_UPS_MAX = 1000;

const STATUS = Type.Object({
  count: Type.Integer({ description: 'leaving and returning hosts, shown or not' }),
  hosts: Type.Array(
    Type.Object({
      host: Type.String(),
      site: Type.String(),
      state: Type.Enum(HOST_STATES),
      connection: Type.Enum(CONNECTION_STATES),
      drain: Type.Boolean(),
      by: Type.Optional(Type.String()),
      why: Type.Optional(Type.String()),
      sinceMs: Type.Optional(Type.Integer()),
      forced: Type.Optional(Type.String({ description: 'why it is removed by force' })),
      left: Type.Record(Type.String(), Type.Integer(), { description: 'what still lives there, by kind of tenant' }),
      strays: Type.Optional(
        Type.Object(STRAYS_SCHEMA.properties, {
          description: 'strays: what the host has and the fleet does not know; they block its removal',
        }),
      ),
      underWay: Type.Integer({ description: 'of the tenants that are moving off now' }),
      operation: Type.Optional(Type.String()),
      step: Type.Optional(Type.String()),
      reason: Type.Optional(Type.Object({ code: Type.String() }, { additionalProperties: true })),
      sentence: Type.Optional(Type.String({ description: 'why it waits' })),
    }),
  ),
  pendingCleanUpCount: Type.Integer({ description: 'the clean-ups below and all that are not shown' }),
  pendingCleanUps: Type.Array(Type.Object({ peer: Type.String(), host: Type.String(), sinceMs: Type.Integer() }), {
    description: `peers that could not be notified yet of the removal of a host, the first ${CLEAN_UPS_MAX} of them`,
  }),
});

export function scaleInStatusRoute({ evacuators, explain, scopes }: StatusRoute): Route {
  return read({
    method: 'GET',
    path: '/api/v1/scale-in',
    tag: 'scale-in',
    about: 'Show the hosts that are leaving or returning, and why each of them waits',
    access: 'viewer',
    scope: 'site',
    query: strictObject({
      site: Type.Optional(ID),
      host: Type.Optional(Type.String({ ...HOST_REF, description: 'only this host, by any id of it' })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: HOSTS_MAX, description: `at most ${HOSTS_MAX}` })),
    }),
    scansFleet: () => true,
    answers: { 200: { about: 'leaving and returning hosts', schema: STATUS } },
    handle: ({ query: { site, host: only, limit = HOSTS_MAX }, caller }, { journal: { fleet }, redactorFor }) => {
      const sight = redactorFor(caller, fleet);
      if (only !== undefined && !isVisible(fleet, caller, only)) return refusalAnswer(unknownHost(only));
      const isNamed = (id: string): boolean => only === undefined || id === only;
      const isWanted = (of: string | undefined): boolean =>
        canSeeSite(caller, of) && (site === undefined || site === of);
      const all = ON_THEIR_WAY.flatMap((state) => [...fleet.find(HOSTS_BY_STATE, `state:${state}`)])
        .filter(({ id, doc }) => isNamed(id) && isWanted(doc.site))
        .sort((one, other) => (one.id < other.id ? -1 : 1));
      const { siteOf } = scopes.scopeOf(PENDING_CLEAN_UP);
      const pending = [...fleet.all(PENDING_CLEAN_UP)].filter(
        ({ doc }) => isNamed(doc.host) && isWanted(siteOf(doc, fleet)),
      );
      return answer({
        count: all.length,
        hosts: all.slice(0, limit).map((host) => renderHost(fleet, host, { evacuators, explain, sight })),
        pendingCleanUpCount: pending.length,
        pendingCleanUps: pending.slice(0, CLEAN_UPS_MAX).map(({ doc: { peer, host, sinceMs } }) => ({
          peer,
          host: sight?.redactText(host) ?? host,
          sinceMs,
        })),
      });
    },
  });
}

/** A host of another site is as unknown as one that is not there. */
export function isVisible(fleet: FleetReader, caller: Caller, id: string): boolean {
  const host = findHost(fleet, id);
  return host !== undefined && canSeeSite(caller, host.doc.site);
}

interface StatusRenderContext extends Omit<StatusRoute, 'scopes'> {
  readonly sight: Redactor | undefined;
}

function renderHost(fleet: FleetReader, host: StoredHost, { evacuators, explain, sight }: StatusRenderContext): object {
  const { id, doc } = host;
  const left = evacuators.map(({ name, inventory }) => [name, inventory(fleet, id).length] as const);
  const { leaving } = doc;
  return {
    host: id,
    site: doc.site,
    state: doc.state,
    connection: doc.connection.state,
    drain: leaving?.drain ?? false,
    ...(leaving !== undefined && { by: leaving.by, sinceMs: leaving.atMs }),
    ...(leaving?.why !== undefined && { why: sight?.redactTextBy(leaving.why, leaving.by) ?? leaving.why }),
    ...(leaving?.forced !== undefined && {
      forced: sight?.redactTextBy(leaving.forced.reason, leaving.forced.by) ?? leaving.forced.reason,
    }),
    left: Object.fromEntries(left),
    ...redactStrays(doc.strays, sight),
    underWay: evacuators.reduce((sum, one) => sum + one.countLeaving(fleet, id), 0),
    ...renderProgress(currentItemOf(fleet, host), { explain, sight }),
  };
}

/** The open item of the host, or the result of the last one if it did not succeed. */
function currentItemOf(fleet: FleetReader, { id, doc }: StoredHost): StoredItem | undefined {
  const open = [...fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(HOST.name, id))];
  // The latest, when one verb has overtaken another.
  const [latest] = open.sort((one, other) => other.revision - one.revision);
  return latest ?? fleet.get(ITEM, idOf(ITEM, `${doc.leaving?.operation}.${id}`));
}

function renderProgress(
  item: StoredItem | undefined,
  { explain, sight }: { readonly explain: Explain; readonly sight: Redactor | undefined },
): object {
  if (item === undefined) return {};
  const { operation, step, state } = item.doc;
  const reason = state === 'waiting' || state === 'failed' ? item.doc.reason : undefined;
  if (reason === undefined) return { operation, step };
  const visible = sight?.redactReason(reason) ?? reason;
  return { operation, step, reason: visible, sentence: explain(visible) };
}
