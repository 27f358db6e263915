// One contract, both links: within the process, and over real HTTP to real servers.
import { expect } from 'vitest';
import { HttpLink } from '../../src/agent/node/http-link.ts';
import { TestControlPlane } from '../../src/agent/server/control-plane-fixture.ts';
import { realClock } from '../../src/main/clock.ts';
import { freePort } from '../free-port.ts';
import { HttpPlane } from './http-plane.ts';
import { linkContract } from './link-contract.ts';

linkContract('in-process', async () => {
  const plane = new TestControlPlane(realClock);
  await plane.start('s1');
  await expect.poll(() => plane.hasLeader).toBe(true);
  await plane.start('s2');
  await plane.register('c1');
  return { plane, link: plane.link, holder: 's1', other: 's2', unreachable: 's3', close: () => plane.close() };
});

linkContract('http', async () => {
  const plane = new HttpPlane();
  const { url: holder } = await plane.listen('s1');
  await expect.poll(() => plane.hasLeader).toBe(true);
  const { url: other } = await plane.listen('s2');
  await plane.register('c1');
  const link = new HttpLink();
  const close = async (): Promise<void> => {
    link.close();
    await plane.close();
  };
  return { plane, link, holder, other, unreachable: `http://127.0.0.1:${await freePort()}`, close };
});
