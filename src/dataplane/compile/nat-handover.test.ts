import { expect, test } from 'vitest';
import { compile } from './compile.ts';
import { newConnectionPolicyOf } from './nat-handover.ts';
import { C2, nat, subnetService, view } from './dataplane-view-fixture.ts';
import type { DataplaneView, ServiceView } from '../view/dataplane-view.ts';
import { TABLE } from '../switch/tables.ts';

type Phase = NonNullable<ServiceView['handover']>['phase'];

function during(phase: Phase, role: ServiceView['role']): DataplaneView {
  const facts = { role, handover: { phase, operation: 'op', other: 'c2', tunnelAddress: C2.tunnelAddress } };
  return view({ services: [nat(facts), subnetService('subnet-route', facts), subnetService('dhcp', facts)] });
}

test.each<readonly [Phase, Phase, ServiceView['role']]>([
  ['syncing', 'preparing', 'designated'],
  ['syncing', 'preparing', 'preparing'],
  ['resyncing', 'retiring', 'designated'],
  ['resyncing', 'retiring', 'retiring'],
])('%s is compiled as %s: %s', (phase, like, role) => {
  expect(compile(during(phase, role))).toEqual(compile(during(like, role)));
});

const PHASES = ['preparing', 'syncing', 'switched', 'retiring', 'resyncing', 'draining'] as const;
const isBeforeSwitch = (phase: Phase): boolean => phase === 'preparing' || phase === 'syncing';
const passed = (phase: Phase): NonNullable<ServiceView['handover']> => ({ phase, operation: 'op', other: 'c2' });
const atOld = (phase: Phase): ServiceView =>
  nat({ role: isBeforeSwitch(phase) ? 'designated' : 'retiring', handover: passed(phase) });
const atNew = (phase: Phase): ServiceView =>
  nat({ role: isBeforeSwitch(phase) ? 'preparing' : 'designated', handover: passed(phase) });

test('never: both ends of a handover allocate ports, or neither; each may be a phase behind', () => {
  const givers = PHASES.flatMap((phase, nth) => {
    const other = PHASES[nth + 1] ?? phase;
    return [
      [phase, phase],
      [phase, other],
      [other, phase],
    ].map(([old, next]) =>
      [newConnectionPolicyOf(atOld(old as Phase)), newConnectionPolicyOf(atNew(next as Phase))].join(' '),
    );
  });
  // What the one forwards to the old end, the other allocates; what the one forwards to the new end, the other allocates from ports of its own at least.
  expect([...new Set(givers)].sort()).toEqual([
    'allocate forward-to-old',
    'forward-to-new allocate',
    'forward-to-new forward-to-old',
    'none allocate',
    'none forward-to-old',
  ]);
});

test('who-cannot-ask-the-other-end-begins-by-itself', () => {
  const flows = compile(view({ services: [atNew('switched')], peers: [] })).contents.flows;
  const out = flows.filter(({ table }) => table === TABLE.outbound).map(({ actions }) => actions);
  expect(out).toEqual([expect.stringContaining('ct(commit'), 'drop']);
});

test('what-the-other-end-does-not-know-never-goes-back-to-it', () => {
  const compiled = compile(view({ services: [atNew('switched')], bfd: { intervalMs: 100, peers: ['c2'] } }));
  const at = (table: number): string[] =>
    compiled.contents.flows
      .filter((flow) => flow.table === table)
      .map(({ priority, match, actions }) => `${priority} ${match} -> ${actions}`);
  expect(at(TABLE.tunnel).filter((flow) => flow.startsWith('65'))).toEqual([
    '65 ip,tun_id=0x2000,tun_src=172.16.0.2 -> set_field:0x2000->reg0,set_field:0x1->reg4,set_field:0x1->reg6,resubmit(,30)',
  ]);
  const group = compiled.contents.groups.find(({ type }) => type === 'fast-failover');
  expect(at(TABLE.conntrack)).toEqual([
    '30 ip,reg0=0x2000,nw_src=198.51.100.7 -> resubmit(,35)',
    expect.stringMatching(
      /^20 ip,reg0=0x2000,reg6=0x1 -> ct\(commit,table=35,zone=\d+,nat\(src=198.51.100.7:24576-32767\)\)$/,
    ),
    `10 ip,reg0=0x2000 -> group:${group?.id}`,
    '0  -> drop',
  ]);
  // Where BFD to the old end is down, what it would have begun begins here.
  expect(group?.buckets).toEqual([
    expect.stringMatching(/^watch_port:"mh\w+",actions=load:0->NXM_OF_IN_PORT\[\],.*172\.16\.0\.2->tun_dst/),
    'watch_port:"muster-tun",actions=set_field:0x1->reg6,resubmit(,32)',
  ]);
});
