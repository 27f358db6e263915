// Resolves every id of a host to its name: name, system id, datapath id in any form, topology id. Fields that name a host are marked in the
// route's schema and handlers get the name: ids must be resolved nowhere else.
import type { TSchema } from 'typebox';
import {
  strictObject,
  HOST_MARK,
  HOST_REF,
  type Call,
  type HostMark,
  type Route,
  type RouteFields,
  type RouteContext,
} from '../access/index.ts';
import type { Refusal } from '../fleet/index.ts';
import { ambiguousHost } from './find-host.ts';
import { matchHost } from './identity.ts';
import { HOST } from './model.ts';

const HOSTS_PATH = '/api/v1/hosts/:id';
const PLACES = ['params', 'query', 'body'] as const;

type Fields = Readonly<Record<string, unknown>>;

interface HostField {
  readonly place: (typeof PLACES)[number];
  readonly field: string;
  readonly mark: HostMark;
}

/** The same route, accepting any id of a host. */
export function acceptAnyHostId(route: Route): Route {
  const isOfHosts = route.path === HOSTS_PATH || route.path.startsWith(`${HOSTS_PATH}/`);
  const face: RouteFields = isOfHosts ? { ...route, params: strictObject({ id: HOST_REF }) } : route;
  const marked = hostFieldsOf(face);
  if (marked.length === 0) return route;
  switch (route.kind) {
    case 'read':
      return {
        ...face,
        kind: 'read',
        handle: (call, world) => handleWithHostNames(route.handle, marked, { call, world }),
      };
    case 'write':
      return {
        ...face,
        kind: 'write',
        handle: (call, world) => handleWithHostNames(route.handle, marked, { call, world }),
      };
    case 'stream':
      return {
        ...face,
        kind: 'stream',
        handle: (call, world) => handleWithHostNames(route.handle, marked, { call, world }),
      };
    case 'bulk':
      return {
        ...route,
        ...(face.params !== undefined && { params: face.params }),
        handle: async (call, world) => handleWithHostNames(route.handle, marked, { call, world }),
      };
  }
}

/** The fields of a route that name a host. */
export function hostFieldsOf(face: Pick<RouteFields, 'params' | 'query' | 'body' | 'lines'>): readonly HostField[] {
  // Hosts in the lines of a body have their names: ids are resolved one by one.
  const places = face.lines === undefined ? PLACES : PLACES.filter((place) => place !== 'body');
  return places.flatMap((place) =>
    Object.entries(propertiesOf(face[place])).flatMap(([field, schema]) => {
      const mark = (schema as { readonly [HOST_MARK]?: HostMark })[HOST_MARK];
      return mark === undefined ? [] : [{ place, field, mark }];
    }),
  );
}

function propertiesOf(schema: TSchema | undefined): Readonly<Record<string, TSchema>> {
  return schema !== undefined && 'properties' in schema ? (schema.properties as Record<string, TSchema>) : {};
}

interface HostRouteCall {
  readonly call: Call;
  readonly world: RouteContext;
}

function handleWithHostNames<R>(
  handle: (call: Call, world: RouteContext) => R,
  marked: readonly HostField[],
  { call, world }: HostRouteCall,
): R | { readonly kind: 'refuse'; readonly refusal: Refusal } {
  // Projects know no hosts: for them an id stays as they wrote it.
  if (call.caller.project !== undefined) return handle(call, world);
  const names: Record<HostField['place'], Record<string, string>> = { params: {}, query: {}, body: {} };
  for (const { place, field, mark } of marked) {
    const form = hostIdIn((call[place] ?? {}) as Fields, field, mark);
    if (form === undefined) continue;
    const match = matchHost(world.journal.fleet, form, call.caller.site);
    if (match.kind === 'ambiguous') return { kind: 'refuse', refusal: ambiguousHost(form, match.names) };
    // Unknown ids stay as written: the answer is about them.
    if (match.kind === 'unknown' || match.host.id === form) continue;
    names[place][field] = mark === 'kind/id' ? `${HOST_TARGET}${match.host.id}` : match.host.id;
  }
  const renamed = PLACES.filter((place) => Object.keys(names[place]).length > 0);
  const changed = renamed.map((place) => [place, { ...(call[place] as Fields), ...names[place] }]);
  return handle({ ...call, ...(Object.fromEntries(changed) as Partial<Call>) }, world);
}

const HOST_TARGET = `${HOST.name}/`;

/** Which part of a field is a host id, if any. */
function hostIdIn(fields: Fields, field: string, mark: HostMark): string | undefined {
  const value = fields[field];
  if (typeof value !== 'string') return undefined;
  switch (mark) {
    case 'name':
      return value;
    case 'kind/id':
      return value.startsWith(HOST_TARGET) ? value.slice(HOST_TARGET.length) : undefined;
    case 'id':
      return fields['kind'] === HOST.name ? value : undefined;
  }
}
