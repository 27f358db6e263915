import { expect, test } from 'vitest';
import { findDifferences, toExpectedContents } from './compare.ts';
import { flowsIn, groupsIn } from './dump.ts';

const FLOWS = ` cookie=0x4d55000000000001, duration=21.706s, table=0, n_packets=13020, n_bytes=1372832, idle_age=3, priority=10,tun_id=0x64,in_port=vxlan0 actions=resubmit(,20)
 cookie=0x0, duration=1.7s, table=35, n_packets=0, n_bytes=0, priority=10,ct_state=-inv+trk,ip actions=set_field:02:aa:00:00:00:10->eth_src,dec_ttl,output:ext0
 cookie=0x0, duration=1.7s, table=30, n_packets=0, n_bytes=0, idle_timeout=10, send_flow_rem priority=7,ip actions=ct(commit,table=35,zone=1,nat(src=198.51.100.10))
 cookie=0x7, duration=1.7s, table=40, n_packets=0, n_bytes=0, priority=1 actions=drop
 cookie=0x8, duration=1.7s, table=41, n_packets=0, n_bytes=0, arp actions=set_field:0x3e8->tun_id,set_field:172.16.0.1->tun_dst,output:"vx-1"
 cookie=0x9, duration=1.7s, table=42, n_packets=0, n_bytes=0, actions=NORMAL
`;
const GROUPS = `OFPST_GROUP_DESC reply (OF1.4) (xid=0x2):
 group_id=5,type=all,bucket=bucket_id:0,actions=output:mp1,bucket=bucket_id:1,actions=set_field:0x64->tun_id,output:vxlan0
 group_id=6,type=fast_failover,bucket=watch_port:bfd1,actions=output:vxlan0
`;
const cookie = (short: string): string => short.padStart(16, '0');

test('a-dump-is-read-into-its-parts', () => {
  expect(flowsIn(FLOWS)).toEqual([
    {
      table: 0,
      priority: 10,
      cookie: '4d55000000000001',
      match: 'in_port=vxlan0,tun_id=100',
      actions: 'resubmit(,20)',
    },
    {
      table: 35,
      priority: 10,
      cookie: cookie('0'),
      match: 'ct_state=+trk-inv,ip',
      actions: 'set_field:02:aa:00:00:00:10->eth_src,dec_ttl,output:ext0',
    },
    {
      table: 30,
      priority: 7,
      cookie: cookie('0'),
      match: 'ip',
      actions: 'ct(commit,nat(src=198.51.100.10),table=35,zone=1)',
    },
    { table: 40, priority: 1, cookie: cookie('7'), match: '', actions: 'drop' },
    {
      table: 41,
      priority: 32_768,
      cookie: cookie('8'),
      match: 'arp',
      actions: 'set_field:1000->tun_id,set_field:172.16.0.1->tun_dst,output:vx-1',
    },
    { table: 42, priority: 32_768, cookie: cookie('9'), match: '', actions: 'NORMAL' },
  ]);
  expect(groupsIn(GROUPS)).toEqual([
    { id: 5, type: 'all', buckets: ['output:mp1', 'set_field:100->tun_id,output:vxlan0'] },
    { id: 6, type: 'fast-failover', buckets: ['watch_port:bfd1,output:vxlan0'] },
  ]);
});

test('what-was-written-in-other-words-is-the-same', () => {
  const should = toExpectedContents({
    flows: [
      {
        table: 0,
        priority: 10,
        cookie: '4d55000000000001',
        match: 'in_port="vxlan0",tun_id=0x64',
        actions: 'resubmit(,20)',
      },
      {
        table: 35,
        priority: 10,
        cookie: cookie('0'),
        match: 'ip,ct_state=+trk-inv',
        actions: 'set_field:02:aa:00:00:00:10->eth_src,dec_ttl,output:"ext0"',
      },
    ],
    groups: [{ id: 6, type: 'fast-failover', buckets: ['watch_port:"bfd1",actions=output:"vxlan0"'] }],
  });
  const dumped = { flows: flowsIn(FLOWS).slice(0, 2), groups: groupsIn(GROUPS).slice(1) };
  expect(findDifferences(should, dumped)).toEqual({ missing: [], unexpected: [] });
});

test('what-is-missing-and-what-is-left-are-distinguished', () => {
  const flow = { table: 1, priority: 2, cookie: cookie('3'), match: 'arp', actions: 'drop' };
  const should = { flows: [flow, { ...flow, table: 2 }], groups: [{ id: 1, type: 'all', buckets: [] }] };
  const dumped = { flows: [flow, { ...flow, table: 2, actions: 'NORMAL' }], groups: [] };
  expect(findDifferences(should, dumped)).toEqual({
    missing: ['group=1 type=all ', `table=2 priority=2 cookie=${cookie('3')} arp actions=drop`],
    unexpected: [`table=2 priority=2 cookie=${cookie('3')} arp actions=NORMAL`],
  });
});

test('a-line-that-is-no-flow-is-not-passed-over', () => {
  expect(() => flowsIn('ovs-ofctl: something went wrong')).toThrow('not a flow');
});
