import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { bfdPortName } from './derived-ids.ts';
import { findProblem, SwitchState } from './state.ts';
import { flowKey, type Flow, type FlowGroup, type SwitchChange, type SwitchContents, type Tunnel } from './switch.ts';

const PEERS = ['c1', 'c2', 'c3'];
const ADDRESSES = ['172.16.0.1', '172.16.0.2', '172.16.0.22'];
const GROUPS = [0x40000001, 0x40000002, 0x40000011];

const to = (address: string): string => `set_field:${address}->tun_dst,output:"muster-tun"`;
const address = fc.constantFrom(...ADDRESSES).map(to);
const bucket = fc.oneof(
  address,
  fc.constant('drop'),
  fc.tuple(fc.constantFrom(...PEERS), address).map(([peer, sends]) => `watch_port:${bfdPortName(peer)},${sends}`),
);
const group: fc.Arbitrary<FlowGroup> = fc.record({
  id: fc.constantFrom(...GROUPS),
  type: fc.constantFrom('all', 'indirect', 'fast-failover'),
  buckets: fc.array(bucket, { maxLength: 2 }),
});
const tunnel: fc.Arbitrary<Tunnel> = fc.record(
  {
    peer: fc.constantFrom(...PEERS),
    address: fc.constantFrom(...ADDRESSES),
    bfdIntervalMs: fc.constant(100),
  },
  { requiredKeys: ['peer', 'address'] },
);
const flow: fc.Arbitrary<Flow> = fc.record({
  table: fc.constantFrom(30, 31),
  priority: fc.constant(10),
  match: fc.constantFrom('', 'xreg0=0x1', 'xreg0=0x2', 'xreg0=0x3'),
  actions: fc.oneof(
    address,
    fc.constant('drop'),
    fc.constantFrom(...GROUPS).map((id) => `group:${id}`),
  ),
  cookie: fc.constantFrom('4d55000000000001', '00000000000000aa'),
});
const contents: fc.Arbitrary<SwitchContents> = fc.record({
  flows: fc.uniqueArray(flow, { selector: flowKey, maxLength: 5 }),
  groups: fc.uniqueArray(group, { selector: ({ id }) => id }),
  tunnels: fc.uniqueArray(tunnel, { selector: ({ peer }) => peer }),
  externalIds: fc.constant({}),
});
const change: fc.Arbitrary<SwitchChange> = fc.oneof(
  flow.map((one): SwitchChange => ({ kind: 'put-flow', flow: one })),
  flow.map((one): SwitchChange => ({ kind: 'remove-flow', flow: one })),
  group.map((one): SwitchChange => ({ kind: 'put-group', group: one })),
  fc.constantFrom(...GROUPS).map((id): SwitchChange => ({ kind: 'remove-group', id })),
  tunnel.map((one): SwitchChange => ({ kind: 'put-tunnel', tunnel: one })),
  fc.constantFrom(...PEERS).map((peer): SwitchChange => ({ kind: 'remove-tunnel', peer })),
);
const removal = change.filter(({ kind }) => kind.startsWith('remove-'));

/** The same answer, from everything that is there. */
function problemWithAll({ tunnels, groups, flows }: SwitchContents, changes: readonly SwitchChange[]): unknown {
  const state = new SwitchState();
  for (const one of tunnels) state.apply([{ kind: 'put-tunnel', tunnel: one }]);
  for (const one of groups) state.apply([{ kind: 'put-group', group: one }]);
  for (const one of flows) state.apply([{ kind: 'put-flow', flow: one }]);
  return state.apply(changes);
}

test.each([
  ['any', change],
  ['removals-alone', removal],
])('%s: of-few-changes-the-same-is-said-as-of-everything-that-is-there', (_, kinds) => {
  let refused = 0;
  let taken = 0;
  fc.assert(
    fc.property(contents, fc.array(kinds, { minLength: 1, maxLength: 4 }), (there, changes) => {
      const problem = problemWithAll(there, changes);
      if (problem === undefined) taken += 1;
      else refused += 1;
      expect(findProblem(there, changes)).toBe(problem);
    }),
    { numRuns: 3000 },
  );
  expect(Math.min(refused, taken)).toBeGreaterThan(100);
});
