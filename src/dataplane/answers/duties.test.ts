import { describe, expect, test } from 'vitest';
import { HERE, nat, subnetService, view } from '../dataplane-fixture.ts';
import { macOf } from '../keys.ts';
import { dutiesOf } from './duties.ts';

const AT_C1 = { role: 'designated', designated: { host: 'c1' } } as const;
const FLOATING = [{ outside: '198.51.100.20', inside: '10.0.0.11', via: '198.51.100.1' }];

describe('what an agent does by packets of its own', () => {
  test('nothing-for-what-others-do', () => {
    const duties = dutiesOf(view({ services: [nat(), subnetService('dhcp'), subnetService('subnet-route')] }));
    expect(duties.nextHops).toEqual([]);
    expect(duties.announced).toEqual([]);
    expect([...duties.leases]).toEqual([]);
  });

  test('the-designated-host-knows-its-next-hops-and-says-where-the-addresses-are', () => {
    const { nextHops, announced } = dutiesOf(view({ services: [nat(AT_C1), subnetService('subnet-route', AT_C1)] }));
    expect(nextHops).toEqual(['198.51.100.1', '2001:db8:ff::1']);
    expect(announced.map(({ ip }) => ip)).toEqual(['198.51.100.7', 'fe80::fc:32ff:fe8e:795f']);
  });

  test('one-that-prepares-knows-its-next-hop-and-says-nothing-yet', () => {
    const handOver = { phase: 'preparing', other: 'c2' } as const;
    const { nextHops, announced } = dutiesOf(view({ services: [nat({ role: 'preparing', handOver })] }));
    expect([nextHops, announced]).toEqual([['198.51.100.1'], []]);
  });

  test('one-that-retires-says-nothing-any-more', () => {
    const handOver = { phase: 'switched', other: 'c2' } as const;
    expect(dutiesOf(view({ services: [nat({ role: 'retiring', handOver })] })).announced).toEqual([]);
  });

  test('floating-addresses-are-announced-where-their-instance-is', () => {
    const { nextHops, announced } = dutiesOf(view({ services: [nat({ floating: FLOATING })] }));
    expect(nextHops).toEqual(['198.51.100.1']);
    expect(announced).toEqual([{ ip: '198.51.100.20', mac: macOf('floating', '198.51.100.20') }]);
  });

  test('DHCP: every port of the subnet has its own address, wherever it is', () => {
    const [lease] = dutiesOf(view({ services: [subnetService('dhcp', AT_C1)] })).leases.get(0x1000) ?? [];
    expect(lease).toMatchObject({ cidr: '10.0.0.0/24', gateway: '10.0.0.1', serverMac: macOf('gateway', 'edge') });
    expect([...(lease?.ports ?? [])]).toEqual([
      [HERE.mac, { ip: '10.0.0.11' }],
      ['fa:16:3e:00:00:02', { ip: '10.0.0.12' }],
    ]);
  });

  test('DHCP without a router: no gateway is told of', () => {
    const { networks } = view();
    const alone = view({ services: [subnetService('dhcp', AT_C1)], networks: { ...networks, routers: [] } });
    const [lease] = dutiesOf(alone).leases.get(0x1000) ?? [];
    expect(lease).not.toHaveProperty('gateway');
  });

  test('every-host-is-the-IPv6-router-of-its-own-instances', () => {
    const { gateways } = dutiesOf(view());
    expect(gateways.get(0x1000)).toMatchObject({ prefixes: [{ cidr: '2001:db8:1::/64' }] });
    expect(gateways.has(0x1001)).toBe(false);
  });
});
