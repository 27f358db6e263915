import { expect, test } from 'vitest';
import { bfdPortName } from '../switch/derived-ids.ts';
import { mapOf, type OvsdbRow } from './ovsdb/value.ts';
import { BfdStatus } from './bfd-status.ts';

type SessionState = 'never' | 'up' | 'lost';

/** The tables of a switch that listens for these peers. */
function tablesWith(peers: Readonly<Record<string, SessionState>>): {
  table(name: string): ReadonlyMap<string, OvsdbRow>;
} {
  const all = Object.entries(peers);
  const ids = Object.fromEntries(all.map(([peer]) => [`muster-tunnel:${peer}`, '172.16.0.2']));
  const interfaces = all.map(([peer, state]): [string, OvsdbRow] => [
    peer,
    {
      name: bfdPortName(peer).slice(1, -1),
      options: mapOf({ remote_ip: '172.16.0.2' }),
      bfd: mapOf({ enable: 'true', min_tx: '100' }),
      bfd_status: mapOf({ flap_count: state === 'never' ? '0' : '1', forwarding: String(state === 'up') }),
    },
  ]);
  const tables: Readonly<Record<string, ReadonlyMap<string, OvsdbRow>>> = {
    Bridge: new Map([['b', { name: 'br-int', external_ids: mapOf(ids) }]]),
    Interface: new Map(interfaces),
  };
  return { table: (name) => tables[name] ?? new Map() };
}

const NEITHER = { hasChanged: false, hasFirstUp: false };

test('whose-BFD-was-never-up-is-not-down, and-who-was-is', () => {
  const bfdStatus = new BfdStatus('br-int');
  expect([bfdStatus.downPeers(), bfdStatus.hasBeenUp('c2')]).toEqual([undefined, false]);
  expect(bfdStatus.update(tablesWith({ c2: 'never' }))).toEqual(NEITHER);
  expect([bfdStatus.downPeers(), bfdStatus.hasBeenUp('c2')]).toEqual([[], false]);
  expect(bfdStatus.update(tablesWith({ c2: 'up' }))).toEqual({ hasChanged: false, hasFirstUp: true });
  expect([bfdStatus.downPeers(), bfdStatus.hasBeenUp('c2')]).toEqual([[], true]);
  expect(bfdStatus.update(tablesWith({ c2: 'up' }))).toEqual(NEITHER);
  expect(bfdStatus.update(tablesWith({ c2: 'lost' }))).toEqual({ hasChanged: true, hasFirstUp: false });
  expect([bfdStatus.downPeers(), bfdStatus.hasBeenUp('c2')]).toEqual([['c2'], true]);
  expect(bfdStatus.update(tablesWith({ c2: 'up' }))).toEqual({ hasChanged: true, hasFirstUp: false });
});
