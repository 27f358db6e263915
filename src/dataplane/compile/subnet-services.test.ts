import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compile } from './compile.ts';
import { BLUE, C2, C3, DOMAINS, EDGE, flowsOf, HERE, nat, subnetService, view } from './dataplane-view-fixture.ts';
import { diff } from '../switch/diff.ts';
import { isOurCookie, isOurGroup } from '../switch/derived-ids.ts';
import type { ServiceView } from '../view/dataplane-view.ts';
import { SwitchState } from '../switch/state.ts';

const AT_C1 = { role: 'designated', designated: { host: 'c1' } } as const;
const passing = (phase: 'preparing' | 'switched' | 'retiring'): NonNullable<ServiceView['handover']> => ({
  phase,
  other: 'c2',
  tunnelAddress: C2.tunnelAddress,
});

describe('compile: services of a subnet', () => {
  const of = (type: 'subnet-route' | 'dhcp', facts: Partial<ServiceView> = {}): string[] => {
    const service = subnetService(type, facts);
    return flowsOf(compile(view({ services: [service] })), service.id);
  };

  test('subnet route: away, and at the designated host in and out', () => {
    expect(of('subnet-route')).toMatchInlineSnapshot(`
      [
        "30 25 ipv6,reg0=0x2000,ipv6_src=2001:db8:1::/64 -> group:1331087085",
      ]
    `);
    expect(of('subnet-route', AT_C1)).toMatchInlineSnapshot(`
      [
        "0 81 icmp6,in_port="muster-ext",ipv6_src=::,icmpv6_type=135,nd_target=fe80::fc:32ff:fe8e:795f -> drop",
        "0 80 icmp6,in_port="muster-ext",icmpv6_type=135,nd_target=fe80::fc:32ff:fe8e:795f -> move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:fc:32:8e:79:5f->eth_src,move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[],set_field:fe80::fc:32ff:fe8e:795f->ipv6_src,set_field:136->icmpv6_type,resubmit(,12)",
        "0 55 ipv6,in_port="muster-ext",ipv6_dst=2001:db8:1::/64 -> set_field:0x2000->reg0,resubmit(,15)",
        "12 50 icmp6,in_port="muster-ext",icmpv6_type=136,nd_target=fe80::fc:32ff:fe8e:795f -> set_field:2->nd_options_type,set_field:02:fc:32:8e:79:5f->nd_tll,set_field:3758096384->nd_reserved,IN_PORT",
        "30 30 ipv6,reg0=0x2000,ipv6_src=2001:db8:1::/64 -> set_field:02:fc:32:8e:79:5f->eth_src,set_field:02:ba:53:fc:b1:6c->eth_dst,output:"muster-ext"",
      ]
    `);
    const late = of('subnet-route', { role: 'retiring', handover: passing('retiring') });
    expect(late.filter((flow) => flow.startsWith('0 55'))).toHaveLength(1);
  });

  test('DHCP: asked here, answered at the designated host', () => {
    expect(of('dhcp')).toMatchInlineSnapshot(`
      [
        "10 60 udp,metadata=0x1000,dl_src=fa:16:3e:00:00:01,tp_src=68,tp_dst=67 -> group:1249680301",
      ]
    `);
    expect(of('dhcp', AT_C1)).toMatchInlineSnapshot(`
      [
        "10 60 udp,metadata=0x1000,dl_src=fa:16:3e:00:00:01,tp_src=68,tp_dst=67 -> CONTROLLER:65535",
      ]
    `);
    const arrivals = (facts: Partial<ServiceView>): string[] =>
      flowsOf(compile(view({ services: [subnetService('dhcp', facts)] })), 'network/blue').filter((flow) =>
        flow.includes('tp_dst=67'),
      );
    expect(arrivals({})).toEqual([]);
    expect(arrivals(AT_C1)).toMatchInlineSnapshot(`
      [
        "5 60 udp,tun_id=0x1000,tp_src=68,tp_dst=67 -> set_field:0x1000->metadata,CONTROLLER:65535",
      ]
    `);
    expect(arrivals({ role: 'preparing', handover: passing('preparing') })).toEqual(arrivals(AT_C1));
  });

  test('a-service-of-a-type-that-this-agent-does-not-know-is-left-out', () => {
    const later = { ...nat(), type: 'firewall' as ServiceView['type'] };
    expect(flowsOf(compile(view({ services: [later] })), 'nat:edge')).toEqual([]);
  });
});

const role = fc.constantFrom('designated', 'preparing', 'retiring', 'other');
const someService: fc.Arbitrary<ServiceView> = fc
  .record({
    type: fc.constantFrom('nat', 'subnet-route', 'dhcp'),
    nth: fc.integer({ min: 0, max: 4 }),
    role,
    at: fc.constantFrom('c2', 'c3', 'c9'),
    phase: fc.constantFrom('preparing', 'switched', 'retiring', 'draining'),
  })
  .map(({ type, nth, role: mine, at, phase }) => ({
    ...nat({ id: `${type}:s${nth}`, role: mine, designated: { host: mine === 'designated' ? 'c1' : at } }),
    type,
    ...(mine !== 'other' && { handover: { phase, other: at } }),
    subnets: [{ ...BLUE, network: `n${nth}`, cidr: `10.0.${nth}.0/24` }],
    nat: { router: 'edge', ip: `198.51.100.${nth + 1}` },
  }));
const services = fc.uniqueArray(someService, { selector: ({ id }) => id });

describe('properties of the compiler', () => {
  test('never: a flow without an owner, outside our range, or pointing at nothing', () => {
    fc.assert(
      fc.property(services, fc.subarray([C2, C3]), fc.boolean(), (shown, peers, isHere) => {
        const { contents, owners } = compile(view({ services: shown, peers, ports: isHere ? [HERE] : [] }));
        for (const { cookie } of contents.flows) {
          expect(isOurCookie(cookie)).toBe(true);
          expect(owners.get(cookie)).toBeDefined();
        }
        for (const { id } of contents.groups) expect(isOurGroup(id)).toBe(true);
        const state = new SwitchState();
        expect(state.apply(diff(contents, state.contents).changes)).toBeUndefined();
        expect(diff(contents, state.contents).changes).toEqual([]);
      }),
    );
  });

  test('never: the order of the view makes a difference', () => {
    fc.assert(
      fc.property(services, (shown) => {
        const turned = { domains: DOMAINS.toReversed(), routers: [EDGE] };
        const one = compile(view({ services: shown })).contents;
        const other = compile(view({ services: shown.toReversed(), networks: turned, peers: [C3, C2] })).contents;
        expect(one).toEqual(other);
      }),
    );
  });
});
