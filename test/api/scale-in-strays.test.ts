// Strays in what is shown of scale-in: before it is begun and while it lasts, without names that are not the caller's to know.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sampleNetwork } from './sample-network.ts';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';

const STRAYS = { names: ['instance/vm-1', 'interface/tap-foreign'], count: 12, sinceMs: 5 };

let world: ApiTestServer;
let operator: string;
let north: string;

beforeEach(async () => {
  world = await startApiTestServer();
  await populate(world);
  await world.commit(...sampleNetwork(), hostChange('central-0', { strays: STRAYS }));
  operator = await world.token('operator');
  north = await world.token('operator', { site: 'north' });
});
afterEach(() => world.close());

interface Hosts {
  readonly hosts: readonly object[];
}

const post = async (secret: string, path: string, hosts: readonly string[]): Promise<Hosts> =>
  (await world.call(secret, { method: 'POST', url: `/api/v1/scale-in/${path}`, payload: { hosts } })).json<Hosts>();
const status = async (secret: string): Promise<Hosts> =>
  (await world.call(secret, { method: 'GET', url: '/api/v1/scale-in' })).json<Hosts>();

test('the-preview-and-the-status-list-what-keeps-a-host-from-being-removed', async () => {
  const both = ['central-0', 'central-1'];
  const [before, other] = (await post(operator, 'preview', both)).hosts;
  expect(before).toMatchObject({ host: 'central-0', strays: STRAYS });
  expect(other).not.toHaveProperty('strays');
  await post(operator, 'start', both);
  const [first, second] = (await status(operator)).hosts;
  expect(first).toMatchObject({ host: 'central-0', strays: STRAYS });
  expect(second).not.toHaveProperty('strays');
});

test('what-a-host-has-may-have-the-name-of-something-elsewhere: that is not shown', async () => {
  await world.commit(hostChange('north-0', { site: 'north', strays: STRAYS }));
  const limited = { strays: { names: ['instance/(hidden)', 'interface/tap-foreign'], count: 12 } };
  expect((await post(north, 'preview', ['north-0'])).hosts).toMatchObject([limited]);
  await post(north, 'start', ['north-0']);
  expect((await status(north)).hosts).toMatchObject([{ host: 'north-0', ...limited }]);
  const shown = await world.call(north, { method: 'GET', url: '/api/v1/hosts/north-0' });
  expect(shown.json()).toMatchObject(limited);
});
