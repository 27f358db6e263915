// Managers and servers as real processes that are killed, halted and stopped while machines are deployed, on SQLite. Whatever happens
// to them, each machine is deployed once, and no instance gets another one.
import { describe, expect, test } from 'vitest';
import { describeManagers, expectDeployedOnce, managedBy, start, TEST_MS, untilDeploying } from './managers-suite.ts';

describe('on SQLite', () => {
  describeManagers(async () => undefined);

  test(
    'a clean stop of a manager releases its name at once: another process has it while the lease would still last, and its nodes',
    async () => {
      // Longer than any test waits here.
      const plane = await start({ managers: ['m1', 'm2'], leases: { leaseMs: 600_000, renewMs: 1000 }, deployMs: 500 });
      await plane.build(6);
      await plane.untilActive(6);
      const before = managedBy(await plane.nodes(), 'm1');
      const { leaseEpoch } = await plane.manager('m1');
      expect(await plane.endManager('m1', 'SIGTERM')).toMatchObject({ code: 0, signal: null });
      expect((await plane.manager('m1')).state).toBe('stopped');
      await plane.startManager('m1');
      await plane.until('another process has the name', async () => (await plane.manager('m1')).state === 'live');
      expect((await plane.manager('m1')).leaseEpoch).toBe(leaseEpoch + 1);
      await plane.until('it has its nodes', async () => {
        const own = managedBy(await plane.nodes(), 'm1').filter(({ managerEpoch }) => managerEpoch === leaseEpoch + 1);
        return own.length === before.length;
      });
      await expectDeployedOnce(plane, 6);
    },
    TEST_MS,
  );

  test(
    'kill -9 of the only server, which has a manager inside: both come back, and its builds continue',
    async () => {
      const plane = await start({ embedded: ['m1'], managers: ['m2'], deployMs: 6000 });
      await plane.build(12);
      await untilDeploying(plane, 'm1');
      await plane.killServer(0);
      await plane.restartServer(0);
      await plane.untilActive(12);
      await expectDeployedOnce(plane, 12);
    },
    TEST_MS,
  );
});
