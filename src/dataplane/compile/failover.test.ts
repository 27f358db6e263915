// What is compiled so that the loss of a designated host needs no decision of a server: who watches whom, and where packets go then.
import { describe, expect, test } from 'vitest';
import { responderConfigOf } from '../responder/responder-config.ts';
import { compile, type CompileResult } from './compile.ts';
import { C2, C3, flowsOf, nat, subnetService, view } from './dataplane-view-fixture.ts';
import { diff } from '../switch/diff.ts';
import { bfdPortName } from '../switch/derived-ids.ts';
import type { ServiceView } from '../view/dataplane-view.ts';
import type { SwitchContents } from '../switch/switch.ts';
import { SwitchState } from '../switch/state.ts';

const BFD_PEERS = { intervalMs: 100, peers: ['c2', 'c3'] };
const WATCHED = { designated: C2, standby: 'c3' };
const HERE_STANDBY: Partial<ServiceView> = { role: 'standby', designated: C2, standby: 'c1' };

function compiled(facts: Partial<ServiceView>, hasBfdBeenUp: (peer: string) => boolean = () => true): CompileResult {
  return compile(view({ services: [nat(facts)], bfd: BFD_PEERS }), {
    nextHop: () => '02:00:00:00:00:99',
    hasBfdBeenUp,
  });
}

const groupsOf = ({ contents: { groups } }: CompileResult): (readonly [string, readonly string[]])[] =>
  groups
    .filter(({ type }) => type !== 'all')
    .map(({ type, buckets }) => [type, buckets.map((one) => one.replaceAll(',', ' '))]);

const [D, S] = [bfdPortName('c2'), bfdPortName('c3')];
const to = (address: string): string =>
  `load:0->NXM_OF_IN_PORT[] set_field:0x2000->tun_id set_field:${address}->tun_dst output:"muster-tun"`;

describe('where packets go when the designated host is lost', () => {
  test('others-send-to-the-standby, and-to-the-designated-host-when-BFD-to-both-is-down', () => {
    expect(groupsOf(compiled(WATCHED))).toEqual([
      [
        'fast-failover',
        [
          `watch_port:${D} actions=${to('172.16.0.2')}`,
          `watch_port:${S} actions=${to('172.16.0.3')}`,
          `watch_port:"muster-tun" actions=${to('172.16.0.2')}`,
        ],
      ],
    ]);
  });

  test('the-standby-translates-by-itself', () => {
    const it = compiled(HERE_STANDBY);
    expect(groupsOf(it)).toEqual([
      [
        'fast-failover',
        [
          `watch_port:${D} actions=${to('172.16.0.2')}`,
          'watch_port:"muster-tun" actions=set_field:0x1->reg4 resubmit( 30)',
        ],
      ],
    ]);
    const flows = flowsOf(it, 'nat:edge');
    expect(flows.filter((flow) => flow.startsWith('30 20'))).toEqual([
      expect.stringContaining('reg0=0x2000,reg4=0x1 -> ct(commit'),
    ]);
    // What peers send is taken, replies are translated back, and those that are not known go to the designated host.
    expect(flowsOf(it, 'edge').filter((flow) => flow.startsWith('5 60'))).toHaveLength(1);
    expect(flows.filter((flow) => flow.startsWith('40 10'))).toEqual([expect.stringContaining('172.16.0.2->tun_dst')]);
    expect(flows.filter((flow) => flow.includes('arp'))).toEqual([]);
  });

  test.each<readonly [string, Partial<ServiceView>, (peer: string) => boolean]>([
    ['whose-BFD-was-never-up-may-just-not-have-begun: designated', WATCHED, (peer) => peer !== 'c2'],
    ['whose-BFD-was-never-up-may-just-not-have-begun: standby', WATCHED, (peer) => peer !== 'c3'],
    ['without-a-standby', { designated: C2 }, () => true],
    ['BFD-of-the-standby-to-the-designated-host-is-not-up-yet', HERE_STANDBY, () => false],
  ])('nothing-is-watched: %s', (_name, facts, hasBfd) => {
    expect(groupsOf(compiled(facts, hasBfd))).toEqual([['indirect', [to('172.16.0.2')]]]);
  });

  test('a-host-that-prepares-to-take-it-over-by-plan-watches-only-whom-it-asks', () => {
    const preparing = compiled({ ...WATCHED, role: 'preparing', handover: { phase: 'preparing', other: 'c2' } });
    expect(groupsOf(preparing)).toEqual([
      ['indirect', [to('172.16.0.2')]],
      [
        'fast-failover',
        [
          `watch_port:${D} actions=${to('172.16.0.2')}`,
          'watch_port:"muster-tun" actions=set_field:0x1->reg6 resubmit( 32)',
        ],
      ],
    ]);
  });

  test('the-designated-host-asks-the-standby-for-replies-that-it-does-not-know', () => {
    const flows = flowsOf(compiled({ role: 'designated', designated: { host: 'c1' }, standby: 'c3' }), 'nat:edge');
    expect(flows.filter((flow) => flow.startsWith('40 10'))).toEqual([expect.stringContaining('172.16.0.3->tun_dst')]);
    expect(flows.filter((flow) => flow.startsWith('5 70'))).toHaveLength(1);
  });

  test('the-route-of-a-subnet-fails-over-as-translation-does', () => {
    const route = (facts: Partial<ServiceView>): CompileResult =>
      compile(view({ services: [subnetService('subnet-route', facts)], bfd: BFD_PEERS }));
    expect(groupsOf(route(WATCHED))[0]?.[1]).toHaveLength(3);
    const standby = route(HERE_STANDBY);
    expect(groupsOf(standby)[0]?.[1]).toHaveLength(2);
    expect(flowsOf(standby, 'subnet-route:blue-v6').filter((flow) => flow.startsWith('30 30'))).toEqual([
      expect.stringContaining('reg4=0x1'),
    ]);
  });

  test('the-standby-knows-its-way-out-and-announces-nothing', () => {
    const { nextHops, announcedAddresses } = responderConfigOf(view({ services: [nat(HERE_STANDBY)] }));
    expect([nextHops, announcedAddresses]).toEqual([['198.51.100.1'], []]);
  });
});

describe('heartbeats on the switch', () => {
  const tunnels = (peers: readonly string[]): SwitchContents =>
    compile(view({ services: [nat(WATCHED)], bfd: { intervalMs: 100, peers } })).contents;

  function follow(state: SwitchState, wanted: SwitchContents): string[] {
    // A switch that lists its ports does not have those for BFD yet.
    const ports = [
      '"muster-tun"',
      '"muster-ext"',
      ...wanted.flows.flatMap(({ match }) => /"mp[^"]+"/.exec(match) ?? []),
    ];
    const { changes, missingPorts } = diff(wanted, { ...state.contents, ports });
    expect(missingPorts).toEqual([]);
    expect(state.apply(changes)).toBeUndefined();
    expect(diff(wanted, state.contents).changes).toEqual([]);
    return changes.flatMap((change) => (change.kind.endsWith('flow') ? [] : [change.kind]));
  }

  test('they-come-before-the-groups-that-watch-them, and-go-after-them', () => {
    const state = new SwitchState();
    follow(state, tunnels([]));
    expect(state.contents.tunnels).toEqual([
      { peer: 'c2', address: C2.tunnelAddress },
      { peer: 'c3', address: C3.tunnelAddress },
    ]);
    expect(follow(state, tunnels(['c2', 'c3']))).toEqual(['put-tunnel', 'put-tunnel', 'put-group']);
    expect(follow(state, tunnels(['c3']))).toEqual(['put-group', 'put-tunnel']);
    expect(follow(state, tunnels(['c2', 'c3']))).toEqual(['put-tunnel', 'put-group']);
    // A host that is reached elsewhere: for a moment nothing sends to it, and nothing watches it.
    const peers = [{ ...C2, tunnelAddress: '172.16.9.9' }, C3];
    const moved = view({ peers, services: [nat(WATCHED)], bfd: BFD_PEERS });
    expect(follow(state, compile(moved).contents)).toContain('put-tunnel');
    expect(follow(state, { flows: [], groups: [], tunnels: [], externalIds: {} })).toContain('remove-tunnel');
  });
});
