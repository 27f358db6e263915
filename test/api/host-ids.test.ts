// A host is found by every id that scale-in takes, wherever the API takes one: in paths, filters and bodies, and by RESTCONF.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hostChange, populate, startApiTestServer, type ApiTestServer } from './api-test-server.ts';

const BRIDGE = '6f0f3a5e-7d0c-4c43-9f1e-2f8d5b7a1c11';
const FORMS = [
  'c-ids',
  'sys-77',
  'fffffffffffffffe',
  '0xFFFFFFFFFFFFFFFE',
  'ff:ff:ff:ff:ff:ff:ff:fe',
  'openflow:18446744073709551614',
  `ovsdb://uuid/${BRIDGE}/bridge/br-int`,
];

let world: ApiTestServer;
let admin: string;

beforeAll(async () => {
  world = await startApiTestServer();
  await populate(world);
  admin = await world.token('admin');
  const identity = { datapathId: 'fffffffffffffffe', systemId: 'sys-77', bridge: BRIDGE };
  await world.commit(hostChange('c-ids', { site: 'central', switch: identity }));
});

afterAll(() => world.close());

test.each(FORMS)('%s: show, edit, tenants, dataplane, maintenance', async (form) => {
  const url = `/api/v1/hosts/${encodeURIComponent(form)}`;
  expect((await world.call(admin, { method: 'GET', url })).json()).toMatchObject({ id: 'c-ids' });
  const edited = await world.call(admin, { method: 'PATCH', url, payload: { baseWeight: FORMS.indexOf(form) } });
  expect(edited.json()).toMatchObject({ id: 'c-ids', baseWeight: FORMS.indexOf(form) });
  for (const part of ['tenants', 'dataplane', 'segments']) {
    expect((await world.call(admin, { method: 'GET', url: `${url}/${part}` })).statusCode).toBe(200);
  }
  const disabled = await world.call(admin, { method: 'POST', url: `${url}/disable`, payload: { reason: form } });
  expect(disabled.json()).toMatchObject({ id: 'c-ids', disabled: { reason: form } });
});

test('of another site it is as unknown as one that there is not', async () => {
  const north = await world.token('operator', { site: 'north' });
  for (const form of [...FORMS, 'absent']) {
    const url = `/api/v1/hosts/${encodeURIComponent(form)}`;
    const answers = [
      await world.call(north, { method: 'GET', url }),
      await world.call(north, { method: 'PATCH', url, payload: { baseWeight: 9 } }),
    ];
    for (const answer of answers) {
      expect(answer.statusCode).toBe(404);
      // Not even its name.
      if (form !== 'c-ids') expect(answer.body).not.toContain('c-ids');
    }
  }
});
