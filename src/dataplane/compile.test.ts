import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compile, type Compiled } from './compile.ts';
import { diff } from './diff.ts';
import { isOurCookie, isOurGroup } from './keys.ts';
import { dataplaneView, type DataplaneView, type ShownService } from './shown.ts';
import { SwitchState } from './switch-state.ts';

const SUBNET = { id: 'blue-v4', network: 'blue', cidr: '10.0.0.0/24', gateway: '10.0.0.1' };
const C2 = { host: 'c2', tunnelAddress: '172.16.0.2' };
const C3 = { host: 'c3', tunnelAddress: '172.16.0.3' };

function nat(facts: Partial<ShownService> = {}): ShownService {
  return {
    id: 'nat:edge',
    type: 'nat',
    epoch: 1,
    role: 'other',
    designated: C2,
    subnets: [SUBNET],
    nat: { router: 'edge', ip: '198.51.100.7' },
    ...facts,
  };
}

function view(facts: Partial<DataplaneView> = {}): DataplaneView {
  return { host: 'c1', tombstoned: false, outcast: false, peers: [C2, C3], services: [], ports: [], ...facts };
}

/** The flows of one owner, as a person writes them down. */
function flowsOf({ contents, owners }: Compiled, id: string): string[] {
  return contents.flows
    .filter(({ cookie }) => owners.get(cookie)?.id === id)
    .map(({ table, priority, match, actions }) => `${table} ${priority} ${match} -> ${actions}`);
}

function natFlows(facts: Partial<ShownService>): string[] {
  return flowsOf(compile(view({ services: [nat(facts)] })), 'nat:edge');
}

describe('compile: source NAT by role', () => {
  test('other: everything that goes out is sent to the designated host by a group', () => {
    const compiled = compile(view({ services: [nat()] }));
    expect(flowsOf(compiled, 'nat:edge')).toMatchInlineSnapshot(`
      [
        "10 30 ip,metadata=0x8920a3558ffa2dfa,nw_src=10.0.0.0/24,nw_dst=10.0.0.0/24 -> set_field:0x8920a3558ffa2dfa->metadata,resubmit(,20)",
        "10 20 ip,metadata=0x8920a3558ffa2dfa,nw_src=10.0.0.0/24 -> set_field:0x666eedc657fbed87->xreg0,resubmit(,30)",
        "30 10 xreg0=0x666eedc657fbed87 -> group:1237757712",
      ]
    `);
    expect(compiled.contents.groups).toMatchInlineSnapshot(`
      [
        {
          "buckets": [
            "set_field:172.16.0.2->tun_dst,set_field:0x3e8->tun_id,set_field:0x666eedc657fbed87->tun_metadata0,load:0->NXM_OF_IN_PORT[],output:"muster-tun"",
          ],
          "id": 1237757712,
          "type": "indirect",
        },
      ]
    `);
  });

  test('designated: translated here, and only here is ARP answered', () => {
    const compiled = compile(view({ services: [nat({ role: 'designated', designated: { host: 'c1' } })] }));
    expect(flowsOf(compiled, 'nat:edge')).toMatchInlineSnapshot(`
      [
        "0 70 arp,in_port="muster-ext",arp_tpa=198.51.100.7,arp_op=1 -> move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:a1:8b:3a:f4:83->eth_src,load:2->NXM_OF_ARP_OP[],move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],set_field:02:a1:8b:3a:f4:83->arp_sha,set_field:198.51.100.7->arp_spa,IN_PORT",
        "0 60 in_port="muster-tun",tun_id=0x3e8,tun_metadata0=0x666eedc657fbed87 -> set_field:0x666eedc657fbed87->xreg0,set_field:1->reg4,resubmit(,30)",
        "0 60 ip,in_port="muster-ext",nw_dst=198.51.100.7 -> set_field:0x666eedc657fbed87->xreg0,ct(table=40,zone=52864,nat)",
        "10 30 ip,metadata=0x8920a3558ffa2dfa,nw_src=10.0.0.0/24,nw_dst=10.0.0.0/24 -> set_field:0x8920a3558ffa2dfa->metadata,resubmit(,20)",
        "10 20 ip,metadata=0x8920a3558ffa2dfa,nw_src=10.0.0.0/24 -> set_field:0x666eedc657fbed87->xreg0,resubmit(,30)",
        "30 20 ip,xreg0=0x666eedc657fbed87 -> ct(commit,table=35,zone=52864,nat(src=198.51.100.7))",
        "35 10 ip,xreg0=0x666eedc657fbed87,ct_state=+trk-inv -> output:"muster-ext"",
        "40 20 ip,xreg0=0x666eedc657fbed87,ct_state=+est+trk -> resubmit(,20)",
      ]
    `);
    expect(compiled.contents.groups).toEqual([]);
  });

  test('preparing: what peers send is translated, what starts here still goes to the old host', () => {
    expect(
      natFlows({ role: 'preparing', handOver: { phase: 'preparing', other: 'c2', tunnelAddress: C2.tunnelAddress } }),
    ).toMatchInlineSnapshot(`
      [
        "0 60 in_port="muster-tun",tun_id=0x3e8,tun_metadata0=0x666eedc657fbed87 -> set_field:0x666eedc657fbed87->xreg0,set_field:1->reg4,resubmit(,30)",
        "0 60 in_port="muster-tun",tun_id=0x7d0,tun_metadata0=0x666eedc657fbed87 -> set_field:1->reg5,set_field:0x666eedc657fbed87->xreg0,ct(table=40,zone=52864,nat)",
        "0 60 ip,in_port="muster-ext",nw_dst=198.51.100.7 -> set_field:0x666eedc657fbed87->xreg0,ct(table=40,zone=52864,nat)",
        "10 30 ip,metadata=0x8920a3558ffa2dfa,nw_src=10.0.0.0/24,nw_dst=10.0.0.0/24 -> set_field:0x8920a3558ffa2dfa->metadata,resubmit(,20)",
        "10 20 ip,metadata=0x8920a3558ffa2dfa,nw_src=10.0.0.0/24 -> set_field:0x666eedc657fbed87->xreg0,resubmit(,30)",
        "30 20 ip,xreg0=0x666eedc657fbed87,reg4=1 -> ct(commit,table=35,zone=52864,nat(src=198.51.100.7))",
        "30 10 xreg0=0x666eedc657fbed87 -> group:1237757712",
        "35 10 ip,xreg0=0x666eedc657fbed87,ct_state=+trk-inv -> output:"muster-ext"",
        "40 20 ip,xreg0=0x666eedc657fbed87,ct_state=+est+trk -> resubmit(,20)",
        "40 10 ip,xreg0=0x666eedc657fbed87,reg5=0 -> set_field:172.16.0.2->tun_dst,set_field:0x7d0->tun_id,set_field:0x666eedc657fbed87->tun_metadata0,load:0->NXM_OF_IN_PORT[],output:"muster-tun"",
      ]
    `);
  });

  test('retiring, not yet repointed: it goes on by itself and asks the new host for replies that it does not know', () => {
    const handOver = { phase: 'switched', other: 'c2', tunnelAddress: C2.tunnelAddress } as const;
    expect(natFlows({ role: 'retiring', handOver })).toMatchInlineSnapshot(`
      [
        "0 60 in_port="muster-tun",tun_id=0x3e8,tun_metadata0=0x666eedc657fbed87 -> set_field:0x666eedc657fbed87->xreg0,set_field:1->reg4,resubmit(,30)",
        "0 60 in_port="muster-tun",tun_id=0x7d0,tun_metadata0=0x666eedc657fbed87 -> set_field:1->reg5,set_field:0x666eedc657fbed87->xreg0,ct(table=40,zone=52864,nat)",
        "0 60 ip,in_port="muster-ext",nw_dst=198.51.100.7 -> set_field:0x666eedc657fbed87->xreg0,ct(table=40,zone=52864,nat)",
        "10 30 ip,metadata=0x8920a3558ffa2dfa,nw_src=10.0.0.0/24,nw_dst=10.0.0.0/24 -> set_field:0x8920a3558ffa2dfa->metadata,resubmit(,20)",
        "10 20 ip,metadata=0x8920a3558ffa2dfa,nw_src=10.0.0.0/24 -> set_field:0x666eedc657fbed87->xreg0,resubmit(,30)",
        "30 20 ip,xreg0=0x666eedc657fbed87 -> ct(commit,table=35,zone=52864,nat(src=198.51.100.7))",
        "35 10 ip,xreg0=0x666eedc657fbed87,ct_state=+trk-inv -> output:"muster-ext"",
        "40 20 ip,xreg0=0x666eedc657fbed87,ct_state=+est+trk -> resubmit(,20)",
        "40 10 ip,xreg0=0x666eedc657fbed87,reg5=0 -> set_field:172.16.0.2->tun_dst,set_field:0x7d0->tun_id,set_field:0x666eedc657fbed87->tun_metadata0,load:0->NXM_OF_IN_PORT[],output:"muster-tun"",
      ]
    `);
  });

  test('retiring: everything goes to the new host, replies to the old connections are still translated back', () => {
    const handOver = { phase: 'retiring', other: 'c2', tunnelAddress: C2.tunnelAddress } as const;
    expect(natFlows({ role: 'retiring', handOver })).toMatchInlineSnapshot(`
      [
        "0 60 in_port="muster-tun",tun_id=0x3e8,tun_metadata0=0x666eedc657fbed87 -> set_field:0x666eedc657fbed87->xreg0,set_field:1->reg4,resubmit(,30)",
        "0 60 in_port="muster-tun",tun_id=0x7d0,tun_metadata0=0x666eedc657fbed87 -> set_field:1->reg5,set_field:0x666eedc657fbed87->xreg0,ct(table=40,zone=52864,nat)",
        "0 60 ip,in_port="muster-ext",nw_dst=198.51.100.7 -> set_field:0x666eedc657fbed87->xreg0,ct(table=40,zone=52864,nat)",
        "10 30 ip,metadata=0x8920a3558ffa2dfa,nw_src=10.0.0.0/24,nw_dst=10.0.0.0/24 -> set_field:0x8920a3558ffa2dfa->metadata,resubmit(,20)",
        "10 20 ip,metadata=0x8920a3558ffa2dfa,nw_src=10.0.0.0/24 -> set_field:0x666eedc657fbed87->xreg0,resubmit(,30)",
        "30 10 xreg0=0x666eedc657fbed87 -> group:1237757712",
        "35 10 ip,xreg0=0x666eedc657fbed87,ct_state=+trk-inv -> output:"muster-ext"",
        "40 20 ip,xreg0=0x666eedc657fbed87,ct_state=+est+trk -> resubmit(,20)",
        "40 10 ip,xreg0=0x666eedc657fbed87,reg5=0 -> set_field:172.16.0.2->tun_dst,set_field:0x7d0->tun_id,set_field:0x666eedc657fbed87->tun_metadata0,load:0->NXM_OF_IN_PORT[],output:"muster-tun"",
      ]
    `);
  });

  test('withdrawn: nothing leaves, and nothing points anywhere', () => {
    const { designated: _gone, ...withdrawn } = nat();
    const compiled = compile(view({ services: [withdrawn] }));
    expect(compiled.contents.groups).toEqual([]);
    expect(flowsOf(compiled, 'nat:edge').filter((flow) => flow.startsWith('30 '))).toEqual([]);
  });

  test('floating addresses are translated on the host of their port, whoever is designated', () => {
    const floating = [{ outside: '198.51.100.20', inside: '10.0.0.5', network: 'blue' }];
    const only = natFlows({ floating }).filter((flow) => !natFlows({}).includes(flow));
    expect(only).toMatchInlineSnapshot(`
      [
        "0 70 arp,in_port="muster-ext",arp_tpa=198.51.100.20,arp_op=1 -> move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:e8:57:9e:07:66->eth_src,load:2->NXM_OF_ARP_OP[],move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],set_field:02:e8:57:9e:07:66->arp_sha,set_field:198.51.100.20->arp_spa,IN_PORT",
        "0 65 ip,in_port="muster-ext",nw_dst=198.51.100.20 -> set_field:10.0.0.5->ip_dst,set_field:0x8920a3558ffa2dfa->metadata,resubmit(,20)",
        "10 25 ip,metadata=0x8920a3558ffa2dfa,nw_src=10.0.0.5 -> set_field:198.51.100.20->ip_src,output:"muster-ext"",
      ]
    `);
  });

  test('a-designated-host-that-is-no-peer-is-a-gap-and-no-flow', () => {
    const compiled = compile(view({ peers: [], services: [nat()] }));
    expect(compiled.gaps).toEqual([{ owner: { kind: 'service', id: 'nat:edge' }, because: 'no-tunnel', what: 'c2' }]);
    expect(compiled.contents.groups).toEqual([]);
  });
});

describe('compile: services of a subnet', () => {
  const route = (facts: Partial<ShownService>): string[] => {
    const { nat: _none, ...rest } = nat({ id: 'subnet-route:blue-v4', type: 'subnet-route', ...facts });
    return flowsOf(compile(view({ services: [rest] })), 'subnet-route:blue-v4');
  };
  const dhcp = (facts: Partial<ShownService>): string[] => {
    const { nat: _none, ...rest } = nat({ id: 'dhcp:blue-v4', type: 'dhcp', ...facts });
    return flowsOf(compile(view({ services: [rest] })), 'dhcp:blue-v4');
  };

  test('subnet route: the designated host lets the outside in', () => {
    expect(route({})).toEqual([]);
    expect(route({ role: 'designated', designated: { host: 'c1' } })).toMatchInlineSnapshot(`
      [
        "0 55 ip,in_port="muster-ext",nw_dst=10.0.0.0/24 -> set_field:0x8920a3558ffa2dfa->metadata,resubmit(,20)",
      ]
    `);
    const late = { phase: 'retiring', other: 'c2' } as const;
    expect(route({ role: 'retiring', handOver: late })).toEqual(route({ role: 'designated' }));
  });

  test('DHCP: asked here, answered at the designated host', () => {
    expect(dhcp({})).toMatchInlineSnapshot(`
      [
        "10 60 udp,metadata=0x8920a3558ffa2dfa,tp_src=68,tp_dst=67 -> group:1249680301",
      ]
    `);
    expect(dhcp({ role: 'designated', designated: { host: 'c1' } })).toMatchInlineSnapshot(`
      [
        "0 60 in_port="muster-tun",tun_id=0xbb8,tun_metadata0=0xee7073cbf9313771 -> output:"muster-dhcp"",
        "10 60 udp,metadata=0x8920a3558ffa2dfa,tp_src=68,tp_dst=67 -> output:"muster-dhcp"",
      ]
    `);
    const early = { phase: 'preparing', other: 'c2' } as const;
    expect(dhcp({ role: 'preparing', handOver: early })).toMatchInlineSnapshot(`
      [
        "0 60 in_port="muster-tun",tun_id=0xbb8,tun_metadata0=0xee7073cbf9313771 -> output:"muster-dhcp"",
        "10 60 udp,metadata=0x8920a3558ffa2dfa,tp_src=68,tp_dst=67 -> group:1249680301",
      ]
    `);
  });

  test('a-service-of-a-type-that-this-agent-does-not-know-is-left-out', () => {
    const later = { ...nat(), type: 'firewall' as ShownService['type'] };
    expect(flowsOf(compile(view({ services: [later] })), 'nat:edge')).toEqual([]);
  });
});

describe('compile: the switch as a whole', () => {
  test('a bare host drops what it does not know', () => {
    expect(flowsOf(compile(view({ peers: [] })), 'c1')).toMatchInlineSnapshot(`
      [
        "0 0  -> drop",
        "10 0  -> drop",
        "20 0  -> drop",
        "30 0  -> drop",
        "35 0  -> drop",
        "40 0  -> drop",
      ]
    `);
  });

  test('a peer is listened to and sent to', () => {
    expect(flowsOf(compile(view({ peers: [C2] })), 'c2')).toMatchInlineSnapshot(`
      [
        "0 50 in_port="muster-tun",tun_src=172.16.0.2 -> resubmit(,10)",
        "20 50 xreg1=0xa0589f1f9162066a -> set_field:172.16.0.2->tun_dst,load:0->NXM_OF_IN_PORT[],output:"muster-tun"",
      ]
    `);
    expect(compile(view()).contents.tunnels).toEqual([
      { peer: 'c2', address: '172.16.0.2' },
      { peer: 'c3', address: '172.16.0.3' },
    ]);
  });

  test('a port of an instance is delivered to', () => {
    const port = { id: 'port-1', mac: '02:00:00:00:00:05', network: 'blue' };
    expect(flowsOf(compile(view({ ports: [port] })), 'port-1')).toMatchInlineSnapshot(`
      [
        "0 100 in_port="mp37762c15af",dl_src=02:00:00:00:00:05 -> set_field:0x8920a3558ffa2dfa->metadata,resubmit(,10)",
        "10 10 metadata=0x8920a3558ffa2dfa,dl_dst=02:00:00:00:00:05 -> resubmit(,20)",
        "20 100 metadata=0x8920a3558ffa2dfa,dl_dst=02:00:00:00:00:05 -> output:"mp37762c15af"",
      ]
    `);
  });

  test('tombstoned is said while it is true', () => {
    expect(compile(view({ tombstoned: true })).contents.externalIds).toEqual({ tombstoned: 'true' });
    expect(compile(view()).contents.externalIds).toEqual({});
  });

  test('an outcast has nothing', () => {
    const { contents } = compile(view({ outcast: true, tombstoned: true, services: [nat()] }));
    expect(contents).toEqual({ flows: [], groups: [], tunnels: [], externalIds: {} });
  });

  test('two-owners-of-one-match-are-told-and-the-first-has-it', () => {
    const twice = compile(view({ services: [nat(), nat({ id: 'nat:other' })] }));
    expect(twice.gaps.map(({ because, owner }) => `${because} ${owner.id}`)).toContain('same-match nat:other');
  });
});

describe('the view of the data plane', () => {
  test.each<readonly [string, Record<string, unknown>, object | undefined]>([
    ['a-server-that-says-nothing-of-it', { self: {}, instances: [] }, undefined],
    ['quarantined', { self: { quarantined: true }, peers: [], services: [] }, { outcast: true }],
    ['removed', { self: { state: 'removed' }, peers: [], services: [] }, { outcast: true }],
    ['tombstoned', { self: { tombstoned: true }, peers: [], services: [] }, { tombstoned: true, outcast: false }],
  ])('%s', (_name, parts, wanted) => {
    const found = dataplaneView('c1', parts);
    if (wanted === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(wanted);
  });
});

const role = fc.constantFrom('designated', 'preparing', 'retiring', 'other');
const someService: fc.Arbitrary<ShownService> = fc
  .record({
    type: fc.constantFrom('nat', 'subnet-route', 'dhcp'),
    nth: fc.integer({ min: 0, max: 4 }),
    role,
    at: fc.constantFrom('c2', 'c3', 'c9'),
    phase: fc.constantFrom('preparing', 'switched', 'retiring'),
  })
  .map(({ type, nth, role: mine, at, phase }) => ({
    ...nat({ id: `${type}:s${nth}`, role: mine, designated: { host: mine === 'designated' ? 'c1' : at } }),
    type,
    ...(mine !== 'other' && { handOver: { phase, other: at } }),
    subnets: [{ ...SUBNET, network: `n${nth}`, cidr: `10.0.${nth}.0/24` }],
    nat: { router: `s${nth}`, ip: `198.51.100.${nth + 1}` },
  }));
const services = fc.uniqueArray(someService, { selector: ({ id }) => id });

describe('properties of the compiler', () => {
  test('never: a flow without an owner, outside our range, or pointing at nothing', () => {
    fc.assert(
      fc.property(services, fc.subarray([C2, C3]), (shown, peers) => {
        const { contents, owners } = compile(view({ services: shown, peers }));
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
        const [one, other] = [shown, shown.toReversed()].map((order) => compile(view({ services: order })).contents);
        expect(one).toEqual(other);
      }),
    );
  });
});
