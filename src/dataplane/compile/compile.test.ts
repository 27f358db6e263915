import { describe, expect, test } from 'vitest';
import { compile } from './compile.ts';
import { C2, C3, EDGE, flowsOf, nat, subnetService, view } from './dataplane-view-fixture.ts';
import type { ServiceView } from '../view/dataplane-view.ts';
import { readDataplaneView } from '../view/read-view.ts';

const AT_C1 = { role: 'designated', designated: { host: 'c1' } } as const;
const passing = (phase: 'preparing' | 'switched' | 'retiring' | 'draining'): NonNullable<ServiceView['handover']> => ({
  phase,
  other: 'c2',
  tunnelAddress: C2.tunnelAddress,
});

function natFlows(facts: Partial<ServiceView>): string[] {
  return flowsOf(compile(view({ services: [nat(facts)] })), 'nat:edge');
}

describe('compile: what every host has', () => {
  test('what is not known is dropped; next hops outside answer to the agent', () => {
    expect(flowsOf(compile(view({ peers: [] })), 'c1')).toMatchInlineSnapshot(`
      [
        "0 80 arp,in_port="muster-ext",dl_dst=02:61:88:3a:80:a5,arp_op=2 -> CONTROLLER:65535",
        "0 80 icmp6,in_port="muster-ext",dl_dst=02:61:88:3a:80:a5,icmpv6_type=136 -> CONTROLLER:65535",
        "0 0  -> drop",
        "5 0  -> drop",
        "10 0  -> drop",
        "12 0  -> drop",
        "15 0  -> drop",
        "20 0  -> drop",
        "30 0  -> drop",
        "32 0  -> drop",
        "35 0  -> drop",
        "40 0  -> drop",
      ]
    `);
  });

  test('only peers are listened to', () => {
    expect(flowsOf(compile(view({ peers: [C2] })), 'c2')).toMatchInlineSnapshot(`
      [
        "0 50 in_port="muster-tun",tun_src=172.16.0.2 -> resubmit(,5)",
      ]
    `);
    expect(compile(view()).contents.tunnels).toEqual([
      { peer: 'c2', address: '172.16.0.2' },
      { peer: 'c3', address: '172.16.0.3' },
    ]);
  });

  test('a port here', () => {
    expect(flowsOf(compile(view()), 'port-1')).toMatchInlineSnapshot(`
      [
        "0 100 in_port="mp37762c15af",dl_src=fa:16:3e:00:00:01 -> set_field:0x1000->metadata,resubmit(,10)",
        "10 85 arp,in_port="mp37762c15af",arp_tpa=10.0.0.11,arp_op=1 -> drop",
        "10 80 arp,metadata=0x1000,arp_tpa=10.0.0.11,arp_op=1 -> move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:fa:16:3e:00:00:01->eth_src,set_field:2->arp_op,move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],set_field:fa:16:3e:00:00:01->arp_sha,set_field:10.0.0.11->arp_spa,IN_PORT",
        "20 100 metadata=0x1000,dl_dst=fa:16:3e:00:00:01 -> output:"mp37762c15af"",
      ]
    `);
  });

  test('a port elsewhere', () => {
    expect(flowsOf(compile(view()), 'port-2')).toMatchInlineSnapshot(`
      [
        "10 80 arp,metadata=0x1000,arp_tpa=10.0.0.12,arp_op=1 -> move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:fa:16:3e:00:00:02->eth_src,set_field:2->arp_op,move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],set_field:fa:16:3e:00:00:02->arp_sha,set_field:10.0.0.12->arp_spa,IN_PORT",
        "20 90 metadata=0x1000,dl_dst=fa:16:3e:00:00:02 -> set_field:0x1000->tun_id,set_field:172.16.0.2->tun_dst,output:"muster-tun"",
      ]
    `);
  });

  test('a domain: what is for all goes to all, and what came from a peer stays here', () => {
    const compiled = compile(view());
    expect(flowsOf(compiled, 'network/blue')).toMatchInlineSnapshot(`
      [
        "5 50 tun_id=0x1000 -> set_field:0x1000->metadata,resubmit(,20)",
        "10 10 metadata=0x1000 -> resubmit(,20)",
        "20 60 in_port="muster-tun",metadata=0x1000,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00 -> output:"mp37762c15af"",
        "20 50 metadata=0x1000,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00 -> output:"mp37762c15af",group:1319293210",
      ]
    `);
    expect(compiled.contents.groups).toMatchInlineSnapshot(`
      [
        {
          "buckets": [
            "set_field:0x1000->tun_id,set_field:172.16.0.2->tun_dst,output:"muster-tun"",
          ],
          "id": 1319293210,
          "type": "all",
        },
        {
          "buckets": [
            "set_field:0x1001->tun_id,set_field:172.16.0.3->tun_dst,output:"muster-tun"",
          ],
          "id": 1324153347,
          "type": "all",
        },
      ]
    `);
  });

  test('a router: gateways answer, subnets reach each other, the rest goes out', () => {
    expect(flowsOf(compile(view()), 'edge')).toMatchInlineSnapshot(`
      [
        "10 81 icmp6,metadata=0x1000,ipv6_src=::,icmpv6_type=135,nd_target=2001:db8:1::1 -> drop",
        "10 81 icmp6,metadata=0x1000,ipv6_src=::,icmpv6_type=135,nd_target=fe80::d0:31ff:fe8d:2f77 -> drop",
        "10 81 icmp6,metadata=0x1001,ipv6_src=::,icmpv6_type=135,nd_target=fe80::d0:31ff:fe8d:2f77 -> drop",
        "10 80 arp,metadata=0x1000,arp_tpa=10.0.0.1,arp_op=1 -> move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:d0:31:8d:2f:77->eth_src,set_field:2->arp_op,move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],set_field:02:d0:31:8d:2f:77->arp_sha,set_field:10.0.0.1->arp_spa,IN_PORT",
        "10 80 arp,metadata=0x1001,arp_tpa=10.1.0.1,arp_op=1 -> move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:d0:31:8d:2f:77->eth_src,set_field:2->arp_op,move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],set_field:02:d0:31:8d:2f:77->arp_sha,set_field:10.1.0.1->arp_spa,IN_PORT",
        "10 80 icmp6,metadata=0x1000,icmpv6_type=135,nd_target=2001:db8:1::1 -> move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:d0:31:8d:2f:77->eth_src,move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[],set_field:2001:db8:1::1->ipv6_src,set_field:136->icmpv6_type,resubmit(,12)",
        "10 80 icmp6,metadata=0x1000,icmpv6_type=135,nd_target=fe80::d0:31ff:fe8d:2f77 -> move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:d0:31:8d:2f:77->eth_src,move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[],set_field:fe80::d0:31ff:fe8d:2f77->ipv6_src,set_field:136->icmpv6_type,resubmit(,12)",
        "10 80 icmp6,metadata=0x1001,icmpv6_type=135,nd_target=fe80::d0:31ff:fe8d:2f77 -> move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:d0:31:8d:2f:77->eth_src,move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[],set_field:fe80::d0:31ff:fe8d:2f77->ipv6_src,set_field:136->icmpv6_type,resubmit(,12)",
        "10 60 icmp6,metadata=0x1000,icmpv6_type=133 -> CONTROLLER:65535",
        "10 60 icmp6,metadata=0x1001,icmpv6_type=133 -> CONTROLLER:65535",
        "10 40 ip,metadata=0x1000,dl_dst=02:d0:31:8d:2f:77 -> set_field:0x2000->reg0,resubmit(,15)",
        "10 40 ip,metadata=0x1001,dl_dst=02:d0:31:8d:2f:77 -> set_field:0x2000->reg0,resubmit(,15)",
        "10 40 ipv6,metadata=0x1000,dl_dst=02:d0:31:8d:2f:77 -> set_field:0x2000->reg0,resubmit(,15)",
        "10 40 ipv6,metadata=0x1001,dl_dst=02:d0:31:8d:2f:77 -> set_field:0x2000->reg0,resubmit(,15)",
        "12 50 icmp6,metadata=0x1000,icmpv6_type=136,nd_target=2001:db8:1::1 -> set_field:2->nd_options_type,set_field:02:d0:31:8d:2f:77->nd_tll,set_field:3758096384->nd_reserved,IN_PORT",
        "12 50 icmp6,metadata=0x1000,icmpv6_type=136,nd_target=fe80::d0:31ff:fe8d:2f77 -> set_field:2->nd_options_type,set_field:02:d0:31:8d:2f:77->nd_tll,set_field:3758096384->nd_reserved,IN_PORT",
        "12 50 icmp6,metadata=0x1001,icmpv6_type=136,nd_target=fe80::d0:31ff:fe8d:2f77 -> set_field:2->nd_options_type,set_field:02:d0:31:8d:2f:77->nd_tll,set_field:3758096384->nd_reserved,IN_PORT",
        "15 110 icmp,reg0=0x2000,nw_dst=10.0.0.1,icmp_type=8 -> move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:d0:31:8d:2f:77->eth_src,move:NXM_OF_IP_SRC[]->NXM_OF_IP_DST[],set_field:10.0.0.1->ip_src,set_field:0->icmp_type,set_field:64->nw_ttl,IN_PORT",
        "15 110 icmp,reg0=0x2000,nw_dst=10.1.0.1,icmp_type=8 -> move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:d0:31:8d:2f:77->eth_src,move:NXM_OF_IP_SRC[]->NXM_OF_IP_DST[],set_field:10.1.0.1->ip_src,set_field:0->icmp_type,set_field:64->nw_ttl,IN_PORT",
        "15 110 icmp6,reg0=0x2000,ipv6_dst=2001:db8:1::1,icmpv6_type=128 -> move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:d0:31:8d:2f:77->eth_src,move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[],set_field:2001:db8:1::1->ipv6_src,set_field:129->icmpv6_type,set_field:64->nw_ttl,IN_PORT",
        "15 100 ip,reg0=0x2000,nw_dst=10.0.0.11 -> dec_ttl,set_field:02:d0:31:8d:2f:77->eth_src,set_field:fa:16:3e:00:00:01->eth_dst,set_field:0x1000->metadata,resubmit(,20)",
        "15 100 ip,reg0=0x2000,nw_dst=10.0.0.12 -> dec_ttl,set_field:02:d0:31:8d:2f:77->eth_src,set_field:fa:16:3e:00:00:02->eth_dst,set_field:0x1000->metadata,resubmit(,20)",
        "15 100 ip,reg0=0x2000,nw_dst=10.1.0.13 -> dec_ttl,set_field:02:d0:31:8d:2f:77->eth_src,set_field:fa:16:3e:00:00:03->eth_dst,set_field:0x1001->metadata,resubmit(,20)",
        "15 100 ipv6,reg0=0x2000,ipv6_dst=2001:db8:1::11 -> dec_ttl,set_field:02:d0:31:8d:2f:77->eth_src,set_field:fa:16:3e:00:00:01->eth_dst,set_field:0x1000->metadata,resubmit(,20)",
        "15 100 ipv6,reg0=0x2000,ipv6_dst=2001:db8:1::12 -> dec_ttl,set_field:02:d0:31:8d:2f:77->eth_src,set_field:fa:16:3e:00:00:02->eth_dst,set_field:0x1000->metadata,resubmit(,20)",
        "15 50 ip,reg0=0x2000,nw_dst=10.0.0.0/24 -> drop",
        "15 50 ip,reg0=0x2000,nw_dst=10.1.0.0/24 -> drop",
        "15 50 ipv6,reg0=0x2000,ipv6_dst=2001:db8:1::/64 -> drop",
        "15 10 ip,reg0=0x2000 -> dec_ttl,resubmit(,30)",
        "15 10 ipv6,reg0=0x2000 -> dec_ttl,resubmit(,30)",
      ]
    `);
  });

  test('a-port-whose-network-has-no-key-is-a-gap-and-no-flow', () => {
    const compiled = compile(view({ networks: { domains: [], routers: [EDGE] } }));
    expect(flowsOf(compiled, 'port-1')).toEqual([]);
    expect(compiled.gaps).toContainEqual({
      owner: { kind: 'port', id: 'port-1' },
      reason: 'no-tunnel-key',
      what: 'network/blue',
    });
  });

  test('a-port-on-a-host-that-is-no-peer-is-a-gap-and-no-flow', () => {
    const compiled = compile(view({ peers: [C3] }));
    expect(flowsOf(compiled, 'port-2')).toEqual([]);
    expect(compiled.gaps).toContainEqual({ owner: { kind: 'port', id: 'port-2' }, reason: 'no-tunnel', what: 'c2' });
  });
});

describe('compile: source NAT by role', () => {
  test('other: everything that goes out is sent to the designated host by a group', () => {
    const compiled = compile(view({ services: [nat()] }));
    expect(flowsOf(compiled, 'nat:edge')).toMatchInlineSnapshot(`
      [
        "30 10 ip,reg0=0x2000 -> group:1237757712",
      ]
    `);
    expect(compiled.contents.groups.filter(({ type }) => type === 'indirect')).toMatchInlineSnapshot(`
      [
        {
          "buckets": [
            "load:0->NXM_OF_IN_PORT[],set_field:0x2000->tun_id,set_field:172.16.0.2->tun_dst,output:"muster-tun"",
          ],
          "id": 1237757712,
          "type": "indirect",
        },
      ]
    `);
  });

  test('designated: translated here', () => {
    expect(natFlows(AT_C1)).toMatchInlineSnapshot(`
      [
        "0 70 arp,in_port="muster-ext",arp_tpa=198.51.100.7,arp_op=1 -> move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:97:fe:e2:42:c2->eth_src,set_field:2->arp_op,move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],set_field:02:97:fe:e2:42:c2->arp_sha,set_field:198.51.100.7->arp_spa,IN_PORT",
        "0 60 ip,in_port="muster-ext",nw_dst=198.51.100.7 -> set_field:0x2000->reg0,ct(table=40,zone=52864,nat)",
        "30 20 ip,reg0=0x2000 -> ct(commit,table=35,zone=52864,nat(src=198.51.100.7))",
        "35 10 ip,reg0=0x2000,ct_state=-inv+trk -> set_field:02:97:fe:e2:42:c2->eth_src,set_field:02:10:0d:77:9d:c3->eth_dst,output:"muster-ext"",
        "40 20 ip,reg0=0x2000,ct_state=+est+trk -> load:0->NXM_OF_IN_PORT[],resubmit(,15)",
        "40 20 ip,reg0=0x2000,ct_state=+rel+trk -> load:0->NXM_OF_IN_PORT[],resubmit(,15)",
      ]
    `);
  });

  test('preparing: what peers send is translated if it is known, what starts here still goes to the old host', () => {
    expect(natFlows({ role: 'preparing', handover: passing('preparing') })).toMatchInlineSnapshot(`
      [
        "0 60 ip,in_port="muster-ext",nw_dst=198.51.100.7 -> set_field:0x2000->reg0,ct(table=40,zone=52864,nat)",
        "5 70 ip,tun_id=0x2000,nw_dst=198.51.100.7 -> set_field:0x1->reg5,set_field:0x2000->reg0,ct(table=40,zone=52864,nat)",
        "5 65 ip,tun_id=0x2000,tun_src=172.16.0.2 -> set_field:0x2000->reg0,set_field:0x1->reg4,set_field:0x1->reg6,resubmit(,30)",
        "30 20 ip,reg0=0x2000,reg4=0x1 -> ct(table=32,zone=52864,nat)",
        "30 10 ip,reg0=0x2000 -> group:1237757712",
        "32 30 ip,reg0=0x2000,nw_src=198.51.100.7 -> resubmit(,35)",
        "32 20 ip,reg0=0x2000,reg6=0x1 -> ct(commit,table=35,zone=52864,nat(src=198.51.100.7:24576-32767))",
        "32 10 ip,reg0=0x2000 -> load:0->NXM_OF_IN_PORT[],set_field:0x2000->tun_id,set_field:172.16.0.2->tun_dst,output:"muster-tun"",
        "35 10 ip,reg0=0x2000,ct_state=-inv+trk -> set_field:02:97:fe:e2:42:c2->eth_src,set_field:02:10:0d:77:9d:c3->eth_dst,output:"muster-ext"",
        "40 20 ip,reg0=0x2000,ct_state=+est+trk -> load:0->NXM_OF_IN_PORT[],resubmit(,15)",
        "40 20 ip,reg0=0x2000,ct_state=+rel+trk -> load:0->NXM_OF_IN_PORT[],resubmit(,15)",
        "40 10 ip,reg0=0x2000,reg5=0 -> load:0->NXM_OF_IN_PORT[],set_field:0x2000->tun_id,set_field:172.16.0.2->tun_dst,output:"muster-tun"",
      ]
    `);
  });

  test('retiring, not yet repointed: it goes on by itself, answers ARP, and asks the new host for replies that it does not know', () => {
    expect(natFlows({ role: 'retiring', handover: passing('switched') })).toMatchInlineSnapshot(`
      [
        "0 70 arp,in_port="muster-ext",arp_tpa=198.51.100.7,arp_op=1 -> move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:97:fe:e2:42:c2->eth_src,set_field:2->arp_op,move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],set_field:02:97:fe:e2:42:c2->arp_sha,set_field:198.51.100.7->arp_spa,IN_PORT",
        "0 60 ip,in_port="muster-ext",nw_dst=198.51.100.7 -> set_field:0x2000->reg0,ct(table=40,zone=52864,nat)",
        "5 70 ip,tun_id=0x2000,nw_dst=198.51.100.7 -> set_field:0x1->reg5,set_field:0x2000->reg0,ct(table=40,zone=52864,nat)",
        "30 20 ip,reg0=0x2000 -> ct(commit,table=35,zone=52864,nat(src=198.51.100.7))",
        "35 10 ip,reg0=0x2000,ct_state=-inv+trk -> set_field:02:97:fe:e2:42:c2->eth_src,set_field:02:10:0d:77:9d:c3->eth_dst,output:"muster-ext"",
        "40 20 ip,reg0=0x2000,ct_state=+est+trk -> load:0->NXM_OF_IN_PORT[],resubmit(,15)",
        "40 20 ip,reg0=0x2000,ct_state=+rel+trk -> load:0->NXM_OF_IN_PORT[],resubmit(,15)",
        "40 10 ip,reg0=0x2000,reg5=0 -> load:0->NXM_OF_IN_PORT[],set_field:0x2000->tun_id,set_field:172.16.0.2->tun_dst,output:"muster-tun"",
      ]
    `);
  });

  test('retiring: what is known goes on, what begins goes to the new host', () => {
    expect(natFlows({ role: 'retiring', handover: passing('retiring') })).toMatchInlineSnapshot(`
      [
        "0 60 ip,in_port="muster-ext",nw_dst=198.51.100.7 -> set_field:0x2000->reg0,ct(table=40,zone=52864,nat)",
        "5 70 ip,tun_id=0x2000,nw_dst=198.51.100.7 -> set_field:0x1->reg5,set_field:0x2000->reg0,ct(table=40,zone=52864,nat)",
        "30 20 ip,reg0=0x2000 -> ct(table=32,zone=52864,nat)",
        "30 10 ip,reg0=0x2000 -> group:1237757712",
        "32 30 ip,reg0=0x2000,nw_src=198.51.100.7 -> resubmit(,35)",
        "32 10 ip,reg0=0x2000 -> load:0->NXM_OF_IN_PORT[],set_field:0x2000->tun_id,set_field:172.16.0.2->tun_dst,output:"muster-tun"",
        "35 10 ip,reg0=0x2000,ct_state=-inv+trk -> set_field:02:97:fe:e2:42:c2->eth_src,set_field:02:10:0d:77:9d:c3->eth_dst,output:"muster-ext"",
        "40 20 ip,reg0=0x2000,ct_state=+est+trk -> load:0->NXM_OF_IN_PORT[],resubmit(,15)",
        "40 20 ip,reg0=0x2000,ct_state=+rel+trk -> load:0->NXM_OF_IN_PORT[],resubmit(,15)",
        "40 10 ip,reg0=0x2000,reg5=0 -> load:0->NXM_OF_IN_PORT[],set_field:0x2000->tun_id,set_field:172.16.0.2->tun_dst,output:"muster-tun"",
      ]
    `);
  });

  test('draining: everything goes to the new host, replies to the old connections are still translated back', () => {
    expect(natFlows({ role: 'retiring', handover: passing('draining') })).toMatchInlineSnapshot(`
      [
        "0 60 ip,in_port="muster-ext",nw_dst=198.51.100.7 -> set_field:0x2000->reg0,ct(table=40,zone=52864,nat)",
        "5 70 ip,tun_id=0x2000,nw_dst=198.51.100.7 -> set_field:0x1->reg5,set_field:0x2000->reg0,ct(table=40,zone=52864,nat)",
        "30 10 ip,reg0=0x2000 -> group:1237757712",
        "35 10 ip,reg0=0x2000,ct_state=-inv+trk -> set_field:02:97:fe:e2:42:c2->eth_src,set_field:02:10:0d:77:9d:c3->eth_dst,output:"muster-ext"",
        "40 20 ip,reg0=0x2000,ct_state=+est+trk -> load:0->NXM_OF_IN_PORT[],resubmit(,15)",
        "40 20 ip,reg0=0x2000,ct_state=+rel+trk -> load:0->NXM_OF_IN_PORT[],resubmit(,15)",
        "40 10 ip,reg0=0x2000,reg5=0 -> load:0->NXM_OF_IN_PORT[],set_field:0x2000->tun_id,set_field:172.16.0.2->tun_dst,output:"muster-tun"",
      ]
    `);
  });

  test('never: two ends of a handover of which neither answers ARP', () => {
    const answers = (flows: readonly string[]): boolean => flows.some((flow) => flow.includes('arp_tpa=198.51.100.7'));
    for (const phase of ['preparing', 'switched', 'retiring', 'draining'] as const) {
      const oldEnd = phase === 'preparing' ? AT_C1 : { role: 'retiring' as const };
      const newEnd = phase === 'preparing' ? { role: 'preparing' as const } : AT_C1;
      // Each may have converged on the phase before as well.
      const old = answers(natFlows({ ...oldEnd, handover: passing(phase) }));
      const next = answers(natFlows({ ...newEnd, handover: passing(phase) }));
      expect([phase, old, next]).toEqual([phase, phase === 'preparing' || phase === 'switched', phase !== 'preparing']);
    }
  });

  test('what peers send to leave by the router is taken by those who do, or may have to', () => {
    const taken = (facts: Partial<ServiceView>): boolean =>
      flowsOf(compile(view({ services: [nat(facts)] })), 'edge').some((flow) => flow.includes('tun_id=0x2000'));
    expect([AT_C1, { role: 'preparing' } as const, { role: 'retiring' } as const, {}].map(taken)).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  test('withdrawn: nothing leaves, and nothing points anywhere', () => {
    const { designated: _designated, ...withdrawn } = nat();
    const compiled = compile(view({ services: [withdrawn] }));
    expect(flowsOf(compiled, 'nat:edge')).toEqual([]);
    expect(compiled.contents.groups.filter(({ type }) => type === 'indirect')).toEqual([]);
  });

  test('floating addresses are translated on the host of their port, whoever is designated', () => {
    const floating = [{ outside: '198.51.100.20', inside: '10.0.0.11', via: '198.51.100.1' }];
    const only = natFlows({ floating }).filter((flow) => !natFlows({}).includes(flow));
    expect(only).toMatchInlineSnapshot(`
      [
        "0 70 arp,in_port="muster-ext",arp_tpa=198.51.100.20,arp_op=1 -> move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[],set_field:02:e8:57:9e:07:66->eth_src,set_field:2->arp_op,move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[],move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],set_field:02:e8:57:9e:07:66->arp_sha,set_field:198.51.100.20->arp_spa,IN_PORT",
        "0 65 ip,in_port="muster-ext",nw_dst=198.51.100.20 -> set_field:10.0.0.11->ip_dst,set_field:0x2000->reg0,resubmit(,15)",
        "15 40 ip,reg0=0x2000,nw_src=10.0.0.11 -> dec_ttl,set_field:198.51.100.20->ip_src,set_field:02:e8:57:9e:07:66->eth_src,set_field:02:10:0d:77:9d:c3->eth_dst,output:"muster-ext"",
      ]
    `);
  });

  test.each([
    ['no-next-hop', { via: undefined }, 'edge'],
    ['next-hop-unresolved', {}, '198.51.100.1'],
  ] as const)('%s: nothing leaves, and it is reported', (reason, facts, what) => {
    const { via, ...rest } = nat({ ...AT_C1 });
    const service = 'via' in facts ? rest : { ...rest, ...(via !== undefined && { via }) };
    const compiled = compile(view({ services: [service] }), { nextHop: () => undefined });
    expect(flowsOf(compiled, 'nat:edge').filter((flow) => flow.startsWith('35 '))).toEqual([]);
    expect(compiled.gaps).toContainEqual({ owner: { kind: 'service', id: 'nat:edge' }, reason, what });
  });

  test('a-designated-host-that-is-no-peer-is-a-gap-and-no-flow', () => {
    const compiled = compile(view({ peers: [], services: [nat()] }));
    expect(compiled.gaps).toContainEqual({
      owner: { kind: 'service', id: 'nat:edge' },
      reason: 'no-tunnel',
      what: 'c2',
    });
    expect(compiled.contents.groups).toEqual([]);
  });
});

describe('compile: the switch as a whole', () => {
  test('tombstoned is said while it is true', () => {
    expect(compile(view({ tombstoned: true })).contents.externalIds).toEqual({ tombstoned: 'true' });
    expect(compile(view()).contents.externalIds).toEqual({});
  });

  test('an excluded host has nothing', () => {
    const { contents } = compile(view({ excluded: true, tombstoned: true, services: [nat()] }));
    expect(contents).toEqual({ flows: [], groups: [], tunnels: [], externalIds: {} });
  });

  test('two-owners-of-one-match-are-reported-and-the-first-has-it', () => {
    const twice = compile(view({ services: [nat(), nat({ id: 'nat:other' })] }));
    expect(twice.gaps.map(({ reason, owner }) => `${reason} ${owner.id}`)).toContain('match-conflict nat:other');
  });

  test('every flow has a reason', () => {
    const { contents, reasons } = compile(view({ services: [nat(AT_C1), subnetService('dhcp')] }));
    expect(reasons.size).toBe(contents.flows.length);
  });
});

describe('the view of the data plane', () => {
  test.each<readonly [string, Record<string, unknown>, object | undefined]>([
    ['a-server-that-says-nothing-of-it', { self: {}, instances: [] }, undefined],
    ['quarantined', { self: { quarantined: true }, peers: [], services: [] }, { excluded: true }],
    ['removed', { self: { state: 'removed' }, peers: [], services: [] }, { excluded: true }],
    ['tombstoned', { self: { tombstoned: true }, peers: [], services: [] }, { tombstoned: true, excluded: false }],
  ])('%s', (_name, parts, wanted) => {
    const found = readDataplaneView('c1', parts);
    if (wanted === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(wanted);
  });
});
