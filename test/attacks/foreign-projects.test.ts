// Never: a caller that is bound to one project learns anything of another, or of the hosts that both are on. Everything of a hidden
// project has a marker; every GET of the route table, the preview and what is refused are requested with tokens of another project.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../src/access/index.ts';
import { idOf, put } from '../../src/fleet/index.ts';
import { movesOff } from '../../src/hosts/scale-in/moves.ts';
import { GROUP, INSTANCE } from '../../src/instances/index.ts';
import { CLAIM, claimId, FLOATING_ADDRESS, NETWORK, PORT, QUOTA, ROUTER } from '../../src/network/index.ts';
import { ITEM } from '../../src/operations/index.ts';
import { SITE } from '../../src/sites/index.ts';
import { hostChange } from '../api/api-test-server.ts';
import { prepareServer, requestFor, type PreparedServer } from '../api/every-route.ts';
import { nodeChange } from '../api/sample-nodes.ts';
import {
  CHANGED,
  clusterOf,
  DRAINED,
  FAR_PORT,
  HIDDEN,
  MARKER,
  NET,
  PLACE,
  subnetChange,
  TRACES,
  VM,
} from './hidden-project.ts';
import { drainInstance, recordAsAgent, waitingMove } from './machine-work.ts';

let prepared: PreparedServer;
const secrets = new Map<string, string>();

beforeAll(async () => {
  prepared = await prepareServer();
  const { world } = prepared;
  const vm = world.journal.fleet.get(INSTANCE, idOf(INSTANCE, 'vm-1'))?.doc;
  const port = world.journal.fleet.get(PORT, idOf(PORT, 'port-1'))?.doc;
  const net = world.journal.fleet.get(NETWORK, idOf(NETWORK, 'lan'))?.doc;
  if (vm === undefined || port === undefined || net === undefined) throw new Error('the fixture is not whole');
  const ended = { host: vm.host ?? 'central-0', reportedMs: 1, atMs: 1, times: 1, runsAgain: false };
  await world.commit(
    put(INSTANCE, idOf(INSTANCE, 'vm-1'), { ...vm, ended }),
    put(NETWORK, idOf(NETWORK, NET), { ...net, name: NET, project: HIDDEN }),
    put(NETWORK, idOf(NETWORK, 'common'), { ...net, name: 'common', project: 'infra', shared: true }),
    subnetChange(`${MARKER}-subnet`, NET, '10.7.0'),
    subnetChange('common-v4', 'common', '10.8.0'),
    put(GROUP, idOf(GROUP, `${MARKER}-group`), {
      name: `${MARKER}-group`,
      project: HIDDEN,
      policy: 'affinity',
      ...CHANGED,
    }),
    put(NETWORK, idOf(NETWORK, 'outside'), { ...net, name: 'outside', project: 'infra', shared: true, external: true }),
    subnetChange('outside-v4', 'outside', '10.9.0'),
    put(ROUTER, idOf(ROUTER, `${MARKER}-router`), {
      ...{ name: `${MARKER}-router`, project: HIDDEN, subnets: ['common-v4'], externalNetwork: 'outside', ...CHANGED },
    }),
    put(ROUTER, idOf(ROUTER, 'mine'), { name: 'mine', project: 'default', subnets: [`${MARKER}-subnet`], ...CHANGED }),
    put(FLOATING_ADDRESS, idOf(FLOATING_ADDRESS, 'floating-mine'), {
      ...{ project: 'default', network: 'outside', outside: { port: 'port-1', ip: '10.9.0.7' }, ...CHANGED },
      inside: { port: 'port-1', ip: '10.8.0.9', router: `${MARKER}-router` },
    }),
    put(FLOATING_ADDRESS, idOf(FLOATING_ADDRESS, `floating-${MARKER}`), {
      ...{ project: HIDDEN, network: 'outside', outside: { port: FAR_PORT, ip: '10.9.0.8' }, ...CHANGED },
    }),
    put(QUOTA, idOf(QUOTA, HIDDEN), { project: HIDDEN, instances: 5, ...CHANGED }),
    put(PORT, idOf(PORT, FAR_PORT), {
      ...{ ...port, project: HIDDEN, network: NET, instance: VM, mac: 'fa:16:3e:00:01:77' },
      addresses: [{ ip: '10.7.0.177', subnet: `${MARKER}-subnet`, chosenBy: 'bind' }],
    }),
    put(INSTANCE, idOf(INSTANCE, VM), { ...vm, name: VM, project: HIDDEN, nics: [{ port: FAR_PORT, network: NET }] }),
    put(CLAIM, claimId(VM, 'home'), {
      ...{ instance: VM, role: 'home', host: 'central-0', vcpus: 1, memoryMiB: 64, diskGiB: 1 },
      ...{ addresses: [], sinceMs: 1 },
    }),
    put(INSTANCE, idOf(INSTANCE, 'vm-failed'), {
      ...{ ...vm, name: 'vm-failed', nics: [], state: 'error' as const },
      attempts: [
        {
          nth: 1,
          host: 'central-1',
          site: 'central',
          pools: [],
          fault: 'spawn-failed',
          text: `next to ${VM}`,
          atMs: 1,
        },
      ],
      fault: {
        code: 'spawn-failed',
        message: `Host central-1 has ${VM} of ${HIDDEN}, port ${FAR_PORT} in ${NET}.`,
        atMs: 1,
      },
    }),
    nodeChange(`${MARKER}-node`, { owner: HIDDEN }),
    nodeChange('node-leased', {
      ...{ owner: 'default', lessee: HIDDEN, state: 'active', epoch: 1, dirty: true },
      ...{ instance: VM, manager: 'manager-1', managerEpoch: 1 },
      maintenance: { reason: `as ${VM} on central-1`, by: 'admin', atMs: 1 },
      fault: { code: 'x', message: `Host central-1 has ${VM} of ${HIDDEN}.`, atMs: 1 },
    }),
    put(SITE, idOf(SITE, PLACE), { name: PLACE, ...CHANGED }),
    hostChange(DRAINED, {
      ...{ site: PLACE, state: 'draining' },
      leaving: { operation: 'op-drained', drain: true, by: 'admin', atMs: 1 },
    }),
    put(INSTANCE, idOf(INSTANCE, 'vm-drained'), { ...vm, name: 'vm-drained', host: DRAINED, place: {}, nics: [] }),
    put(CLAIM, claimId('vm-drained', 'home'), {
      ...{ instance: 'vm-drained', role: 'home', host: DRAINED, vcpus: 1, memoryMiB: 64, diskGiB: 1 },
      ...{ addresses: [], sinceMs: 1 },
    }),
    ...[HIDDEN, 'default'].flatMap((project) => clusterOf(project)),
    ...waitingMove({ id: 'op-mine', project: 'default', instance: 'vm-1', fault: `as ${VM} on central-1` }),
    ...waitingMove({ id: 'op-theirs', project: HIDDEN, instance: VM, fault: `as ${VM} on central-1` }),
  );
  await world.journal.submit({
    ...{ by: 'admin', why: `like ${VM} on central-0`, operation: 'op-theirs' },
    decide: () => ({
      kind: 'accept',
      changes: [put(INSTANCE, idOf(INSTANCE, 'vm-1'), { ...vm, changedAtMs: 2 })],
      answer: 0,
    }),
  });
  await drainInstance(world, { host: DRAINED, instance: 'vm-drained', site: PLACE });
  await recordAsAgent(world, DRAINED, { instances: ['vm-1', 'vm-drained'], ports: ['port-1'] });
  secrets.set('viewer', await world.token('viewer', { project: 'default' }));
  secrets.set('operator', await world.token('operator', { project: 'default' }));
  secrets.set('of site', await world.token('operator', { project: 'default', site: 'central' }));
  secrets.set('elsewhere', await world.token('operator', { project: 'default', site: 'north' }));
});
afterAll(() => prepared.world.close());

const ALSO: Readonly<Record<string, readonly string[]>> = {
  instances: ['vm-failed', 'vm-drained'],
  nodes: ['node-leased', `${MARKER}-node`],
  operations: ['op-mine'],
  networks: ['common'],
  subnets: ['common-v4'],
  routers: ['mine', `${MARKER}-router`],
  'floating-addresses': ['floating-mine', `floating-${MARKER}`],
};

const tracesIn = (text: string): string[] => TRACES.filter((trace) => text.includes(trace));
const around = (text: string, trace: string): string =>
  text.slice(Math.max(0, text.indexOf(trace) - 80), text.indexOf(trace) + 40);

function urlsOf(route: Route): string[] {
  const url = requestFor(route, prepared.token).url as string;
  const ids = route.path.includes('/:id') ? (ALSO[route.path.split('/')[3] ?? ''] ?? []) : [];
  return [url, ...ids.map((id) => route.path.replace(':id', id))];
}

async function textOf(secret: string, url: string, route: Route): Promise<string> {
  if (route.kind !== 'stream') return (await prepared.world.call(secret, { url })).body;
  const answer = await prepared.world.call(secret, { url: `${url}?after=0`, payloadAsStream: true });
  if (answer.statusCode !== 200) return '';
  let text = '';
  const last = `id: ${prepared.world.journal.fleet.revision}.`;
  for await (const chunk of answer.stream()) {
    text += String(chunk);
    if (text.includes(last)) break;
  }
  return text;
}

describe('never: a caller of one project sees another, or hosts', () => {
  test('by any GET of the route table', async () => {
    const leaks: string[] = [];
    let answered = 0;
    for (const route of prepared.world.server.routes.filter(
      ({ method, access }) => method === 'GET' && access !== 'public',
    )) {
      for (const url of urlsOf(route)) {
        for (const [who, secret] of secrets) {
          const text = await textOf(secret, url, route);
          answered += /"code":"(project-bound|site-bound|role-insufficient)"/.test(text) ? 0 : 1;
          const found = tracesIn(text).filter((trace) => !url.includes(trace));
          leaks.push(...found.map((trace) => `${who}: GET ${url} tells ${trace}: ${around(text, trace)}`));
        }
      }
    }
    expect(leaks).toEqual([]);
    expect(answered).toBeGreaterThan(40);
  });

  test('by the operation of a drain, which it is named and can show', async () => {
    const { world } = prepared;
    const viewer = secrets.get('viewer');
    const moving = world.journal.fleet.get(INSTANCE, idOf(INSTANCE, 'vm-drained'))?.doc.move?.operation;
    // The host is not in the id, and the move counts for the budget of its drain all the same.
    expect(movesOff(world.journal.fleet, DRAINED)).toBe(1);
    expect(moving).toMatch(/^drain-\d+\.instance-moves$/);
    const vm = (await world.call(viewer, { url: '/api/v1/instances/vm-drained' })).json<{
      move: { operation: string };
    }>();
    expect(vm.move.operation).toBe(moving);
    const history = await world.call(viewer, { url: '/api/v1/history?kind=instance&id=vm-drained' });
    for (const url of [
      `/api/v1/operations/${moving}`,
      `/api/v1/operations/${moving}/items`,
      `/api/v1/history?operation=${moving}`,
    ])
      expect([url, (await world.call(viewer, { url })).statusCode]).toEqual([url, 200]);
    expect(history.body).toContain('"by":"agent/(hidden)"');
    expect(history.body).toContain('"changedBy":"manager/(hidden)"');
    const admin = await world.call(await world.token('admin'), { url: '/api/v1/history?kind=instance&id=vm-drained' });
    expect(admin.body).toContain(`"by":"agent/${DRAINED}"`);
  });

  test('by a filter: a host that is guessed is as good as none, and so is one of another site', async () => {
    const ids = async (who: string, url: string): Promise<readonly string[]> =>
      (await prepared.world.call(secrets.get(who), { url }))
        .json<{ items: { id: string }[] }>()
        .items.map(({ id }) => id);
    const admin = await prepared.world.token('admin');
    secrets.set('site north', await prepared.world.token('viewer', { site: 'north' }));
    const { world } = prepared;
    const away = world.journal.fleet.get(ITEM, idOf(ITEM, 'op-mine.vm-1'))!;
    await world.commit(put(ITEM, away.id, { ...away.doc, host: 'central-0' }));
    for (const [what, found] of [
      ['instances', 'vm-1'],
      ['ports', 'port-1'],
      ['operation-items', 'op-mine.vm-1'],
      ['operations/op-mine/items', 'op-mine.vm-1'],
    ] as const) {
      const hosts = await Promise.all(
        ['central-0', 'central-1', 'central-2'].map((host) => {
          const url = `/api/v1/${what}?host=${host}`;
          return Promise.all([ids('viewer', url), ids('operator', url)]);
        }),
      );
      expect([what, hosts.flat(2)]).toEqual([what, []]);
      expect((await ids('viewer', `/api/v1/${what}`)).includes(found)).toBe(true);
      const shown = await world.call(admin, { url: `/api/v1/${what}?host=central-0` });
      expect([what, shown.body.includes(`"${found}"`)]).toEqual([what, true]);
    }
    expect(await ids('site north', '/api/v1/operation-items?host=central-0')).toEqual([]);
  });

  test('by a preview', async () => {
    const payload = { flavor: 'small', networks: [{ network: 'common' }], requiredTraits: ['none'] };
    const preview = { method: 'POST', url: '/api/v1/instances/preview', payload } as const;
    const { statusCode, body } = await prepared.world.call(secrets.get('operator'), preview);
    expect([statusCode, tracesIn(body)]).toEqual([200, []]);
  });

  test('by what it is refused: what others have is as unknown as what does not exist', async () => {
    const post = async (url: string, payload: object): Promise<Record<string, unknown>> =>
      (await prepared.world.call(secrets.get('operator'), { method: 'POST', url, payload })).json();
    const build = (more: object) =>
      post('/api/v1/instances', { name: 'new', flavor: 'small', networks: 'none', ...more });
    for (const [theirs, nobodys, code] of [
      [
        await build({ networks: [{ network: NET }] }),
        await build({ networks: [{ network: 'none' }] }),
        'unknown-network',
      ],
      [
        await build({ networks: [{ port: FAR_PORT }] }),
        await build({ networks: [{ port: 'port-x' }] }),
        'unknown-port',
      ],
      [await build({ group: `${MARKER}-group` }), await build({ group: 'none' }), 'unknown-group'],
      [await build({ host: 'central-0' }), await build({ host: 'none' }), 'unknown-host'],
      [
        await post('/api/v1/ports', { network: NET }),
        await post('/api/v1/ports', { network: 'none' }),
        'unknown-network',
      ],
      [
        await post('/api/v1/floating-addresses', { network: NET }),
        await post('/api/v1/floating-addresses', { network: 'none' }),
        'unknown-network',
      ],
      [
        await post('/api/v1/floating-addresses', { network: 'outside', port: FAR_PORT }),
        await post('/api/v1/floating-addresses', { network: 'outside', port: 'port-x' }),
        'unknown-port',
      ],
    ] as const) {
      expect([theirs['status'], theirs['code'], nobodys['status'], nobodys['code']]).toEqual(
        [422, code, 422, code].map((one) => (one === 422 ? nobodys['status'] : one)),
      );
    }
    await prepared.world.commit(
      put(PORT, idOf(PORT, `port-${MARKER}-2`), {
        ...prepared.world.journal.fleet.get(PORT, idOf(PORT, FAR_PORT))!.doc,
        ...{ network: 'common', mac: 'fa:16:3e:00:01:78' },
        addresses: [{ ip: '10.8.0.77', subnet: 'common-v4', chosenBy: 'user' }],
      }),
    );
    // On a network that both use, the answer may say that an address is taken, and not by what or by whom.
    for (const refusal of [
      await post('/api/v1/ports', { network: 'common', addresses: [{ ip: '10.8.0.77' }] }),
      await post('/api/v1/ports', { network: 'common', mac: 'fa:16:3e:00:01:78' }),
      await build({ networks: [{ network: 'common', fixedIp: '10.8.0.77' }] }),
      await post('/api/v1/instances/preview', {
        flavor: 'small',
        networks: [{ network: 'common', fixedIp: '10.8.0.77' }],
      }),
    ]) {
      expect(refusal['status']).toBeGreaterThanOrEqual(400);
      expect([refusal['code'], tracesIn(JSON.stringify(refusal))]).toEqual([refusal['code'], []]);
    }
    expect(await build({ project: HIDDEN })).toMatchObject({ status: 403, code: 'other-project' });
    expect(await build({ name: VM })).toMatchObject({ status: 409, code: 'name-unavailable' });
  });
});

test('a-project-makes-what-is-its-own, on shared networks too', async () => {
  const operator = secrets.get('operator');
  const payload = { name: 'mine', flavor: 'small', networks: [{ network: 'common' }] };
  const made = await prepared.world.call(operator, { method: 'POST', url: '/api/v1/instances', payload });
  expect(made.statusCode).toBe(202);
  const { fleet } = prepared.world.journal;
  expect(fleet.get(INSTANCE, idOf(INSTANCE, 'mine'))?.doc.project).toBe('default');
  const { operation } = made.json<{ operation: string }>();
  expect((await prepared.world.call(operator, { url: `/api/v1/operations/${operation}` })).statusCode).toBe(200);
  const port = await prepared.world.call(operator, {
    method: 'POST',
    url: '/api/v1/ports',
    payload: { network: 'common' },
  });
  expect(port.json()).toMatchObject({ project: 'default', network: 'common' });
  const ids = async (who: string) =>
    (await prepared.world.call(secrets.get(who), { url: '/api/v1/instances' })).json<{ items: { id: string }[] }>()
      .items;
  expect((await ids('viewer')).map(({ id }) => id)).toEqual(['mine', 'vm-1', 'vm-drained', 'vm-failed']);
  // Bound to both, it sees what is of both.
  expect((await ids('of site')).map(({ id }) => id)).toContain('vm-1');
  expect(await ids('elsewhere')).toEqual([]);
});

test('only-viewers-and-operators-are-bound-to-a-project', async () => {
  const admin = await prepared.world.token('admin');
  const create = (role: string, host?: string) =>
    prepared.world.call(admin, {
      ...{ method: 'POST', url: '/api/v1/tokens' },
      payload: { name: 'x', role, project: 'acme', ...(host !== undefined && { host }) },
    });
  expect((await create('admin')).json()).toMatchObject({ status: 422, code: 'project-not-allowed' });
  expect((await create('join', 'central-0')).json()).toMatchObject({ status: 422, code: 'project-not-allowed' });
  expect((await create('viewer')).json()).toMatchObject({ project: 'acme' });
});

test('what-a-project-may-not-do-is-refused-by-its-own-code', async () => {
  const operator = secrets.get('operator');
  for (const url of ['/api/v1/scale-in/start', '/api/v1/scale-in/preview', '/api/v1/instances/vm-1/move']) {
    const payload = url.endsWith('move') ? {} : { hosts: ['central-0'] };
    const answer = await prepared.world.call(operator, { method: 'POST', url, payload });
    expect(answer.json()).toMatchObject({ status: 403, code: 'project-bound' });
  }
});

test('a-project-reads-its-own-routers-and-has-floating-addresses-of-its-own', async () => {
  const operator = secrets.get('operator');
  const { world } = prepared;
  const listed = async (what: string): Promise<string[]> =>
    (await world.call(operator, { url: `/api/v1/${what}` }))
      .json<{ items: { id: string }[] }>()
      .items.map(({ id }) => id);
  expect(await listed('routers')).toContain('mine');
  expect(await listed('floating-addresses')).toContain('floating-mine');
  expect([...(await listed('routers')), ...(await listed('floating-addresses'))].join()).not.toContain(MARKER);
  const payload = { network: 'outside' };
  const made = await world.call(operator, { method: 'POST', url: '/api/v1/floating-addresses', payload });
  expect([made.statusCode, made.json<{ project: string }>().project]).toEqual([201, 'default']);
  const { id } = made.json<{ id: string }>();
  const theirs = `/api/v1/floating-addresses/floating-${MARKER}`;
  expect((await world.call(operator, { method: 'POST', url: `${theirs}/disassociate` })).statusCode).toBe(404);
  expect((await world.call(operator, { method: 'DELETE', url: theirs })).statusCode).toBe(404);
  expect((await world.call(operator, { method: 'DELETE', url: `/api/v1/floating-addresses/${id}` })).statusCode).toBe(
    200,
  );
  // Routers are made by operators of the fleet.
  const router = await world.call(operator, { method: 'POST', url: '/api/v1/routers', payload: { name: 'r9' } });
  expect(router.json()).toMatchObject({ status: 403, code: 'project-bound' });
});

test('a-project-sees-the-nodes-that-it-owns-or-leases, and-no-others', async () => {
  const { world } = prepared;
  await world.commit(nodeChange('node-rented', { owner: 'infra', lessee: 'default' }), nodeChange('node-of-all'));
  const listed = async (secret: string | undefined): Promise<Record<string, unknown>[]> =>
    (await world.call(secret, { url: '/api/v1/nodes' })).json<{ items: Record<string, unknown>[] }>().items;
  const mine = await listed(secrets.get('viewer'));
  expect(mine.map(({ id, owner, lessee }) => [id, owner, lessee])).toEqual([
    ['node-1', 'default', undefined],
    ['node-leased', 'default', undefined],
    ['node-rented', undefined, 'default'],
  ]);
  expect((await listed(await world.token('viewer', { project: HIDDEN }))).map(({ id }) => id)).toEqual([
    'node-leased',
    `${MARKER}-node`,
  ]);
  // Enrolling and editing are for operators of the fleet.
  const edit = { method: 'PATCH', url: '/api/v1/nodes/node-1', payload: { cpus: 2 } } as const;
  expect((await world.call(secrets.get('operator'), edit)).json()).toMatchObject({
    status: 403,
    code: 'project-bound',
  });
});
