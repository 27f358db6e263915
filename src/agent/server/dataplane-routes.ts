// GET /api/v1/hosts/:id/dataplane: the desired contents of a host's switch, compiled here from the view of its agent. The actual contents
// and the hardware addresses of external next hops are known on the host only.
import { Type } from 'typebox';
import {
  BY_ID,
  strictObject,
  runInSlices,
  jsonPieces,
  LazyList,
  read,
  refusalAnswer,
  canSeeSite,
  type Answer,
  type Caller,
  type Route,
} from '../../access/index.ts';
import {
  compileInSteps,
  readDataplaneView,
  explainGap,
  explainGroups,
  explainInSteps,
  isOwnedBy,
  limitToVisibleHosts,
  type Gap,
  NEXT_HOPS_BY_NAME,
  TABLE_FILTER_VALUES,
} from '../../dataplane/index.ts';
import type { FleetReader, Steps } from '../../fleet/index.ts';
import { findHost, unknownHost, type ViewPart } from '../../hosts/index.ts';
import { partsInSteps } from './compose-view.ts';

/** A flow with its sentence is about half a kilobyte. */
const LIMIT_DEFAULT = 1000;
const LIMIT_MAX = 20_000;
const TEXT_MAX = 200;

const QUERY = strictObject({
  table: Type.Optional(
    Type.Enum(TABLE_FILTER_VALUES, { description: 'only flows of this table, by number or by name' }),
  ),
  owner: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: TEXT_MAX,
      description: 'only flows of this owner: `port/port-1`, or `port-1`',
    }),
  ),
  text: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: TEXT_MAX,
      description: 'only flows that contain this text in the flow, the owner or the sentence',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LIMIT_MAX,
      description: `at most so many flows; ${LIMIT_DEFAULT} unless said, ${LIMIT_MAX} at most`,
    }),
  ),
});

const OWNER = Type.Object(
  { kind: Type.Enum(['host', 'peer', 'port', 'domain', 'router', 'service']), id: Type.String() },
  { description: 'the resource that it exists for' },
);

const FLOW = Type.Object({
  table: Type.Integer(),
  tableName: Type.String(),
  priority: Type.Integer(),
  match: Type.String({ description: 'in ovs-ofctl syntax; empty for everything' }),
  actions: Type.String({ description: 'an external next hop is named by its address: `next-hop(203.0.113.1)`' }),
  cookie: Type.String({ description: '16 hexadecimal digits; the same for all flows of an owner' }),
  owner: OWNER,
  reason: Type.String({ description: 'a stable code' }),
  sentence: Type.String({ description: 'the same, for a person' }),
});

const DESIRED_DATAPLANE = Type.Object({
  host: Type.String(),
  scope: Type.Enum(['host', 'site'], {
    description: '`site`: what names hosts of other sites was left out, because the token is bound to one',
  }),
  excluded: Type.Boolean({ description: 'removed or not trusted: nothing of ours should be on its switch' }),
  count: Type.Integer({ description: 'how many flows match, shown or not' }),
  flows: Type.Array(FLOW, { description: 'by table, then by priority from the highest down' }),
  groups: Type.Array(
    Type.Object({
      id: Type.Integer(),
      type: Type.Enum(['all', 'indirect', 'fast-failover']),
      buckets: Type.Array(Type.String()),
      owner: OWNER,
    }),
    { description: 'the groups that these flows use' },
  ),
  tunnels: Type.Array(Type.Object({ peer: Type.String(), address: Type.String() })),
  externalIds: Type.Record(Type.String(), Type.String()),
  gaps: Type.Array(
    Type.Object({
      owner: OWNER,
      reason: Type.String({ description: 'a stable code' }),
      what: Type.String(),
      sentence: Type.String(),
    }),
    { description: 'desired state that cannot be compiled' },
  ),
});

export function dataplaneRoutes(parts: readonly ViewPart[]): Route[] {
  return [
    read({
      method: 'GET',
      path: '/api/v1/hosts/:id/dataplane',
      tag: 'hosts',
      about:
        'Show the desired contents of the switch of a host, and why. External next hops are resolved on the host alone; here they are named by address',
      access: 'viewer',
      scope: 'site',
      plansOnFleet: true,
      params: BY_ID,
      query: QUERY,
      answers: { 200: { about: 'flows, groups and tunnels, and what cannot be compiled', schema: DESIRED_DATAPLANE } },
      handle: ({ params: { id }, query, caller, headersOnly }, { journal: { fleet }, clock }) => {
        const host = findHost(fleet, id);
        if (host === undefined || !canSeeSite(caller, host.doc.site)) return refusalAnswer(unknownHost(id));
        if (headersOnly === true) return NOTHING_READ;
        return runInSlices(describeDataplane(fleet, { host: id, parts, query, caller }), clock);
      },
    }),
  ];
}

interface DataplaneRequest {
  readonly host: string;
  readonly parts: readonly ViewPart[];
  readonly caller: Caller;
  readonly query: { readonly table?: string; readonly owner?: string; readonly text?: string; readonly limit?: number };
}

function* gapsOf(gaps: readonly Gap[]): Iterable<object> {
  for (const gap of gaps) yield explainGap(gap);
}

const NOTHING_READ: Answer = { kind: 'answer', status: 200, pieces: () => [] };

/** With a full mesh, or in a network that spans all hosts, as large as the fleet: 10^5 peers are a second of work. */
function* describeDataplane(fleet: FleetReader, { host, parts, query, caller }: DataplaneRequest): Steps<Answer> {
  const whole = readDataplaneView(host, yield* partsInSteps(fleet, parts, host));
  if (whole === undefined) throw new Error('this server has no data plane');
  // Before compiling: otherwise flows, groups, counts and gaps could reveal what was left out.
  const isVisible = (name: string): boolean => canSeeSite(caller, findHost(fleet, name)?.doc.site);
  const view = caller.site === undefined ? whole : yield* limitToVisibleHosts(whole, isVisible);
  const compiled = yield* compileInSteps(view, NEXT_HOPS_BY_NAME);
  const { owner: whose, limit = LIMIT_DEFAULT } = query;
  const flows = yield* explainInSteps(compiled, query);
  const { tunnels, externalIds } = compiled.contents;
  const gaps = compiled.gaps.filter(({ owner }) => whose === undefined || isOwnedBy(owner, whose));
  const body = {
    host,
    scope: caller.site === undefined ? 'host' : 'site',
    excluded: view.excluded,
    count: flows.length,
    flows: new LazyList(flows.slice(0, limit)),
    groups: yield* explainGroups(compiled, flows),
    tunnels: new LazyList(tunnels),
    externalIds,
    gaps: new LazyList(gapsOf(gaps)),
  };
  return { kind: 'answer', status: 200, pieces: () => jsonPieces(body) };
}
