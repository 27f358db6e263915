// What an agent says of services that it cannot provide yet, what the server makes of it, and that older servers are not misled.
import { expect, test } from 'vitest';
import { idOf } from '../../fleet/index.ts';
import { ITEM, type ActionOutcome } from '../../operations/index.ts';
import { LinkDown } from '../../link/index.ts';
import { NAT, ConntrackSyncWorld } from '../node/switch/conntrack-sync-fixture.ts';

const WELL = 'nat:well';
const SILENT = 'next hop 203.0.113.1 does not answer';

/** c1 does two services, both are handed to c2, and c2 cannot prepare one of them. */
async function startUnpreparable(): Promise<ConntrackSyncWorld> {
  const world = await ConntrackSyncWorld.start(['c1', 'c2']);
  world.unpreparable.set(`c2 ${NAT}`, SILENT);
  for (const id of [NAT, WELL]) await world.designate('c1', id);
  await world.untilConverged('c1');
  for (const id of [NAT, WELL]) await world.setHandoverPhase('c1', 'c2', 'preparing', id);
  return world;
}

async function waitFor({ clock, plane }: ConntrackSyncWorld, service: string): Promise<ActionOutcome> {
  const { journal, views } = plane.leader;
  const args = { hosts: ['c2'], revision: journal.fleet.revision, service };
  const action = { driver: 'views', item: idOf(ITEM, 'op.x'), step: 'prepare', attempt: 1, args };
  const fence = {
    leaseEpoch: journal.fence?.epoch ?? 0,
    operation: 'op',
    deadlineAtMs: 9e15,
    signal: new AbortController().signal,
  };
  let outcome: ActionOutcome | undefined;
  void views.carryOut(action, fence).then((one) => (outcome = one));
  await clock.until('there is an answer', () => outcome !== undefined, 10_000);
  return outcome as ActionOutcome;
}

test('a-service-that-cannot-be-prepared-is-waited-for-alone, and its host says why', async () => {
  const world = await startUnpreparable();
  expect(await waitFor(world, WELL)).toEqual({ kind: 'applied' });
  expect(await waitFor(world, NAT)).toEqual({
    kind: 'failed',
    reason: { code: 'service-not-ready', service: NAT, host: 'c2', because: SILENT, hosts: ['c2'] },
  });
  expect(world.host('c2').testHost.agent?.status().problems).toEqual([`${NAT}: ${SILENT}`]);
  world.unpreparable.clear();
  await world.untilConverged('c2');
  expect(await waitFor(world, NAT)).toEqual({ kind: 'applied' });
  expect(world.host('c2').testHost.agent?.status().problems).toEqual([]);
});

test('what-a-host-said-of-an-earlier-view-is-no-reason: it has not converged', async () => {
  const world = await startUnpreparable();
  expect(await waitFor(world, NAT)).toMatchObject({ reason: { code: 'service-not-ready' } });
  world.host('c2').testHost.link.tap = () => Promise.reject(new LinkDown('cut'));
  await world.setHandoverPhase('c1', 'c2', 'syncing');
  expect(await waitFor(world, NAT)).toEqual({
    kind: 'failed',
    reason: { code: 'hosts-behind', hosts: ['c2'], inAll: 1 },
  });
});

test('to-a-server-that-does-not-know-readiness-the-host-has-not-converged, until one does', async () => {
  const world = await ConntrackSyncWorld.start(['c1', 'c2']);
  const { link } = world.host('c2').testHost;
  link.tap = async (name, pass) => {
    const reply = await pass();
    return name === 'heartbeat' ? withoutReadiness(reply) : reply;
  };
  world.unpreparable.set(`c2 ${NAT}`, SILENT);
  await world.designate('c1');
  await world.untilConverged('c1');
  await world.setHandoverPhase('c1', 'c2', 'preparing');
  await world.clock.pass(20_000);
  const { gateway, journal } = world.plane.leader;
  expect(gateway.hasConverged('c2', journal.fleet.revision)).toBe(false);
  expect(gateway.reports.get('c2')?.unready).toBeUndefined();
  link.tap = (_name, pass) => pass();
  await world.clock.until('it has converged', () => gateway.hasConverged('c2', journal.fleet.revision));
  expect(gateway.reports.unreadinessOf('c2', NAT)).toBe(SILENT);
});

function withoutReadiness<R>(reply: R): R {
  const { answer, ...rest } = reply as { answer: { readiness?: unknown } };
  const { readiness: _, ...older } = answer;
  return { ...rest, answer: older } as R;
}
