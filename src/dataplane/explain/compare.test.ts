import { describe, expect, test } from 'vitest';
import { compareContents } from './compare.ts';
import { compile } from '../compile/compile.ts';
import { nat, view } from '../compile/dataplane-view-fixture.ts';
import { NEXT_HOPS_BY_NAME } from './explain.ts';
import type { Flow, SwitchContents } from '../switch/switch.ts';

const DESIGNATED = [nat({ role: 'designated', designated: { host: 'c1' } })];
const wanted = compile(view({ services: DESIGNATED }), NEXT_HOPS_BY_NAME);
/** As an agent that found out where its next hop is has put it. */
const there = compile(view({ services: DESIGNATED }), { nextHop: () => '02:00:00:00:00:99' }).contents;

const compared = (read: Partial<SwitchContents>) => compareContents(wanted, { ...there, ...read });
const describeDifference = (read: Partial<SwitchContents>): string[] =>
  compared(read).findings.map(({ kind, what, text, found, owner, sentence }) =>
    [
      kind,
      what,
      text.replace(/cookie=\w+,/, ''),
      found && `is ${found}`,
      owner && `${owner.kind} ${owner.id}`,
      sentence,
    ]
      .filter((part) => part !== undefined)
      .join(' | '),
  );
const leaving = there.flows.find(({ actions }) => actions.includes('02:00:00:00:00:99'));
const others = (flow: Flow | undefined): Flow[] => there.flows.filter((one) => one !== flow);
const PEER = there.flows.find(({ match }) => match.includes('tun_src=172.16.0.2'));

describe('a switch beside what should be on it', () => {
  test('is-equal-whatever-hardware-address-the-next-hop-has', () => {
    expect(compared({})).toMatchObject({ equal: true, findings: [], flows: there.flows.length });
  });

  test('a-stray-is-a-difference', () => {
    const { equal, findings } = compareContents(wanted, there, ['interface/tap0']);
    expect([equal, findings]).toEqual([false, [{ kind: 'stray', what: 'port', text: 'interface/tap0' }]]);
  });

  test('a-flow-that-is-missing', () => {
    expect(describeDifference({ flows: others(PEER) })).toEqual([
      'missing | flow | table=0,priority=50,in_port="muster-tun",tun_src=172.16.0.2 actions=resubmit(,5) | peer c2 | Accepts tunnel packets from this peer.',
    ]);
  });

  test('a-missing-way-out-names-its-next-hop', () => {
    expect(describeDifference({ flows: others(leaving) })[0]).toContain('set_field:next-hop(198.51.100.1)->eth_dst');
  });

  test('a-flow-that-is-another-is-shown-as-it-is-too', () => {
    const bent = { ...(PEER as Flow), actions: 'drop' };
    const [finding] = compared({ flows: [...others(PEER), bent] }).findings;
    expect(finding).toMatchObject({ kind: 'different', what: 'flow', owner: { kind: 'peer', id: 'c2' } });
    expect(finding?.found).toMatch(/actions=drop$/);
  });

  test('more-than-the-next-hop-is-a-difference', () => {
    const bent = { ...(leaving as Flow), actions: 'set_field:02:00:00:00:00:99->eth_dst,drop' };
    expect(compared({ flows: [...others(leaving), bent] }).findings).toMatchObject([{ kind: 'different' }]);
  });

  test('what-is-unexpected-tells-whose-it-was', () => {
    const extra = { ...(PEER as Flow), priority: 51 };
    const removed = { ...(PEER as Flow), priority: 52, cookie: '4d55000000000001' };
    expect(describeDifference({ flows: [...there.flows, extra, removed] })).toEqual([
      'unexpected | flow | table=0,priority=51,in_port="muster-tun",tun_src=172.16.0.2 actions=resubmit(,5) | peer c2',
      'unexpected | flow | table=0,priority=52,in_port="muster-tun",tun_src=172.16.0.2 actions=resubmit(,5)',
    ]);
  });

  test('others-flows-are-no-difference-unless-they-conflict', () => {
    const theirs = { ...(PEER as Flow), cookie: '0000000000000007' };
    expect(describeDifference({ flows: [...there.flows, { ...theirs, priority: 7 }] })).toEqual([]);
    const [finding] = compared({ flows: [...others(PEER), theirs] }).findings;
    expect(finding).toMatchObject({ kind: 'conflict', owner: { kind: 'peer', id: 'c2' } });
    expect(finding?.found).toContain('cookie=0x0000000000000007');
  });

  test('groups-tunnels-and-external-ids', () => {
    const [first, ...rest] = there.groups;
    const bent = { ...(first as (typeof there.groups)[number]), buckets: ['drop'] };
    const extra = { id: 0x40000001, type: 'indirect', buckets: ['drop'] } as const;
    const tunnels = [
      { peer: 'c3', address: '172.16.0.33' },
      { peer: 'c9', address: '172.16.0.9' },
    ];
    const found = describeDifference({
      groups: [bent, ...rest, extra],
      tunnels,
      externalIds: { tombstoned: 'true', owner: 'us' },
    });
    expect(found.map((line) => line.split(' | ').slice(0, 2).join(' '))).toEqual([
      'missing tunnel',
      'different tunnel',
      'different group',
      'unexpected group',
      'unexpected tunnel',
      'unexpected external-id',
    ]);
  });

  test('ports-that-are-not-plugged-in', () => {
    const ports = ['"muster-tun"', '"muster-ext"'];
    const flows = there.flows.filter(({ match, actions }) => !`${match}${actions}`.includes('"mp'));
    const { findings } = compared({ flows, ports });
    expect(findings.at(-1)).toMatchObject({ kind: 'port-missing', what: 'port', text: 'mp37762c15af' });
  });
});
