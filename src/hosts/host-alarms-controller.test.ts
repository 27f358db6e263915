import { expect, test } from 'vitest';
import { ALARM, alarmsModel } from '../alarms/index.ts';
import { accessModel } from '../access/index.ts';
import { idOf, put } from '../fleet/index.ts';
import { accept } from '../journal/index.ts';
import { OperationsController } from '../operations/runtime.ts';
import { SITE, sitesModel } from '../sites/index.ts';
import { findHost } from './decide.ts';
import { HostAlarmsController } from './host-alarms-controller.ts';
import { hostsModel } from './fleet-model.ts';
import { HOST, type Host } from './model.ts';
import { hostChange } from './preview/preview-fixture.ts';
import { removedReportAlarm } from './removed-reports.ts';
import { remainsOf } from './scale-in/removed-record.ts';
import { TestWorld, type StartedServer } from './world-fixture.ts';

const MINUTE_MS = 60_000;

class AlarmsWorld extends TestWorld {
  reportedMs: number | undefined;
  readonly shared = new Map<string, number>();
  #controller: HostAlarmsController | undefined;

  constructor() {
    super([accessModel, alarmsModel, sitesModel, hostsModel]);
  }

  protected begin({ journal, clock, log }: StartedServer): OperationsController {
    this.#controller = new HostAlarmsController({
      journal,
      clock,
      log,
      lastReportMs: () => this.reportedMs,
      sharedCredentials: () => this.shared,
    });
    return new OperationsController({ journal, clock, log, kinds: new Map(), drivers: new Map() });
  }

  async look(): Promise<string[]> {
    await this.#controller?.reconcile();
    return [...this.fleet.all(ALARM)].map(({ id }): string => id);
  }
}

async function worldOf(): Promise<AlarmsWorld> {
  const world = new AlarmsWorld();
  await world.restart();
  const facts = { tunnelAddress: '10.0.0.1' };
  const removed = remainsOf(hostChange({ name: 'c1', ...facts }).doc as Host, { by: 'ann', nowMs: 1 });
  const changes = [
    put(SITE, idOf(SITE, 'central'), { name: 'central', changedBy: 'test', changedAtMs: 0 }),
    put(HOST, idOf(HOST, 'c1'), removed),
    hostChange({ name: 'c2', ...facts }),
  ];
  await world.journal.submit({ by: 'test', decide: () => accept(changes, undefined) });
  return world;
}

test('a removed host that reports: an alarm until it has been silent for ten minutes, and another for its address if a new host has it by then', async () => {
  const world = await worldOf();
  expect(await world.look()).toEqual([]);
  world.reportedMs = world.nowMs;
  await world.journal.submit({
    by: 'test',
    decide: (fleet) =>
      accept(removedReportAlarm(fleet, { removed: findHost(fleet, 'c1')!, itself: true, nowMs: world.nowMs }), null),
  });
  expect(await world.look()).toEqual(['removed-host-reports:c1', 'tunnel-address-shared:c2']);
  world.clock.now += 9 * MINUTE_MS;
  expect(await world.look()).toHaveLength(2);
  // It reports again: the alarm stands for another ten minutes.
  world.reportedMs = world.nowMs;
  world.clock.now += 9 * MINUTE_MS;
  expect(await world.look()).toHaveLength(2);
  world.clock.now += 2 * MINUTE_MS;
  await world.look();
  expect(await world.look()).toEqual([]);
  expect(world.violations).toEqual([]);
});

test('a new holder observes for ten minutes before it considers a removed host silent', async () => {
  const world = await worldOf();
  await world.journal.submit({
    by: 'test',
    decide: (fleet) =>
      accept(removedReportAlarm(fleet, { removed: findHost(fleet, 'c1')!, itself: true, nowMs: world.nowMs }), null),
  });
  world.clock.now += 60 * MINUTE_MS;
  await world.restart();
  expect(await world.look()).toHaveLength(2);
  world.clock.now += 11 * MINUTE_MS;
  await world.look();
  expect(await world.look()).toEqual([]);
});

test('two machines with the credential of a host: an alarm until ten minutes without a sighting, and none for a removed host', async () => {
  const world = await worldOf();
  world.shared.set('c2', world.nowMs).set('c1', world.nowMs).set('nobody', world.nowMs);
  const raised = 'agent-credential-shared:c2';
  expect(await world.look()).toContain(raised);
  expect(await world.look()).not.toContain('agent-credential-shared:c1');
  world.clock.now += 9 * MINUTE_MS;
  world.shared.set('c2', world.nowMs);
  world.clock.now += 9 * MINUTE_MS;
  expect(await world.look()).toContain(raised);
  world.clock.now += 2 * MINUTE_MS;
  expect(await world.look()).not.toContain(raised);
});
