// The simulated fleet beside a real server in this process: what its agents keep makes them the same hosts after a restart.
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { SecretMask, TOKEN } from '../../src/access/index.ts';
import { HOST } from '../../src/hosts/index.ts';
import { startControlPlane, type ControlPlane } from '../../src/main/control-plane.ts';
import { startDemoFleet } from '../../src/main/demo-fleet.ts';
import { newFolder } from './muster.ts';

const dataFolder = newFolder();

const log = pino({ level: 'silent' });
const HOSTS = ['compute-1', 'compute-2', 'north-1'];

async function start(): Promise<{ readonly plane: ControlPlane; readonly stop: () => Promise<void> }> {
  const plane = await startControlPlane({
    dataFolder,
    listen: '127.0.0.1:0',
    store: 'sqlite',
    insecure: false,
    newAdminToken: false,
    version: 'test',
    log,
    mask: new SecretMask(),
    signal: new AbortController().signal,
  });
  const fleet = await startDemoFleet(plane, { hosts: HOSTS.length, dataFolder, log });
  const stop = async (): Promise<void> => {
    await fleet.stop();
    await plane.stop();
  };
  return { plane, stop };
}

const haveAllReported = ({ gateway }: ControlPlane): boolean =>
  HOSTS.every((host) => gateway.reports.get(host) !== undefined);
const patience = { timeout: 30_000, interval: 50 };

test('every host is joined once, and connected again after a restart with the credential it had', async () => {
  const first = await start();
  const { fleet } = first.plane.journal;
  await vi.waitUntil(() => [...fleet.all(HOST)].filter(({ doc }) => doc.state === 'active').length === 3, patience);
  await first.stop();

  const second = await start();
  await vi.waitUntil(() => haveAllReported(second.plane), patience);
  const after = second.plane.journal.fleet;
  expect([...after.all(HOST)].map(({ id, doc }) => `${id} ${doc.state}`)).toEqual(
    HOSTS.map((host) => `${host} active`),
  );
  expect([...after.all(TOKEN)].filter(({ doc }) => doc.role === 'agent')).toHaveLength(3);
  await second.stop();
});
