// Which peers have no BFD because the switch could not open the port for it, as the database reports it.
import { expect, test } from 'vitest';
import { bfdInterfaceName, BRIDGE_TABLES } from './bridge.ts';
import { findBfdPortErrors, type InterfaceError } from './interface-errors.ts';
import { start, usual } from './ovsdb/client-fixture.ts';
import { encodeValue, mapOf } from './ovsdb/value.ts';

/** A switch with tunnels to h2 and h3, and these interfaces. */
async function tablesWith(interfaces: readonly Partial<InterfaceError>[]) {
  const tunnels = encodeValue(mapOf({ 'muster-tunnel:h2': '172.16.0.2', 'muster-tunnel:h3': '172.16.0.3' }));
  const { client } = start((method, params, peer) =>
    method === 'monitor'
      ? {
          result: {
            Bridge: { b: { new: { name: 'br-int', external_ids: tunnels } } },
            Interface: Object.fromEntries(interfaces.map((row, nth) => [`i${nth}`, { new: row }])),
          },
        }
      : usual(method, params, peer),
  );
  return client.monitor('Open_vSwitch', BRIDGE_TABLES);
}

const OF_H3 = bfdInterfaceName('h3');

test('a-bfd-port-that-could-not-be-opened-is-shown-with-its-peer', async () => {
  const tables = await tablesWith([{ name: bfdInterfaceName('h2') }, { name: OF_H3, error: 'File exists' }]);
  expect(findBfdPortErrors(tables, { bridge: 'br-int' })).toEqual([{ peer: 'h3', name: OF_H3, error: 'File exists' }]);
});

test('other-interfaces-and-ports-of-hosts-that-are-no-peers-any-more-are-not', async () => {
  const tables = await tablesWith([
    { name: 'mp1', error: 'No such device' },
    { name: bfdInterfaceName('h4'), error: 'File exists' },
  ]);
  expect(findBfdPortErrors(tables, { bridge: 'br-int' })).toEqual([]);
});
