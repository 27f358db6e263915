import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { diff } from './diff.ts';
import { isOurCookie } from './derived-ids.ts';
import { SwitchState } from './state.ts';
import { flowKey, type Flow, type FlowGroup, type SwitchChange, type SwitchContents, type Tunnel } from './switch.ts';
import { groupsIn, peerAddressesIn } from './flow-syntax.ts';

const OURS = '4d55000000000001';
const THEIRS = '00000000000000aa';
const EMPTY: SwitchContents = { flows: [], groups: [], tunnels: [], externalIds: {} };
const to = (address: string): string => `set_field:${address}->tun_dst,output:"muster-tun"`;

const tunnel: Tunnel = { peer: 'c2', address: '172.16.0.2' };
const group: FlowGroup = { id: 0x40000001, type: 'indirect', buckets: [to('172.16.0.2')] };
const flow: Flow = { table: 30, priority: 10, match: 'xreg0=0x1', actions: `group:${group.id}`, cookie: OURS };
const full: SwitchContents = { flows: [flow], groups: [group], tunnels: [tunnel], externalIds: { tombstoned: 'true' } };

function describeChanges(changes: readonly SwitchChange[]): string[] {
  return changes.map(sentence);
}

function sentence(change: SwitchChange): string {
  switch (change.kind) {
    case 'put-tunnel':
      return `tunnel ${change.tunnel.peer} at ${change.tunnel.address}`;
    case 'remove-tunnel':
      return `no tunnel ${change.peer}`;
    case 'put-group':
      return `group ${change.group.id} ${change.group.buckets.join()}`;
    case 'remove-group':
      return `no group ${change.id}`;
    case 'put-flow':
      return `flow ${flowKey(change.flow)} ${change.flow.actions}`;
    case 'remove-flow':
      return `no flow ${flowKey(change.flow)}`;
    case 'set-external-id':
      return `${change.key}=${change.value}`;
  }
}

describe('diff', () => {
  test('builds-from-below', () => {
    expect(describeChanges(diff(full, EMPTY).changes)).toMatchInlineSnapshot(`
      [
        "tombstoned=true",
        "tunnel c2 at 172.16.0.2",
        "group 1073741825 set_field:172.16.0.2->tun_dst,output:"muster-tun"",
        "flow table=30,priority=10,xreg0=0x1 group:1073741825",
      ]
    `);
  });

  test('takes-away-from-above', () => {
    expect(describeChanges(diff(EMPTY, full).changes)).toMatchInlineSnapshot(`
      [
        "no flow table=30,priority=10,xreg0=0x1",
        "no group 1073741825",
        "no tunnel c2",
        "tombstoned=null",
      ]
    `);
  });

  test('what-names-a-port-that-is-not-plugged-in-waits-for-it, and-outputs-to-the-others-go-on', () => {
    const wanted: SwitchContents = {
      ...EMPTY,
      flows: [
        { ...flow, match: 'in_port="mp1"', actions: 'resubmit(,10)' },
        {
          ...flow,
          priority: 11,
          actions: 'output:"mp1",output:"mp2",ct(commit,table=35,zone=7,nat(src=198.51.100.7))',
        },
        { ...flow, priority: 12, actions: 'output:"mp1"' },
      ],
    };
    const none = diff(wanted, { ...EMPTY, ports: ['"mp2"'] });
    expect(none.missingPorts).toEqual(['"mp1"']);
    expect(describeChanges(none.changes)).toEqual([
      'flow table=30,priority=11,xreg0=0x1 output:"mp2",ct(commit,table=35,zone=7,nat(src=198.51.100.7))',
      'flow table=30,priority=12,xreg0=0x1 drop',
    ]);
    expect(describeChanges(diff(wanted, { ...EMPTY, ports: ['"mp1"', '"mp2"'] }).changes)).toHaveLength(3);
    // Unplugged: what named it goes.
    expect(describeChanges(diff(wanted, { ...wanted, ports: [] }).changes)).toEqual([
      'flow table=30,priority=11,xreg0=0x1 ct(commit,table=35,zone=7,nat(src=198.51.100.7))',
      'flow table=30,priority=12,xreg0=0x1 drop',
      'no flow table=30,priority=10,in_port="mp1"',
    ]);
  });

  test('changes-nothing-that-is-right', () => {
    expect(diff(full, full)).toEqual({ changes: [], conflicts: [], missingPorts: [] });
  });

  test('repoints-by-the-group-alone', () => {
    const moved: SwitchContents = {
      ...full,
      tunnels: [tunnel, { peer: 'c3', address: '172.16.0.3' }],
      groups: [{ ...group, buckets: [to('172.16.0.3')] }],
    };
    expect(describeChanges(diff(moved, full).changes)).toMatchInlineSnapshot(`
      [
        "tunnel c3 at 172.16.0.3",
        "group 1073741825 set_field:172.16.0.3->tun_dst,output:"muster-tun"",
      ]
    `);
  });

  test('a-peer-with-another-address-is-not-sent-to-in-between', () => {
    const moved: SwitchContents = {
      ...full,
      tunnels: [{ peer: 'c2', address: '172.16.0.9' }],
      groups: [{ ...group, buckets: [to('172.16.0.9')] }],
    };
    expect(describeChanges(diff(moved, full).changes)).toMatchInlineSnapshot(`
      [
        "group 1073741825 drop",
        "tunnel c2 at 172.16.0.9",
        "group 1073741825 set_field:172.16.0.9->tun_dst,output:"muster-tun"",
      ]
    `);
  });

  test.each<readonly [string, SwitchContents, readonly string[]]>([
    [
      'a-leftover-of-ours-goes',
      { ...EMPTY, flows: [flow], groups: [group], tunnels: [tunnel] },
      ['no flow table=30,priority=10,xreg0=0x1', `no group ${group.id}`, 'no tunnel c2'],
    ],
    ['a-flow-of-others-stays', { ...EMPTY, flows: [{ ...flow, actions: 'drop', cookie: THEIRS }] }, []],
    ['a-group-of-others-stays', { ...EMPTY, groups: [{ ...group, id: 7, buckets: ['output:1'] }] }, []],
    [
      'a-group-that-others-use-stays-and-sends-nowhere',
      { ...EMPTY, flows: [{ ...flow, cookie: THEIRS }], groups: [{ ...group, buckets: ['output:1'] }] },
      [`group ${group.id} drop`],
    ],
    [
      'a-tunnel-that-others-use-stays',
      { ...EMPTY, flows: [{ ...flow, actions: to('172.16.0.2'), cookie: THEIRS }], tunnels: [tunnel] },
      [],
    ],
    ['an-external-id-of-others-stays', { ...EMPTY, externalIds: { theirs: 'x' } }, []],
  ])('%s', (_name, read, changes) => {
    expect(describeChanges(diff(EMPTY, read).changes)).toEqual(changes);
  });

  test('a-flow-that-was-changed-by-hand-is-put-back', () => {
    const read: SwitchContents = { ...full, flows: [{ ...flow, actions: 'drop' }] };
    expect(describeChanges(diff(full, read).changes)).toEqual([
      `flow table=30,priority=10,xreg0=0x1 group:${group.id}`,
    ]);
  });

  test('another-programs-flow-in-the-place-of-ours-is-reported-and-not-overwritten', () => {
    const theirs: Flow = { ...flow, actions: 'drop', cookie: THEIRS };
    const { changes, conflicts } = diff(full, { ...full, flows: [theirs] });
    expect(changes).toEqual([]);
    expect(conflicts).toEqual([theirs]);
  });
});

const peers = fc.uniqueArray(
  fc.record({ peer: fc.constantFrom('a', 'b', 'c', 'd'), nth: fc.integer({ min: 1, max: 6 }) }),
  {
    selector: ({ peer }) => peer,
  },
);
const mixed = fc.boolean();

/** Contents in which nothing points at nothing, some of it others'. */
const contents: fc.Arbitrary<SwitchContents> = fc
  .record({
    peers,
    groups: fc.uniqueArray(fc.integer({ min: 0, max: 5 })),
    flows: fc.array(fc.tuple(fc.integer({ min: 0, max: 8 }), fc.nat(9), mixed)),
    tombstoned: mixed,
  })
  .map(({ peers: chosen, groups: ids, flows: drawn, tombstoned }) => {
    const tunnels = chosen.map(({ peer, nth }) => ({ peer, address: `172.16.0.${nth}` }));
    const addresses = tunnels.map(({ address }) => address);
    const groups = ids.map((id): FlowGroup => {
      const address = addresses[id % Math.max(1, addresses.length)];
      return {
        id: (id % 2 === 0 ? 0x40000000 : 0) + id + 1,
        type: 'indirect',
        buckets: [address === undefined ? 'drop' : to(address)],
      };
    });
    const targets = ['drop', ...addresses.map(to), ...groups.map(({ id }) => `group:${id}`)];
    const flows = new Map(
      drawn.map(([at, target, ours]): [number, Flow] => [
        at,
        {
          table: at % 3,
          priority: at,
          match: `reg4=${at}`,
          actions: targets[target % targets.length] ?? 'drop',
          cookie: ours ? OURS : THEIRS,
        },
      ]),
    );
    return { tunnels, groups, flows: [...flows.values()], externalIds: tombstoned ? { tombstoned: 'true' } : {} };
  });

function withContents({ tunnels, groups, flows, externalIds }: SwitchContents): SwitchState {
  const state = new SwitchState();
  const problem = state.apply([
    ...tunnels.map((one): SwitchChange => ({ kind: 'put-tunnel', tunnel: one })),
    ...groups.map((one): SwitchChange => ({ kind: 'put-group', group: one })),
    ...flows.map((one): SwitchChange => ({ kind: 'put-flow', flow: one })),
    ...Object.entries(externalIds).map(([key, value]): SwitchChange => ({ kind: 'set-external-id', key, value })),
  ]);
  expect(problem).toBeUndefined();
  return state;
}

/** Desired contents are ours alone. */
function oursOf(all: SwitchContents): SwitchContents {
  const groups = all.groups.filter(({ id }) => id >= 0x40000000);
  const ids = new Set(groups.map(({ id }) => id));
  const flows = all.flows.filter(({ actions }) => groupsIn(actions).every((id) => ids.has(id)));
  return { ...all, groups, flows: flows.map((one) => ({ ...one, cookie: OURS })) };
}

/** Others' things that stand on a tunnel whose address changes make the change impossible: only their owner can release them. */
function isStuck(wanted: SwitchContents, read: SwitchContents): boolean {
  const next = new Map(wanted.tunnels.map(({ peer, address }) => [peer, address]));
  const removed = new Set(
    read.tunnels
      .filter(({ peer, address }) => next.has(peer) && next.get(peer) !== address)
      .map(({ address }) => address),
  );
  const theirs = [
    ...read.flows.filter(({ cookie }) => !isOurCookie(cookie)).map(({ actions }) => actions),
    ...read.groups.filter(({ id }) => id < 0x40000000).flatMap(({ buckets }) => buckets),
  ];
  return theirs.flatMap(peerAddressesIn).some((address) => removed.has(address));
}

describe('properties of the diff', () => {
  test('never: a prefix of the changes leaves something that points at nothing; at the end it is as wanted', () => {
    fc.assert(
      fc.property(contents, contents, (target, read) => {
        const wanted = oursOf(target);
        fc.pre(!isStuck(wanted, read));
        const state = withContents(read);
        const { changes, conflicts } = diff(wanted, state.contents);
        expect(state.apply(changes)).toBeUndefined();
        const after = state.contents;
        const taken = new Set(conflicts.map(flowKey));
        const ours = after.flows.filter(({ cookie }) => isOurCookie(cookie)).map((one) => JSON.stringify(one));
        const due = wanted.flows.filter((one) => !taken.has(flowKey(one))).map((one) => JSON.stringify(one));
        expect(ours.sort()).toEqual(due.sort());
        expect(after.externalIds).toEqual(wanted.externalIds);
        for (const one of wanted.tunnels) expect(after.tunnels).toContainEqual(one);
        for (const one of wanted.groups) expect(after.groups).toContainEqual(one);
        expect(diff(wanted, after).changes).toEqual([]);
      }),
    );
  });

  test('never: something of others is touched', () => {
    fc.assert(
      fc.property(contents, contents, (target, read) => {
        const wanted = oursOf(target);
        fc.pre(!isStuck(wanted, read));
        const state = withContents(read);
        state.apply(diff(wanted, state.contents).changes);
        const theirs = (all: SwitchContents): unknown => [
          all.flows
            .filter(({ cookie }) => !isOurCookie(cookie))
            .map((one) => JSON.stringify(one))
            .sort(),
          all.groups.filter(({ id }) => id < 0x40000000),
        ];
        expect(theirs(state.contents)).toEqual(theirs(withContents(read).contents));
      }),
    );
  });
});
