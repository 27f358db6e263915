// What docs/production.md says of lost machines, step by step, while clients write and read: one machine with everything on it, and two of
// the three members of etcd. Nothing that was acknowledged is lost or doubled. Times are printed, never asserted.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { check, GOOD } from './check.ts';
import type { ClientLoad } from './load.ts';
import { MACHINES, signal, type MachineName } from './network.ts';
import {
  startReferenceSetup,
  missingRequirement,
  waitForReads,
  waitForWrites,
  type ReferenceSetup,
} from './reference-setup.ts';
import { waitFor } from './wait-for.ts';

const ENOUGH = 60;

const reason = await missingRequirement();
const title = 'lost machines';

if (reason !== undefined && process.env['CI'] !== 'true') test.skip(`${title}: ${reason}`);
else describe(title, () => suite());

function suite(): void {
  let world: ReferenceSetup;
  beforeAll(async () => {
    if (reason !== undefined) throw new Error(reason);
    world = await startReferenceSetup();
  }, 600_000);
  afterAll(() => world?.stop());

  const othersThan = (machine: MachineName): [MachineName, MachineName] =>
    MACHINES.filter((one) => one !== machine) as [MachineName, MachineName];

  function report(what: string, load: ClientLoad, sinceMs: number): void {
    const { writesMs, readsMs } = load.unavailability(sinceMs);
    process.stdout.write(
      `${what}: no write for ${(writesMs / 1000).toFixed(1)} s, no read for ${(readsMs / 1000).toFixed(1)} s\n`,
    );
  }

  async function expectNothingLost(load: ClientLoad): Promise<void> {
    for (const [place, verdict] of Object.entries(await check(load, world.servers, world.database)))
      expect({ place, ...verdict }).toEqual({ place, ...GOOD });
    expect(load.unexpected).toEqual([]);
    expect(load.acknowledged.length).toBeGreaterThan(ENOUGH);
  }

  test('a-machine-that-is-lost-with-its-disk-is-replaced', async () => {
    const { database, servers, network } = world;
    const lost = await database.primary();
    const [helper] = othersThan(lost);
    const load = await world.startLoad('replace');
    onTestFinished(() => load.stop());
    const lostAtMs = performance.now();
    for (const pid of network.processes(lost)) signal(pid, 'SIGKILL');
    await database.primary(lost);
    await waitForWrites(load, ENOUGH);
    report('a machine lost', load, lostAtMs);

    const replacedAtMs = performance.now();
    database.etcd.replaceDisk(lost);
    database.replaceDisk(lost);
    servers.replaceDisk(lost, helper);
    await database.etcd.removeMember(helper, lost);
    await database.etcd.addMember(helper, lost);
    database.etcd.start(lost, { joins: MACHINES });
    await database.etcd.isHealthy(lost);
    database.startPatroni(lost);
    servers.startOne(lost);
    await servers.isReady(lost);
    await database.settled();
    await waitForWrites(load, ENOUGH);
    report('and replaced', load, replacedAtMs);
    await load.stop();
    await expectNothingLost(load);

    // The new one counts: the set-up bears the loss of another.
    const [next] = othersThan(lost);
    const again = await world.startLoad('replaced');
    onTestFinished(() => again.stop());
    await database.etcd.stop(next, 'SIGKILL');
    await waitForWrites(again, ENOUGH);
    database.etcd.start(next);
    await database.etcd.isHealthy(next);
    await again.stop();
    await expectNothingLost(again);
  });

  async function expectReadsOnly(load: ClientLoad): Promise<void> {
    await waitFor('no database to take writes', async () => ((await hasPrimary()) ? undefined : true));
    await waitForReads(load, ENOUGH);
    const written = load.writes;
    await waitForReads(load, ENOUGH);
    expect(load.writes).toBe(written);
  }

  async function hasPrimary(): Promise<boolean> {
    const found = await Promise.all(
      MACHINES.map((machine) =>
        world.database
          .query<{ standby: boolean }>(machine, 'SELECT pg_is_in_recovery() AS standby')
          .then(([row]) => row?.standby === false)
          .catch(() => false),
      ),
    );
    return found.includes(true);
  }

  test('etcd-that-has-lost-two-of-three-goes-on-when-one-of-them-is-back', async () => {
    const { etcd } = world.database;
    const load = await world.startLoad('back');
    onTestFinished(() => load.stop());
    const [one, other] = othersThan(await world.database.primary());
    const lostAtMs = performance.now();
    for (const machine of [one, other]) await etcd.stop(machine, 'SIGKILL');
    await expectReadsOnly(load);
    etcd.start(one);
    await waitForWrites(load, ENOUGH);
    report('two of three members of etcd killed, and one back', load, lostAtMs);
    etcd.start(other);
    await etcd.isHealthy(other);
    await world.database.settled();
    await load.stop();
    await expectNothingLost(load);
  });

  test('etcd-that-has-lost-two-of-three-is-begun-anew-from-the-third', async () => {
    const { database } = world;
    // The one that is left has a standby beside it.
    const primary = await database.primary();
    const [left, second] = othersThan(primary);
    const load = await world.startLoad('etcd');
    onTestFinished(() => load.stop());
    const lostAtMs = performance.now();
    for (const machine of [primary, second]) {
      await database.etcd.stop(machine, 'SIGKILL');
      database.etcd.replaceDisk(machine);
    }
    await expectReadsOnly(load);
    report('two of three members of etcd lost', load, lostAtMs);

    const restoredAtMs = performance.now();
    await database.etcd.stop(left);
    database.etcd.start(left, { forceNewCluster: true });
    await database.etcd.isHealthy(left);
    await waitForWrites(load, ENOUGH);
    report('etcd restored', load, restoredAtMs);
    const members = [left];
    for (const machine of [primary, second]) {
      await database.etcd.addMember(left, machine);
      members.push(machine);
      database.etcd.start(machine, { joins: members });
      await database.etcd.isHealthy(machine);
    }
    // As it runs from now on, without the order to begin anew.
    await database.etcd.stop(left);
    database.etcd.start(left);
    await database.etcd.isHealthy(left);
    expect([...(await database.etcd.members(left)).keys()].toSorted()).toEqual([...MACHINES]);
    await database.settled();
    await waitForWrites(load, ENOUGH);
    await load.stop();
    await expectNothingLost(load);
  });
}
