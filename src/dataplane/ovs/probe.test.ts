// What the probe of a switch says of interfaces that it could not open, as the database reports it.
import { expect, test } from 'vitest';
import type { SwitchCondition } from '../switch/switch.ts';
import { BRIDGE_TABLES } from './bridge.ts';
import { findUplinkErrors } from './interface-errors.ts';
import { start, usual } from './ovsdb/client-fixture.ts';
import { probeSwitch } from './probe-driver.ts';

const PLAN = { bridge: 'br-int', external: 'eth1', datapath: 'netdev' } as const;

/** A switch that answers on every socket, with these errors of its interfaces. */
async function probeWith(errors: Readonly<Record<string, string>>): Promise<SwitchCondition | undefined> {
  const rows = Object.entries(errors).map(([name, error]) => [`i-${name}`, { new: { name, error } }] as const);
  const { client, clock } = start((method, params, peer) =>
    method === 'monitor' ? { result: { Interface: Object.fromEntries(rows) } } : usual(method, params, peer),
  );
  const monitor = await client.monitor('Open_vSwitch', BRIDGE_TABLES);
  return probeSwitch({
    clock,
    isDaemonGone: () => false,
    sockets: { database: () => client.echo() },
    uplinkErrors: () => findUplinkErrors(monitor, PLAN),
  });
}

test('uplinks-that-a-switch-could-not-open-are-named', async () => {
  expect(await probeWith({ 'muster-tun': 'vxlan is missing' })).toEqual({
    code: 'interface-not-opened',
    message: 'it could not open muster-tun: vxlan is missing',
  });
  expect(await probeWith({ 'muster-tun': 'vxlan is missing', eth1: 'No such device' })).toEqual({
    code: 'interface-not-opened',
    message: 'it could not open eth1, muster-tun: No such device',
  });
});

test('an-interface-of-an-instance-of-a-stranger-or-of-one-peer-is-no-failure-of-the-switch', async () => {
  expect(await probeWith({ mp1: 'No such device', foreign0: 'No such device', 'mb-peer': 'File exists' })).toBe(
    undefined,
  );
});
