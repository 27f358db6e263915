// Connecting ports again: only those that are not connected, only where the control plane binds, and only while the host reaches their segment, also
// in the commit of the back end's answer.
import { expect, test } from 'vitest';
import { idOf, put, type Change } from '../../fleet/index.ts';
import { PORT, recordNetworkEvents, unbindPort, type Port } from '../../network/index.ts';
import type { RecordStep } from '../../operations/index.ts';
import { decideDegraded } from './alarm.ts';
import { openReplugItem } from './degraded.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { startActive } from '../move/moves-fixture.ts';
import { INSTANCE, type Instance } from '../model.ts';
import { fixtureF } from '../reference-fixture.ts';
import { instanceReplug } from './replug.ts';

async function unplug(world: InstancesWorld, port = 'web-p0'): Promise<void> {
  const serial = world.port(port)?.binding?.serial ?? 0;
  const events = [{ port, name: 'unplugged' as const, serial }];
  await world.commit((fleet) => recordNetworkEvents(fleet, { events, nowMs: world.nowMs }));
}

async function ticks(world: InstancesWorld, count: number): Promise<void> {
  for (let tick = 0; tick < count; tick += 1) await world.tick();
}

const binds = (world: InstancesWorld): number => world.network.calls.list().filter(({ op }) => op === 'bind').length;

test('never: a port that is connected is bound again beside one that is not', async () => {
  const world = await InstancesWorld.of(fixtureF('simulated'));
  await world.create({ networks: [{ network: 'n' }, { network: 'n' }] });
  await world.settle();
  const before = world.ports('web').map(({ serial }) => serial);
  await unplug(world, 'web-p1');
  await world.settle();
  expect(world.degraded('web')).toEqual([]);
  expect(world.ports('web').map(({ serial }) => serial)).toEqual([before[0], (before[1] ?? 0) + 1]);
});

test('a-port-that-the-host-could-not-plug-is-bound-anew-and-says-so, without-the-wait-for-one-without-an-event', async () => {
  const world = await startActive('simulated');
  world.network.faults.arm({ op: 'plug', outcome: 'plug-failed', times: 999 });
  await unplug(world);
  // A port without any event is reported after a minute.
  const said = new Set<unknown>();
  for (let tick = 0; tick < 10; tick += 1) {
    await world.tick();
    said.add(world.replug('web')?.reason?.['message']);
  }
  expect([...said]).toContain('The network reported that the host could not plug the port.');
});

async function report(
  world: InstancesWorld,
  name: 'plugged' | 'unplugged',
  serial: number,
  port = 'web-p0',
): Promise<void> {
  await world.commit((fleet) => recordNetworkEvents(fleet, { events: [{ port, name, serial }], nowMs: world.nowMs }));
}

test('never: a late report of the binding that was replaced makes an instance count as connected', async () => {
  const world = await startActive('simulated');
  const before = world.port('web-p0')?.binding?.serial ?? 0;
  world.network.faults.arm({ op: 'bind', outcome: 'binding-failed', times: 999 });
  await unplug(world);
  while (world.replug('web')?.reason?.code !== 'not-connected') await world.tick();
  await report(world, 'plugged', before);
  await ticks(world, 5);
  // The back end has bound it to no host.
  expect(world.degraded('web')).toEqual(['web-p0: unbound']);
  world.network.faults.disarm();
  await world.settle();
  expect(world.degraded('web')).toEqual([]);
  expect(world.network.port('web-p0')?.binding).toMatchObject({ host: 'h2', type: 'simulated' });
});

test('never: a late report ends the wait for the answer to an order that replaces what it is of', async () => {
  const world = await startActive('simulated');
  const before = world.port('web-p0')?.binding?.serial ?? 0;
  await unplug(world);
  while (world.replug('web')?.step !== 'bind') await world.tick();
  await report(world, 'plugged', before);
  expect(world.degraded('web')).toEqual(['web-p0: not-plugged']);
});

test('a-host-that-is-silent-is-waited-for, and-nothing-is-ordered-for-it', async () => {
  const world = await startActive('simulated');
  await world.disconnectHost('h2');
  const before = binds(world);
  await unplug(world);
  await ticks(world, 10);
  expect(world.replug('web')).toMatchObject({ state: 'waiting', reason: { code: 'host-silent', host: 'h2' } });
  expect(binds(world)).toBe(before);
  await world.reconnectHost('h2');
  await ticks(world, 20);
  expect(world.degraded('web')).toEqual([]);
});

test('a-host-whose-driver-binds-is-left-to-do-it', async () => {
  const world = await startActive();
  await world.edit('h2', { bindsAt: 'driver' });
  const port = world.port('web-p0') as Port;
  await world.put(put(PORT, idOf(PORT, 'web-p0'), unbindPort(port, { by: 'test', nowMs: world.nowMs })));
  await ticks(world, 10);
  expect(world.degraded('web')).toEqual(['web-p0: unbound']);
  expect(world.replug('web')).toMatchObject({ state: 'waiting', reason: { code: 'host-binds', host: 'h2' } });
});

test('a-segment-that-the-host-does-not-reach-any-more: nothing is ordered, and an answer to an earlier order is ignored', async () => {
  const world = await startActive('simulated');
  world.network.faults.arm({ op: 'bind', outcome: 'binding-failed', times: 999 });
  await unplug(world);
  while (world.replug('web')?.reason?.code !== 'not-connected') await world.tick();
  await world.edit('h2', { physicalNetworks: [] });
  const before = binds(world);
  await ticks(world, 10);
  expect(binds(world)).toBe(before);
  expect(world.replug('web')?.reason).toMatchObject({ code: 'not-connected', fault: 'mapping-gone' });
  const waiting = openReplugItem(world.fleet, 'web')!;
  const reason = { code: 'ports-bound-again', orders: [`web-p0:${world.port('web-p0')?.serial}`] };
  const item = { ...waiting, doc: { ...waiting.doc, step: 'bind', state: 'running' as const, reason } };
  const ports = [{ port: 'web-p0', outcome: 'ok', type: 'simulated', addresses: [] }];
  const outcome = { kind: 'applied', facts: { ports } } as const;
  const step = instanceReplug.observe?.(item, outcome, { fleet: world.fleet, nowMs: world.nowMs }) as RecordStep;
  expect(step).toMatchObject({ progress: { step: 'rebind', reason: { fault: 'mapping-gone' } }, changes: [] });
});

test('never: an instance that is degraded again before the end of its replug is committed is left without one', async () => {
  const world = await startActive('simulated');
  world.network.faults.arm({ op: 'bind', outcome: 'binding-failed', times: 999 });
  await unplug(world);
  while (world.replug('web')?.reason?.code !== 'not-connected') await world.tick();
  const inState = (state: Instance['state']): Change =>
    put(INSTANCE, idOf(INSTANCE, 'web'), { ...(world.instance('web') as Instance), state });
  await world.put(inState('rebuilding'));
  const [end] = instanceReplug.plan(world.fleet, [openReplugItem(world.fleet, 'web')!], world.nowMs);
  // The rebuild finds no host: the instance stays where it is.
  await world.put(inState('active'));
  // The controller finds this replug open, and begins no other one.
  const found = decideDegraded(world.fleet, 'web', world.nowMs).changes.map(({ kind }) => kind);
  expect(found).not.toContain('operation');
  await world.commitPlanned(end!);
  expect(world.degraded('web')).not.toEqual([]);
  expect(world.replug('web')).toBeDefined();
});
