import { describe, expect, test } from 'vitest';
import { matchHost, resolveHost } from './identity.ts';
import { fleetOf } from './preview/preview-fixture.ts';

const BRIDGE = '6c2f7d5e-6b2a-4a35-9a7e-0f0f5f3c8b11';
/** Two datapath ids that differ only in the last of 64 bits: equal if read as a double. */
const ALL_ONES = { datapathId: 'ffffffffffffffff', systemId: 'sys-1', bridge: BRIDGE };
const ONE_LESS = { datapathId: 'fffffffffffffffe', systemId: 'sys-2' };

const fleet = fleetOf(
  { name: 'c1', switch: ALL_ONES },
  { name: 'c2', switch: ONE_LESS },
  { name: 'c3', switch: { datapathId: '000000000000000a' }, connection: { state: 'down', sinceMs: 0 } },
  { name: 'c4' },
);

describe('resolving a host id', () => {
  test.each([
    ['by-its-name', 'c1', 'c1'],
    ['by-topology-id', `ovsdb://uuid/${BRIDGE}/bridge/br-int`, 'c1'],
    ['by-topology-id-in-capitals', `ovsdb://uuid/${BRIDGE.toUpperCase()}/bridge/br-int`, 'c1'],
    ['by-datapath-id', 'ffffffffffffffff', 'c1'],
    ['by-datapath-id-in-capitals', 'FFFFFFFFFFFFFFFF', 'c1'],
    ['by-datapath-id-with-a-prefix', '0xfffffffffffffffe', 'c2'],
    ['by-datapath-id-with-colons', 'ff:ff:ff:ff:ff:ff:ff:fe', 'c2'],
    ['by-inventory-id', 'openflow:18446744073709551615', 'c1'],
    ['by-inventory-id-that-differs-in-the-last-bit', 'openflow:18446744073709551614', 'c2'],
    ['by-inventory-id-with-leading-zeros', 'openflow:0010', 'c3'],
    ['by-inventory-id-of-64-bits-with-leading-zeros', 'openflow:018446744073709551614', 'c2'],
    ['by-system-id', 'sys-2', 'c2'],
    ['while-disconnected', '000000000000000a', 'c3'],
    ['before-its-switch-is-known', 'c4', 'c4'],
    ['an-unknown-name', 'c9', undefined],
    ['a-number-alone-is-a-name', '10', undefined],
    ['more-than-64-bits', 'openflow:18446744073709551625', undefined],
    ['an-address-is-no-identity', '192.0.2.7', undefined],
    ['another-bridge-is-not-ours', `ovsdb://uuid/${BRIDGE}/bridge/br-ex`, undefined],
  ])('%s', (_name, form, expected) => {
    expect(resolveHost(fleet, form)?.doc.name).toBe(expected);
  });

  test('a-removed-host-is-found-when-no-other-has-the-id', () => {
    const removed = fleetOf({ name: 'c1', state: 'removed', switch: ALL_ONES });
    expect(resolveHost(removed, 'c1')?.id).toBe('c1');
    expect(resolveHost(removed, 'openflow:18446744073709551615')?.id).toBe('c1');
  });

  test('a-host-that-is-there-comes-before-a-removed-one', () => {
    const both = fleetOf({ name: 'c1', state: 'removed', switch: ALL_ONES }, { name: 'c9', switch: ALL_ONES });
    expect(resolveHost(both, 'ffffffffffffffff')?.id).toBe('c9');
    expect(resolveHost(both, 'c1')?.id).toBe('c1');
  });

  test('a-name-comes-before-the-id-of-another', () => {
    const mixed = fleetOf({ name: 'a', switch: { systemId: 'b' } }, { name: 'b', switch: { systemId: 'a' } });
    expect(resolveHost(mixed, 'a')?.id).toBe('a');
    expect(resolveHost(mixed, 'b')?.id).toBe('b');
  });

  test('a-trusted-host-comes-before-one-in-quarantine', () => {
    const quarantined = { because: 'identity', as: 'c2', atMs: 0 } as const;
    const both = fleetOf({ name: 'c1', switch: ALL_ONES, quarantined }, { name: 'c2', switch: ALL_ONES });
    expect(resolveHost(both, 'sys-1')?.id).toBe('c2');
  });

  test('an-id-that-several-hosts-have-is-ambiguous, and a site sees only its own', () => {
    const twins = fleetOf(
      { name: 'c2', switch: { systemId: 'sys-1' } },
      { name: 'c1', switch: { systemId: 'sys-1' } },
      { name: 'e1', site: 'edge', switch: { systemId: 'sys-1' } },
      { name: 'old', state: 'removed', switch: { systemId: 'sys-1' } },
    );
    expect(matchHost(twins, 'sys-1')).toEqual({ kind: 'ambiguous', names: ['c1', 'c2', 'e1'] });
    expect(matchHost(twins, 'sys-1', 'central')).toEqual({ kind: 'ambiguous', names: ['c1', 'c2'] });
    expect(matchHost(twins, 'sys-1', 'edge')).toMatchObject({ kind: 'host', host: { id: 'e1' } });
    expect(matchHost(twins, 'sys-1', 'north')).toEqual({ kind: 'unknown' });
    expect(resolveHost(twins, 'sys-1')).toBeUndefined();
    expect(matchHost(twins, 'c1')).toMatchObject({ kind: 'host', host: { id: 'c1' } });
  });

  test('hosts-of-other-sites-are-unknown-to-a-site', () => {
    const sites = fleetOf({ name: 'c1', site: 'edge' }, { name: 'c2', switch: { systemId: 'c1' } });
    expect(resolveHost(sites, 'c1', 'edge')?.id).toBe('c1');
    expect(resolveHost(sites, 'c1', 'central')?.id).toBe('c2');
    expect(resolveHost(sites, 'c1', 'north')).toBeUndefined();
  });
});
