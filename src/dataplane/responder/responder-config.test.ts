import { describe, expect, test } from 'vitest';
import { HERE, nat, subnetService, view } from '../compile/dataplane-view-fixture.ts';
import { macOf } from '../switch/derived-ids.ts';
import { responderConfigOf } from './responder-config.ts';

const AT_C1 = { role: 'designated', designated: { host: 'c1' } } as const;
const FLOATING = [{ outside: '198.51.100.20', inside: '10.0.0.11', via: '198.51.100.1' }];

describe('what an agent does by packets of its own', () => {
  test('nothing-for-what-others-do', () => {
    const responderConfig = responderConfigOf(
      view({ services: [nat(), subnetService('dhcp'), subnetService('subnet-route')] }),
    );
    expect(responderConfig.nextHops).toEqual([]);
    expect(responderConfig.announcedAddresses).toEqual([]);
    expect([...responderConfig.dhcpSubnets]).toEqual([]);
  });

  test('the-designated-host-knows-its-next-hops-and-says-where-the-addresses-are', () => {
    const { nextHops, announcedAddresses } = responderConfigOf(
      view({ services: [nat(AT_C1), subnetService('subnet-route', AT_C1)] }),
    );
    expect(nextHops).toEqual(['198.51.100.1', '2001:db8:ff::1']);
    expect(announcedAddresses.map(({ ip }) => ip)).toEqual(['198.51.100.7', 'fe80::fc:32ff:fe8e:795f']);
  });

  test('one-that-prepares-knows-its-next-hop-and-says-nothing-yet', () => {
    const handover = { phase: 'preparing', other: 'c2' } as const;
    const { nextHops, announcedAddresses } = responderConfigOf(
      view({ services: [nat({ role: 'preparing', handover })] }),
    );
    expect([nextHops, announcedAddresses]).toEqual([['198.51.100.1'], []]);
  });

  test('one-that-retires-says-nothing-any-more', () => {
    const handover = { phase: 'switched', other: 'c2' } as const;
    expect(responderConfigOf(view({ services: [nat({ role: 'retiring', handover })] })).announcedAddresses).toEqual([]);
  });

  test('floating-addresses-are-announced-where-their-instance-is', () => {
    const { nextHops, announcedAddresses } = responderConfigOf(view({ services: [nat({ floating: FLOATING })] }));
    expect(nextHops).toEqual(['198.51.100.1']);
    expect(announcedAddresses).toEqual([{ ip: '198.51.100.20', mac: macOf('floating', '198.51.100.20') }]);
  });

  test('DHCP: every port of the subnet has its own address, wherever it is', () => {
    const [lease] = responderConfigOf(view({ services: [subnetService('dhcp', AT_C1)] })).dhcpSubnets.get(0x1000) ?? [];
    expect(lease).toMatchObject({ cidr: '10.0.0.0/24', gateway: '10.0.0.1', serverMac: macOf('gateway', 'edge') });
    expect([...(lease?.reservations ?? [])]).toEqual([
      [HERE.mac, { ip: '10.0.0.11' }],
      ['fa:16:3e:00:00:02', { ip: '10.0.0.12' }],
    ]);
  });

  test('DHCP without a router: no gateway is announced', () => {
    const { networks } = view();
    const alone = view({ services: [subnetService('dhcp', AT_C1)], networks: { ...networks, routers: [] } });
    const [lease] = responderConfigOf(alone).dhcpSubnets.get(0x1000) ?? [];
    expect(lease).not.toHaveProperty('gateway');
  });

  test('every-host-is-the-IPv6-router-of-its-own-instances', () => {
    const { ndNetworks } = responderConfigOf(view());
    expect(ndNetworks.get(0x1000)).toMatchObject({ prefixes: [{ cidr: '2001:db8:1::/64' }] });
    expect(ndNetworks.has(0x1001)).toBe(false);
  });
});
