// Routes that take a host take it by every id that leads to one: its name, its system id, its datapath id in any form, its topology id.
import { Type } from 'typebox';
import { closed, type Call, type Caller, type Route, type World } from '../access/index.ts';
import { resolveHost } from './identity.ts';

const HOSTS_PATH = '/api/v1/hosts/:id';

/** A topology id has slashes, which are encoded in a path. */
const BY_HOST_ID = closed({
  id: Type.String({
    pattern: '^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}$',
    'x-form': 'an id of letters, digits and . _ : @ / - (at most 200)',
    description: 'name, system id, datapath id or topology id of a host',
  }),
});

type Named = Call<{ readonly id: string }>;

/** The same route, for whichever id of the host the caller knows; hosts of other sites are as unknown as those that do not exist. */
export function byAnyId(route: Route): Route {
  if (route.path !== HOSTS_PATH && !route.path.startsWith(`${HOSTS_PATH}/`)) return route;
  const face = { ...route, params: BY_HOST_ID };
  switch (route.kind) {
    case 'read':
      return { ...face, kind: 'read', handle: (call, world) => route.handle(named(call, world), world) };
    case 'write':
      return { ...face, kind: 'write', handle: (call, world) => route.handle(named(call, world), world) };
    case 'stream':
      return { ...face, kind: 'stream', handle: (call, world) => route.handle(named(call, world), world) };
  }
}

function named(call: Call, world: World): Call {
  const { params, caller } = call as Named;
  return { ...call, params: { ...params, id: nameOf(world, caller, params.id) } };
}

/** As it was asked for when nobody has it: that is what the answer is about. */
function nameOf({ journal: { fleet } }: World, { site }: Caller, id: string): string {
  return resolveHost(fleet, id, site)?.id ?? id;
}
