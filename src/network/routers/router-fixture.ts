// A small fleet with an external network, for the tests of routers and floating addresses: `ext` is external with four addresses, `lan` and `dmz`
// are internal, `other` belongs to another project.
import { idOf, type Change, type Fleet } from '../../fleet/index.ts';
import { createRouter, type CreateRouter } from './decide.ts';
import type { Port } from '../model.ts';
import { commitAccepted, fleetWith, network, port, segment, subnet, WHO } from '../network-fixture.ts';
import { FLOATING_ADDRESS, ROUTER, type FloatingAddress, type Router } from './model.ts';

export const REQUESTER = { portId: 'out-1', admin: false, ...WHO };

export function insidePort(
  id: string,
  addresses: readonly (readonly [ip: string, subnet: string])[],
  more: Partial<Port> = {},
): Change {
  const requested = addresses.map(([ip, of]) => ({ ip, subnet: of, chosenBy: 'user' as const }));
  return port(id, 'lan', { addresses: requested, ...more });
}

export function externalWorld(): Fleet {
  return fleetWith(
    network('ext', { external: true, shared: true }),
    subnet('ext-v4', 'ext', '203.0.113.0/29', { pools: [{ first: '203.0.113.2', last: '203.0.113.5' }] }),
    network('lan'),
    subnet('lan-v4', 'lan', '10.0.0.0/24'),
    subnet('lan-2', 'lan', '10.0.1.0/24'),
    subnet('lan-v6', 'lan', 'fd00::/64'),
    network('dmz'),
    subnet('dmz-v4', 'dmz', '10.5.0.0/24'),
    subnet('dmz-same', 'dmz', '10.0.0.0/16'),
    network('bare'),
    subnet('no-gateway', 'bare', '10.6.0.0/24', { gateway: undefined } as never),
    network('other', { project: 'blue' }),
    subnet('other-v4', 'other', '10.7.0.0/24'),
    insidePort('web', [['10.0.0.9', 'lan-v4']]),
    insidePort('dual', [
      ['10.0.0.10', 'lan-v4'],
      ['fd00::10', 'lan-v6'],
    ]),
  );
}

/** More external networks, each with a defect. */
export function faultyExternalWorld(): Fleet {
  return fleetWith(
    network('mine', { external: true }),
    subnet('mine-v4', 'mine', '198.51.100.0/29'),
    network('theirs', { external: true, project: 'blue' }),
    subnet('theirs-v4', 'theirs', '198.51.100.0/29'),
    network('sim', { external: true, shared: true, backEnd: 'simulated' }),
    subnet('sim-v4', 'sim', '198.51.100.0/29'),
    network('hosted', { external: true, shared: true, backEnd: 'host-local' }),
    subnet('hosted-v4', 'hosted', '198.51.100.0/29'),
    network('empty', { external: true, shared: true }),
    network('inside'),
    subnet('inside-v4', 'inside', '10.0.0.0/24'),
    network('six', { external: true, shared: true }),
    subnet('six-v6', 'six', '2001:db8::/64'),
    network('both', { external: true, shared: true }),
    subnet('both-v6', 'both', '2001:db8:1::/64'),
    subnet('both-v4', 'both', '192.0.2.0/29'),
    network('racks', { external: true, shared: true }),
    segment('ra', 'racks'),
    segment('rb', 'racks'),
    subnet('ra-v4', 'racks', '192.0.2.0/30', { segment: 'ra', pools: [{ first: '192.0.2.2', last: '192.0.2.2' }] }),
    subnet('rb-v4', 'racks', '192.0.2.8/29', { segment: 'rb' }),
  );
}

export function makeRouter(fleet: Fleet, command: Partial<CreateRouter> & { readonly name: string }): Router {
  commitAccepted(fleet, createRouter(fleet, { ...REQUESTER, portId: `nat-of-${command.name}`, ...command }));
  return routerDoc(fleet, command.name);
}

export function routerDoc(fleet: Fleet, id: string): Router {
  const stored = fleet.get(ROUTER, idOf(ROUTER, id));
  if (stored === undefined) throw new Error(`there is no router ${id}`);
  return stored.doc;
}

export function floatingDoc(fleet: Fleet, id: string): FloatingAddress {
  const stored = fleet.get(FLOATING_ADDRESS, idOf(FLOATING_ADDRESS, id));
  if (stored === undefined) throw new Error(`there is no floating address ${id}`);
  return stored.doc;
}
