import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SwitchRefused, type Flow } from '../../switch/switch.ts';
import { BytesReader } from './bytes-reader.ts';
import { flowBytes, roundTripGroup, roundTripFlow } from './stats-entry-fixture.ts';
import { readFlow } from './flow-codec.ts';
import { portNamesOf, type PortNames } from './ports.ts';
import { BadFlowText, UnknownPort } from './errors.ts';
import { anyFlow, anyGroup } from './flow-arbitraries-fixture.ts';

const flow = (match: string, actions = 'drop'): Flow => ({
  table: 10,
  priority: 30,
  match,
  actions,
  cookie: '4d55000000000001',
});

const MATCHES = [
  '',
  'in_port="vm1"',
  'in_port=LOCAL',
  'in_port=7',
  'ip,in_port="muster-tun",tun_id=0x3e8,tun_src=172.16.0.2,metadata=0x7,reg0=0x5,reg4=0x1,reg5=0,ct_state=-inv+trk',
  'tun_ipv6_src=fd00::2',
  'tun_id=0,metadata=0,reg0=0',
  'metadata=0xffffffffffffffff,reg0=0xffffffff',
  'metadata=0xff/0xff,reg4=0/0x1',
  'ip,ct_state=+new-est+rel-rpl-inv+trk',
  'dl_src=02:00:00:00:00:01,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00',
  'ip,nw_src=10.0.0.0/24,nw_dst=10.0.0.1',
  'ip,nw_src=128.0.0.0/1,nw_dst=10.0.0.2/31',
  'ip,nw_src=10.0.0.0/255.0.255.0',
  'ipv6,ipv6_src=fd00::/64,ipv6_dst=fd00::1',
  'ipv6,ipv6_src=8000::/1,ipv6_dst=fd00::2/127',
  'arp,arp_spa=10.0.0.0/24,arp_tpa=10.0.0.1,arp_op=1',
  'udp,tp_src=68,tp_dst=67',
  'udp6,tp_src=546,tp_dst=547',
  'tcp,tp_dst=0x50/0xfff0',
  'tcp6,tp_dst=80',
  'icmp,icmp_type=8',
  'icmp6,icmpv6_type=135,nd_target=fd00::1',
];

const ACTIONS = [
  'drop',
  'output:"vm1"',
  'output:7',
  'LOCAL',
  'IN_PORT',
  'NORMAL',
  'CONTROLLER:65535',
  'CONTROLLER:128',
  'controller(max_len=128,id=5)',
  'controller(reason=no_match)',
  'resubmit(,20)',
  'resubmit("vm1",20)',
  'group:1237757712',
  'dec_ttl',
  'ct_clear',
  'load:0->NXM_OF_IN_PORT[]',
  'load:0x5->NXM_NX_REG0[0..7]',
  'load:0x1->NXM_NX_REG0[3]',
  'load:0xffffffffffffffff->OXM_OF_METADATA[]',
  'move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]',
  'move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[]',
  'move:OXM_OF_METADATA[0..31]->NXM_NX_REG0[]',
  'ct(commit,table=35,zone=7,nat(src=198.51.100.7))',
  'ct(commit,zone=7,nat(src=198.51.100.7:1024))',
  'ct(commit,zone=7,nat(src=198.51.100.7-198.51.100.9:1024-2048,random))',
  'ct(commit,table=35,zone=7,nat(src=fd00::1))',
  'ct(commit,zone=7,nat(src=[fd00::1]:1024))',
  'ct(commit,zone=7,nat(src=fd00::1-fd00::9))',
  'ct(commit,zone=7,nat(src=[fd00::1]-[fd00::9]:1024-2048,persistent,hash))',
  'ct(commit,zone=7,nat(dst=10.0.0.1))',
  'ct(table=40,zone=7,nat)',
  'ct(commit,force,zone=7,exec(set_field:0x1->ct_mark))',
  'ct(commit,zone=7,nat(src=10.0.0.1),exec(set_field:0x1->ct_mark),alg=ftp)',
  'ct(zone=7)',
  'ct()',
  'set_field:0x7/0xff->reg0',
  'set_field:LOCAL->in_port',
  'set_field:0->in_port',
  ...['eth_src', 'eth_dst', 'arp_sha', 'arp_tha', 'nd_sll', 'nd_tll'].map((to) => `set_field:02:00:00:00:00:01->${to}`),
  ...['ip_src', 'ip_dst', 'tun_src', 'tun_dst', 'arp_spa', 'arp_tpa'].map((to) => `set_field:10.0.0.1->${to}`),
  ...['ipv6_src', 'ipv6_dst', 'tun_ipv6_src', 'tun_ipv6_dst', 'nd_target'].map((to) => `set_field:fd00::1->${to}`),
  ...['tun_id', 'metadata', 'reg0', 'reg9', 'reg15', 'pkt_mark'].flatMap((to) => [
    `set_field:0->${to}`,
    `set_field:0xff->${to}`,
  ]),
  ...['arp_op', 'icmp_type', 'icmp_code', 'icmpv6_type', 'icmpv6_code', 'nw_ttl', 'nd_options_type', 'udp_src'].map(
    (to) => `set_field:2->${to}`,
  ),
  'set_field:3758096384->nd_reserved',
];

describe('flows between text and wire', () => {
  test.each(MATCHES)('the-match "%s" is read as it was put', (text) => {
    expect(roundTripFlow(flow(text))).toEqual(flow(text));
  });

  test.each(ACTIONS)('the-action "%s" is read as it was put', (text) => {
    expect(roundTripFlow(flow('', text))).toEqual(flow('', text));
  });

  test('many-actions-in-a-row', () => {
    const all = ACTIONS.filter((one) => one !== 'drop').join(',');
    expect(roundTripFlow(flow('ip', all)).actions).toBe(all);
  });

  test.each([
    ['reg4=0,metadata=0x1', 'metadata=0x1,reg4=0'],
    ['ip,ct_state=+trk-inv', 'ip,ct_state=-inv+trk'],
    ['metadata=0x00ff', 'metadata=0xff'],
    ['reg0=5', 'reg0=0x5'],
    ['ipv6,ipv6_src=FD00:0:0:0::1', 'ipv6,ipv6_src=fd00::1'],
  ])('the-match "%s" is read as "%s"', (put, read) => {
    expect(roundTripFlow(flow(put)).match).toBe(read);
  });

  test.each([
    ['output:LOCAL', 'LOCAL'],
    ['CONTROLLER', 'CONTROLLER:65535'],
    ['load:2->NXM_OF_ARP_OP[]', 'load:0x2->NXM_OF_ARP_OP[]'],
    ['set_field:0x0->reg0', 'set_field:0->reg0'],
    ['ct(zone=7,commit)', 'ct(commit,zone=7)'],
    ['ct(commit,nat(src=[fd00::1]))', 'ct(commit,nat(src=fd00::1))'],
    ['move:NXM_NX_REG0[0..31]->NXM_NX_REG1[]', 'move:NXM_NX_REG0[]->NXM_NX_REG1[]'],
  ])('the-action "%s" is read as "%s"', (put, read) => {
    expect(roundTripFlow(flow('', put)).actions).toBe(read);
  });

  test('never: a flow of the vocabulary is read as another', () => {
    fc.assert(
      fc.property(anyFlow, (one) => {
        expect(roundTripFlow(one)).toEqual(one);
      }),
    );
  });
});

describe('what cannot be written is refused by name', () => {
  test.each([
    'frob=1',
    'ip,tp_src=5',
    'tp_src=5',
    'sixpack',
    'reg0=0x100000000',
    'reg0=',
    'reg0=-1',
    'reg0=1e3',
    'metadata=0x10000000000000000',
    'ip,nw_src=10.0.0.1/24',
    'ip,nw_src=10.0.0',
    'ip,nw_src=10.0.0.256',
    'ip,nw_src=10.0.0.0/0',
    'ip,nw_src=10.0.0.0/32',
    'ipv6,ipv6_src=fd00::1::2',
    'ipv6,ipv6_src=fd00',
    'ipv6,ipv6_src=1:2:3:4:5:6:7:8:9',
    'dl_src=02:00:00:00:00',
    'dl_src=02-00-00-00-00-01',
    'ip,ct_state=trk',
    'ip,ct_state=',
    'ip,ct_state=+odd',
    'in_port=vm1',
    'in_port="vm1',
    'in_port=70000',
    ',',
  ])('the-match "%s"', (text) => {
    expect(() => roundTripFlow(flow(text))).toThrow(BadFlowText);
  });

  test.each([
    '',
    'frobnicate',
    'output',
    'output:',
    'drop,output:"vm1"',
    'resubmit(20)',
    'resubmit(,255)',
    'group:x',
    'dec_ttl(1)',
    'ct_clear(1)',
    'set_field:1->nix',
    'set_field:1',
    'set_field:1->ct_state',
    'load:0x100->NXM_NX_REG0[0..7]',
    'load:x->NXM_NX_REG0[]',
    'load:0->NXM_NX_IPV6_SRC[]',
    'load:0->NXM_NX_REG0[5..2]',
    'load:0->NXM_NX_REG0[32]',
    'move:NXM_NX_REG0[]->NXM_OF_IP_SRC[0..15]',
    'move:NXM_NX_REG0->NXM_NX_REG1',
    'ct',
    'ct(zone=70000)',
    'ct(table=255)',
    'ct(nat(src=x))',
    'ct(nat(odd))',
    'ct(alg=odd)',
    'ct(odd)',
    'ct(commit',
    'controller(odd=1)',
    'unknown(ffff0010000023200008010200000000)',
  ])('the-action "%s"', (text) => {
    expect(() => roundTripFlow(flow('', text))).toThrow(BadFlowText);
  });

  test.each([
    { ...flow(''), table: 255 },
    { ...flow(''), priority: 65_536 },
    { ...flow(''), priority: 0.5 },
    { ...flow(''), cookie: '4D55' },
  ])('table-priority-and-cookie %#', (one) => {
    expect(() => roundTripFlow(one)).toThrow(BadFlowText);
  });

  test('a-port-that-the-switch-does-not-have is named', () => {
    const put = (): unknown => roundTripFlow(flow('', 'output:"gone"'));
    expect(put).toThrow(UnknownPort);
    expect(put).toThrow('the switch has no port "gone"');
    expect(put).toThrow(SwitchRefused);
  });
});

describe('ports', () => {
  test('a-number-without-a-name is shown as the number', () => {
    const bytes = flowBytes(flow('in_port="vm1"', 'output:"muster-ext"'));
    const noPorts = portNamesOf([]);
    expect(readFlow(new BytesReader(bytes), noPorts)).toMatchObject({ match: 'in_port=1', actions: 'output:200' });
  });

  test('a-name-that-could-not-be-read-back is shown as the number', () => {
    const odd = portNamesOf([{ name: 'a"b', number: 1 }]);
    expect(readFlow(new BytesReader(flowBytes(flow('in_port="vm1"'))), odd).match).toBe('in_port=1');
  });

  test('a-name-may-have-commas-and-parentheses', () => {
    const odd = portNamesOf([{ name: 'a,b(c', number: 1 }]);
    const shown = readFlow(new BytesReader(flowBytes(flow('in_port="vm1",tun_id=0x1', 'output:"vm1",IN_PORT'))), odd);
    expect(shown.match).toBe('in_port="a,b(c",tun_id=0x1');
    expect(shown.actions).toBe('output:"a,b(c",IN_PORT');
  });

  test('the-number-is-asked-for-each-time', () => {
    let number = 1;
    const moving = { number: () => number, name: () => undefined };
    expect(readBackWith('output:"x"', moving)).toBe('output:1');
    number = 2;
    expect(readBackWith('output:"x"', moving)).toBe('output:2');
  });

  test('the-local-port-of-the-database is LOCAL', () => {
    const local = { number: () => 65_534, name: () => undefined };
    expect(readBackWith('output:"br-int"', local)).toBe('LOCAL');
  });
});

function readBackWith(actions: string, names: PortNames): string {
  return readFlow(new BytesReader(flowBytes(flow('', actions), names)), names).actions;
}

describe('groups between text and wire', () => {
  test.each([
    { id: 1, type: 'all', buckets: ['output:"vm1"', 'drop'] },
    { id: 0x4000_0000, type: 'indirect', buckets: ['set_field:172.16.0.2->tun_dst,output:"muster-tun"'] },
    {
      id: 2,
      type: 'fast-failover',
      buckets: ['watch_port:"vm1",actions=output:"vm1"', 'watch_port:LOCAL,actions=drop'],
    },
    { id: 3, type: 'all', buckets: [] },
  ] as const)('$type with $buckets.length buckets is read as it was put', (group) => {
    expect(roundTripGroup(group)).toEqual(group);
  });

  test('never: a group of the vocabulary is read as another', () => {
    fc.assert(
      fc.property(anyGroup, (group) => {
        expect(roundTripGroup(group)).toEqual(group);
      }),
    );
  });

  test.each([
    { id: -1, type: 'all', buckets: [] },
    { id: 2 ** 32, type: 'all', buckets: [] },
    { id: 1, type: 'fast-failover', buckets: ['watch_port:"vm1"'] },
    { id: 1, type: 'all', buckets: ['odd'] },
  ] as const)('what-cannot-be-written is refused %#', (group) => {
    expect(() => roundTripGroup(group)).toThrow(BadFlowText);
  });
});
