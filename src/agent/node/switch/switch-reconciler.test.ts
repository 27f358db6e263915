// A switch that is reconciled: how often it is read for that, and that nothing goes by what was read before alone.
import { expect, test } from 'vitest';
import { C2, C3, nat, view as shown } from '../../../dataplane/compile/dataplane-view-fixture.ts';
import { SimulatedSwitch } from '../../../dataplane/runtime.ts';
import { SwitchDown, type SwitchChange } from '../../../dataplane/index.ts';
import { CURRENT_SERVICE_VERSION } from '../../../hosts/index.ts';
import type { View } from '../../protocol/messages.ts';
import { SimulatedNodeDriver } from '../../simulation/simulated-node.ts';
import { SwitchReconciler } from './switch-reconciler.ts';
import { VirtualClock } from '../../../journal/virtual-clock-fixture.ts';

type Parts = Parameters<typeof shown>[0];

function viewOf(digest: string, parts: Parts): View {
  const { host, peers, networks, services, bfd } = shown(parts);
  const stamp = { journalId: 'j', leaseEpoch: 1, revision: 1 };
  return { host, digest, stamp, tasks: [], parts: { self: {}, peers, networks, services, bfd } };
}

const BOTH = viewOf('both', { services: [nat()] });
const ONE = viewOf('one', { services: [nat()], peers: [C2], networks: { domains: [], routers: [] } });
const ONE_MORE = viewOf('one more', { services: [nat()], networks: { domains: [], routers: [] } });
const THEIRS = '0000000000000001';

async function startReconciler(
  view: View,
): Promise<{ it: SimulatedSwitch; line: SwitchReconciler; calls: () => string }> {
  const it = new SimulatedSwitch({ host: 'c1' });
  const line = new SwitchReconciler(it);
  expect(await line.reconcile(view)).toEqual({ kind: 'applied' });
  it.calls.length = 0;
  return { it, line, calls: () => it.calls.splice(0).join(' ') };
}

test('a-peer-that-leaves-takes-one-look, and-one-that-comes-two', async () => {
  const { it, line, calls } = await startReconciler(ONE_MORE);
  expect(await line.reconcile(ONE)).toEqual({ kind: 'applied' });
  expect(calls()).toBe('apply read');
  expect(it.contents.tunnels.map(({ peer }) => peer)).toEqual(['c2']);
  expect(await line.reconcile(ONE_MORE)).toEqual({ kind: 'applied' });
  expect(calls()).toBe('read apply read');
  expect(it.contents.tunnels.map(({ peer }) => peer)).toEqual(['c2', C3.host]);
});

test('what-else-became-another-meanwhile-is-put-right-by-the-look-after', async () => {
  const { it, line } = await startReconciler(ONE_MORE);
  const wanted = new SimulatedSwitch({ host: 'c1' });
  await new SwitchReconciler(wanted).reconcile(ONE);
  const [flow] = it.contents.flows;
  it.applyForeign([{ kind: 'remove-flow', flow: flow! }]);
  expect(await line.reconcile(ONE)).toEqual({ kind: 'applied' });
  expect(it.contents).toEqual(wanted.contents);
});

test('a-flow-of-another-program-where-ours-was-stays', async () => {
  const { it, line } = await startReconciler(BOTH);
  const removed = it.contents.flows.find(({ match }) => match.includes(`tun_src=${C3.tunnelAddress}`))!;
  const theirs: SwitchChange = { kind: 'put-flow', flow: { ...removed, actions: 'drop', cookie: THEIRS } };
  it.applyForeign([theirs]);
  await line.reconcile(viewOf('without c3', { services: [nat()], peers: [C2] }));
  expect(it.contents.flows.filter(({ cookie }) => cookie === THEIRS)).toHaveLength(1);
});

test('never: a flow of another program is written over that came since the last look', async () => {
  const { it: full } = await startReconciler(BOTH);
  const { it, line } = await startReconciler(ONE_MORE);
  const there = new Set(it.contents.flows.map(({ match }) => match));
  const wanted = full.contents.flows.find(({ match }) => !there.has(match))!;
  const theirs = { ...wanted, actions: 'drop', cookie: THEIRS };
  it.applyForeign([{ kind: 'put-flow', flow: theirs }]);
  expect(await line.reconcile(BOTH)).toMatchObject({
    kind: 'failed',
    problems: [expect.stringContaining('in the way')],
  });
  expect(it.contents.flows).toContainEqual(theirs);
});

test('what-is-left-after-the-changes-is-counted-by-itself', async () => {
  const it = new SimulatedSwitch({ host: 'c1' });
  it.faults.losesFlows = 2;
  const problems = [expect.stringMatching(/^2 differences are left after \d+ changes were made$/) as string];
  expect(await new SwitchReconciler(it).reconcile(BOTH)).toEqual({ kind: 'failed', problems });
});

test('never: something counts as converged that was not read', async () => {
  const { it, line } = await startReconciler(ONE_MORE);
  it.faults.down = true;
  expect(await line.reconcile(ONE)).toMatchObject({ kind: 'failed' });
  it.faults.down = false;
  it.reset();
  expect(await line.reconcile(ONE)).toEqual({ kind: 'applied' });
  expect(it.contents.tunnels.map(({ peer }) => peer)).toEqual(['c2']);
});

test('never: a view that was begun before the host was ordered to leave is followed after its switch is wiped', async () => {
  const clock = new VirtualClock();
  const it = new SimulatedSwitch({ host: 'c1' });
  const driver = new SimulatedNodeDriver({ clock, switch: it, delayMs: 10 });
  const { signal } = new AbortController();
  const fence = { stamp: BOTH.stamp, host: 'c1', serviceVersion: CURRENT_SERVICE_VERSION, signal };
  // Both take their time; the view is a little slower.
  const left = driver.perform({ id: 'go', kind: 'leave', args: {} }, fence);
  const applying = driver.apply(BOTH, signal);
  await clock.pass(50);
  expect([await applying, await left]).toEqual([
    { kind: 'failed', problems: ['this host was ordered to leave'] },
    { outcome: 'done' },
  ]);
  expect(it.contents.flows).toEqual([]);
  // One that joins again has its flows again.
  const again = driver.apply(BOTH, signal);
  await clock.pass(50);
  expect(await again).toEqual({ kind: 'applied' });
  expect(it.contents.flows).not.toEqual([]);
});

test('a-wipe-takes-the-ports-of-ours-away-after-all-else, and-a-view-that-is-followed-brings-them-back', async () => {
  const { it, line, calls } = await startReconciler(BOTH);
  expect(it.ownPorts).not.toEqual([]);
  expect(await line.wipe()).toEqual({ kind: 'applied' });
  expect([it.ownPorts, it.contents.flows, calls().split(' ').at(-1)]).toEqual([[], [], 'tear-down']);
  expect(await line.hasConverged(BOTH)).toBe(false);
  expect(it.ownPorts).toEqual([]);
  expect(await line.reconcile(BOTH)).toEqual({ kind: 'applied' });
  expect(it.ownPorts).not.toEqual([]);
});

test('never: a host has left whose ports of ours could not be taken away', async () => {
  const { it, line } = await startReconciler(BOTH);
  const tearDown = it.tearDown.bind(it);
  it.tearDown = () => Promise.reject(new SwitchDown('the switch does not answer'));
  expect(await line.wipe()).toEqual({ kind: 'failed', problems: ['switch-down: the switch does not answer'] });
  it.tearDown = tearDown;
  expect(await line.wipe()).toEqual({ kind: 'already' });
  expect(it.ownPorts).toEqual([]);
});

test('a-service-whose-next-hop-is-silent-is-named, and the switch converges all the same', async () => {
  const it = new SimulatedSwitch({ host: 'c1' });
  const known = new Map<string, string>();
  const line = new SwitchReconciler(it, { nextHop: (ip) => known.get(ip) });
  const preparing = viewOf('preparing', { services: [nat({ role: 'preparing' })] });
  expect(await line.reconcile(preparing)).toEqual({
    kind: 'applied',
    unready: [{ service: 'nat:edge', because: 'next hop 198.51.100.1 does not answer' }],
  });
  expect(it.contents.tunnels.map(({ peer }) => peer)).toEqual(['c2', 'c3']);
  known.set('198.51.100.1', 'fa:16:3e:00:00:99');
  expect(await line.reconcile(preparing)).toEqual({ kind: 'applied' });
});
