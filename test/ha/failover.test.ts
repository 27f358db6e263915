// Three Muster servers on PostgreSQL under Patroni, with clients that write and read all the time, through every fault of the
// database and of a machine: nothing that was acknowledged is lost, nothing is there twice. How long clients got no answer is measured
// and printed, never asserted.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { check, GOOD } from './check.ts';
import type { ClientLoad, Unavailability } from './load.ts';
import { MACHINES, type MachineName } from './network.ts';
import { startReferenceSetup, missingRequirement, waitForWrites, type ReferenceSetup } from './reference-setup.ts';

/** Few: on a busy machine a write takes a second. */
const AFTER_THE_FAULT = 60;
const AFTER_THE_REPAIR = 60;

const reason = await missingRequirement();
const title = 'three servers on PostgreSQL under Patroni';

if (reason !== undefined && process.env['CI'] !== 'true') {
  test.skip(`${title}: ${reason}`);
} else {
  describe(title, () => suite());
}

function suite(): void {
  let world: ReferenceSetup;
  beforeAll(async () => {
    if (reason !== undefined) throw new Error(reason);
    world = await startReferenceSetup();
  }, 600_000);
  afterAll(() => world?.stop());

  interface Fault {
    /** What goes wrong; answers when writes can be expected again. */
    readonly strike: () => Promise<void>;
    readonly repair?: () => void;
  }

  async function survives(name: string, fault: Fault): Promise<void> {
    const load = await world.startLoad(name);
    onTestFinished(() => load.stop());
    const struckAtMs = performance.now();
    let during: Unavailability;
    try {
      await fault.strike();
      await waitForWrites(load, AFTER_THE_FAULT);
      during = load.unavailability(struckAtMs);
    } finally {
      // Also when the test has failed: the next one needs all machines.
      fault.repair?.();
    }
    const repairedAtMs = performance.now();
    await world.database.settled();
    await waitForWrites(load, AFTER_THE_REPAIR);
    const afterwards = load.unavailability(repairedAtMs);
    await load.stop();
    report(name, load, { during, afterwards });
    await expectNothingLost(load);
  }

  async function expectNothingLost(load: ClientLoad): Promise<void> {
    const verdicts = await check(load, world.servers, world.database);
    for (const [place, verdict] of Object.entries(verdicts)) {
      expect({ place, ...verdict }).toEqual({ place, ...GOOD });
    }
    expect(load.unexpected).toEqual([]);
    expect(load.acknowledged.length).toBeGreaterThan(AFTER_THE_FAULT);
  }

  const newPrimaryAfter = async (old: MachineName): Promise<void> => void (await world.database.primary(old));

  test('switchover', async () => {
    await survives('switchover', { strike: async () => void (await world.database.switchover()) });
  });

  test('crash-of-the-primary', async () => {
    const primary = await world.database.primary();
    await survives('crash', {
      strike: async () => {
        world.database.signalAll(primary, 'SIGKILL');
        await newPrimaryAfter(primary);
      },
      repair: () => world.database.startPatroni(primary),
    });
  });

  test('paused-primary', async () => {
    const primary = await world.database.primary();
    await survives('pause', {
      strike: async () => {
        world.database.signalAll(primary, 'SIGSTOP');
        await newPrimaryAfter(primary);
      },
      repair: () => world.database.signalAll(primary, 'SIGCONT'),
    });
  });

  test('isolated-primary', async () => {
    const primary = await world.database.primary();
    await survives('isolation', {
      strike: async () => {
        world.network.isolate(primary);
        await newPrimaryAfter(primary);
      },
      repair: () => world.network.heal(primary),
    });
  });

  test('crash-of-a-whole-machine', async () => {
    const primary = await world.database.primary();
    await survives('machine', {
      strike: async () => {
        world.servers.program(primary).signal('SIGKILL');
        world.database.signalAll(primary, 'SIGKILL');
        await newPrimaryAfter(primary);
      },
      repair: () => {
        world.database.startPatroni(primary);
        world.servers.startOne(primary);
      },
    });
  });

  test('rolling-restart-of-the-servers', async () => {
    const load = await world.startLoad('rolling');
    onTestFinished(() => load.stop());
    const startedAtMs = performance.now();
    for (const machine of MACHINES) {
      await world.servers.program(machine).stop('SIGTERM');
      world.servers.startOne(machine);
      await world.servers.isReady(machine);
      await waitForWrites(load, AFTER_THE_FAULT);
    }
    const during = load.unavailability(startedAtMs);
    await load.stop();
    report('rolling restart', load, { during });
    await expectNothingLost(load);
  });

  // The last one: it damages the database on purpose.
  test('the-checker-finds-what-is-lost-doubled-and-left-out', async () => {
    const load = await world.startLoad('damage');
    await load.stop();
    const [lost, doubled] = load.acknowledged;
    const primary = await world.database.primary();
    const damage = [
      `INSERT INTO muster.resource SELECT kind, 'copy', revision, body FROM muster.resource WHERE id = '${doubled?.id}'`,
      `DELETE FROM muster.resource WHERE kind = 'token' AND id = '${lost?.id}'`,
      'DELETE FROM muster.commit_log WHERE revision = (SELECT revision - 5 FROM muster.head)',
    ];
    for (const text of damage) await world.database.query(primary, text, 'muster');
    const verdicts = await check(load, world.servers, world.database);
    const found = verdicts[`database ${primary}`];
    expect(found).toMatchObject({ lost: [lost?.name], doubled: [doubled?.name] });
    expect(found?.gaps).toHaveLength(1);
  });
}

function report(name: string, load: ClientLoad, measured: Record<string, Unavailability>): void {
  const rounded = Object.entries(measured).map(
    ([when, { writesMs, readsMs }]) =>
      `${when}: no write for ${(writesMs / 1000).toFixed(1)} s, no read for ${(readsMs / 1000).toFixed(1)} s`,
  );
  const counts = `${load.acknowledged.length} acknowledged, ${load.retries} attempts repeated, ${load.unresolved.length} open`;
  process.stdout.write(`${name}: ${rounded.join('; ')}; ${counts}\n`);
}
