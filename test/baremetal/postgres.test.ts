// Managers and servers as real processes that are killed, halted and stopped while machines are deployed, on PostgreSQL. Whatever happens
// to them, each machine is deployed once, and no instance gets another one.
import { expect, test } from 'vitest';
import { freshDatabase, postgresSuite } from '../postgres/suite.ts';
import {
  describeManagers,
  expectDeployedOnce,
  expectSameNodes,
  start,
  TEST_MS,
  untilDeploying,
  untilTakenOver,
} from './managers-suite.ts';
import type { NodeRow } from './process-plane.ts';

postgresSuite('on PostgreSQL', ({ url }) => {
  describeManagers(() => freshDatabase(url));

  test(
    'two servers: the one that decides dies while managers renew at the other one, and no manager is lost for that',
    async () => {
      const store = await freshDatabase(url);
      const plane = await start({ store, embedded: [undefined, undefined], managers: ['m1', 'm2'], deployMs: 8000 });
      expect(await plane.holderOf()).toBe(0);
      plane.askServer(1);
      await plane.build(12);
      await untilDeploying(plane, 'm1');
      const before = await plane.nodes();
      await plane.killServer(0);
      await plane.untilActive(12);
      await expectDeployedOnce(plane, 12);
      const facts = (nodes: readonly NodeRow[]): unknown[] =>
        nodes.map(({ id, epoch, manager }) => [id, epoch, manager]);
      expect(facts(await plane.nodes())).toEqual(facts(before));
      expect((await plane.managers()).map(({ name, state, leaseEpoch }) => [name, state, leaseEpoch])).toEqual([
        ['m1', 'live', 1],
        ['m2', 'live', 1],
      ]);
    },
    TEST_MS,
  );

  test(
    'kill -9 of the server that decides and has a manager inside: another one decides, and others have its nodes',
    async () => {
      const store = await freshDatabase(url);
      const plane = await start({ store, embedded: ['m1', 'm2'], managers: ['m3'], deployMs: 8000 });
      expect(await plane.holderOf()).toBe(0);
      await plane.build(24);
      const before = await untilDeploying(plane, 'm1');
      const kept = (await plane.nodes()).filter(({ manager }) => manager === 'm2' || manager === 'm3');
      await plane.killServer(0);
      plane.askServer(1);
      await untilTakenOver(plane, 'm1');
      await plane.untilActive(24);
      await expectSameNodes(plane, before);
      await expectDeployedOnce(plane, 24);
      expect((await plane.managers()).map(({ name, state, leaseEpoch }) => [name, state, leaseEpoch])).toEqual([
        ['m1', 'lost', 1],
        ['m2', 'live', 1],
        ['m3', 'live', 1],
      ]);
      const now = new Map((await plane.nodes()).map((one) => [one.id, one]));
      for (const { id, epoch, manager } of kept) expect(now.get(id)).toMatchObject({ epoch, manager });
    },
    TEST_MS,
  );
});
