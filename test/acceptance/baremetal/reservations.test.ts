// What is promised of reservations, over HTTP on a whole server: which node, why none, races, releases. Named after docs/acceptance.md.
import { afterEach, describe, expect, test } from 'vitest';
import { NODE, type Node } from '../../../src/baremetal/index.ts';
import { putNode } from '../../../src/baremetal/nodes-fixture.ts';
import { ReservationsPlane, type Answered } from './reservations-fixture.ts';

let plane: ReservationsPlane;
afterEach(() => plane.close());

async function start(nodes: Readonly<Record<string, Partial<Node>>>, claims?: 'endpoint'): Promise<void> {
  plane = await ReservationsPlane.start(claims);
  await plane.addNodes(nodes);
}

const ten = (facts: (nth: number) => Partial<Node>): Record<string, Partial<Node>> =>
  Object.fromEntries(Array.from({ length: 10 }, (_, nth) => [`n${nth}`, facts(nth)]));

const nodeIn = ({ body }: Answered): unknown => body['node'];

/** How many were left where the last were lost. */
function lostAt({ body }: Answered): unknown {
  return (body['stages'] as readonly { stage: string; left: number }[]).find(({ left }) => left === 0)?.stage;
}

test('baremetal-1: one match: active, and the node carries the instance', async () => {
  await start({ n1: {} });
  const answered = await plane.reserve();
  expect(answered).toMatchObject({
    status: 201,
    body: { id: 'i1', state: 'active', node: 'n1', nodeEpoch: 1, manager: 'm1', ignored: [] },
    headers: { location: '/api/v1/reservations/i1' },
  });
  expect(answered.body).not.toHaveProperty('digest');
  expect((await plane.ask(plane.operator, { url: '/nodes/n1' })).body).toMatchObject({
    instance: 'i1',
    manager: 'm1',
    bucket: 'reserved',
  });
  // A repeat changes nothing, whatever the order of its keys; another request is refused.
  const { revision } = plane.server.journal.fleet;
  const again = await plane.ask(plane.operator, {
    method: 'POST',
    url: '/reservations',
    payload: { manager: 'M1', vcpus: null, instance_uuid: 'i1' },
  });
  expect(again).toMatchObject({ status: 200, body: answered.body });
  expect(plane.server.journal.fleet.revision).toBe(revision);
  expect(await plane.reserve({ vcpus: 2 })).toMatchObject({ status: 409, body: { code: 'request-differs' } });
});

test('baremetal-2: the body of the specification as it is printed', async () => {
  const both = { capabilities: 'supports_uefi:true,has_gpu:1' };
  await start({
    'too-little-disk': { cpus: 8, memoryMiB: 1024, localGiB: 30, ...both },
    'too-few-cpus': { cpus: 7, memoryMiB: 1024, localGiB: 31, ...both },
    'too-little-memory': { cpus: 8, memoryMiB: 1023, localGiB: 31, ...both },
    'without-a-capability': { cpus: 8, memoryMiB: 1024, localGiB: 31, capabilities: 'supports_uefi:true' },
    fits: { cpus: 8, memoryMiB: 1024, localGiB: 31, ...both },
  });
  const printed = {
    memory_mb: 1024,
    vcpus: 8,
    vcpu_weight: null,
    root_gb: 20,
    ephemeral_gb: 10,
    swap: 2,
    rxtx_factor: 1.0,
    extra_specs: { capabilities: 'supports_uefi,has_gpu' },
    image: { id: 'some-uuid', properties: {} },
  };
  expect(await plane.reserve(printed)).toMatchObject({
    status: 201,
    body: { node: 'fits', ignored: ['rxtx_factor'], request: printed },
  });
  expect(await plane.reserve({ ...printed, instance_uuid: 'i2' })).toMatchObject({ status: 409 });
});

describe('baremetal-3: traits', () => {
  test('on one of ten: that one', async () => {
    await start(ten((nth) => (nth === 7 ? { traits: ['HW_GPU'], memoryMiB: 10 ** 6 } : {})));
    expect(nodeIn(await plane.reserve({ extra_specs: { 'trait:HW_GPU': 'required' } }))).toBe('n7');
  });

  test('forbidden on all: refused, and the counts are kept', async () => {
    await start(ten(() => ({ traits: ['OLD'] })));
    const refused = await plane.reserve({ extra_specs: { 'trait:OLD': 'forbidden' } });
    expect(refused).toMatchObject({ status: 409, body: { code: 'no-match', instance: 'i1', stage: 'traits' } });
    expect(refused.headers['content-type']).toContain('application/problem+json');
    const kept = await plane.show();
    expect(kept).toMatchObject({ status: 200, body: { state: 'error', reason: { code: 'no-match' } } });
    expect((kept.body['stages'] as object[]).slice(1, 5)).toEqual([
      expect.objectContaining({ stage: 'state', left: 10 }),
      expect.objectContaining({ stage: 'class', left: 10 }),
      expect.objectContaining({ stage: 'sizes', left: 10 }),
      { stage: 'traits', left: 0, sentence: '0 of 10 have none of OLD.' },
    ]);
    // Whoever repeats the request with its key gets the same answer.
    const headers = { 'idempotency-key': 'k' };
    const payload = { instance_uuid: 'i2', manager: 'm1', memory_mb: 10 ** 9 };
    const ask = (): Promise<Answered> =>
      plane.ask(plane.operator, { method: 'POST', url: '/reservations', payload, headers });
    const [first, second] = [await ask(), await ask()];
    expect([first.status, second.status, second.body['code']]).toEqual([409, 409, 'no-match']);
    expect(second.headers).toMatchObject({ 'idempotency-replayed': 'true' });
    expect(second.headers['content-type']).toContain('application/problem+json');
  });
});

test('baremetal-4: a list of candidates: only these; an unknown one is named', async () => {
  await start({ small: { memoryMiB: 1 }, large: { memoryMiB: 2 }, larger: { memoryMiB: 3 } });
  expect(nodeIn(await plane.reserve({ candidate_nodes: ['larger', 'large'] }))).toBe('large');
  expect(await plane.reserve({ instance_uuid: 'i2', candidate_nodes: ['small', 'nobody'] })).toMatchObject({
    status: 422,
    body: { code: 'unknown-candidate', field: '/candidate_nodes/1' },
  });
  expect((await plane.show('i2')).status).toBe(404);
  expect(await plane.reserve({ instance_uuid: 'i3', candidate_nodes: ['large'] })).toMatchObject({ status: 409 });
});

test.each<[string, Partial<Node>, object, string]>([
  ['of another class', { resourceClass: 'gold' }, { 'resources:CUSTOM_SILVER': '1' }, 'class'],
  ['in maintenance', { maintenance: { reason: 'fan', by: 'ann', atMs: 0 } }, {}, 'state'],
  ['without a power state', { power: 'unknown' }, {}, 'state'],
  ['that is not offered', { state: 'unavailable' }, {}, 'state'],
])('baremetal-5: a node %s: refused with its counts, and no claim is made', async (_, facts, extra_specs, stage) => {
  await start({ n1: facts }, 'endpoint');
  const refused = await plane.reserve({ extra_specs });
  expect([refused.status, refused.body['code'], lostAt(refused)]).toEqual([409, 'no-match', stage]);
  expect(await plane.calls()).toEqual([]);
});

test('baremetal-5: a node of another instance', async () => {
  await start({ n1: {} });
  await plane.reserve({ instance_uuid: 'other' });
  expect(lostAt(await plane.reserve())).toBe('state');
});

test('baremetal-6: a class is compared as requests write it', async () => {
  await start({ n1: { resourceClass: 'baremetal.with-GPU' }, n2: { resourceClass: 'other', memoryMiB: 1 } });
  const requested = { extra_specs: { 'resources:CUSTOM_BAREMETAL_WITH_GPU': '1' } };
  expect(nodeIn(await plane.reserve(requested))).toBe('n1');
});

test('baremetal-7: operators of capabilities', async () => {
  await start({ n1: { capabilities: 'disks:16,slot:2' } });
  expect(await plane.reserve({ extra_specs: { 'capabilities:disks': '= 8' } })).toMatchObject({ status: 201 });
  await plane.release();
  const text = await plane.reserve({ extra_specs: { 'capabilities:slot': 's< 12' } });
  expect([text.status, lostAt(text)]).toEqual([409, 'capabilities']);
  const malformed = await plane.reserve({ instance_uuid: 'i2', extra_specs: { 'capabilities:disks': '> 2' } });
  expect(malformed).toMatchObject({
    status: 400,
    body: { code: 'malformed-body', field: '/extra_specs/capabilities:disks' },
  });
  expect(malformed.body['problems']).toHaveLength(1);
  expect((await plane.show('i2')).status).toBe(404);
});

test('baremetal-8: a capability that is false is not replaced by its trait', async () => {
  await start({ n1: { capabilities: 'has_gpu:false', traits: ['CUSTOM_HAS_GPU'] } });
  const requested = { extra_specs: { capabilities: 'has_gpu' } };
  expect(lostAt(await plane.reserve(requested))).toBe('capabilities');
  await plane.addNodes({ n2: { traits: ['CUSTOM_HAS_GPU'] } });
  expect(await plane.reserve(requested)).toMatchObject({
    status: 201,
    body: { node: 'n2', traits: ['CUSTOM_HAS_GPU'] },
  });
});

test('baremetal-9: an unknown namespace is listed, and ignored', async () => {
  await start({ n1: {} });
  expect(await plane.reserve({ extra_specs: { 'hw:cpu_policy': 'dedicated', quota: '1' } })).toMatchObject({
    status: 201,
    body: { ignored: ['hw:cpu_policy', 'quota'] },
  });
});

describe.each(['inline', 'endpoint'] as const)('claims: %s', (claims) => {
  test('baremetal-10: more requests at once than nodes: each node once', async () => {
    plane = await ReservationsPlane.start(claims);
    await plane.addNodes(ten(() => ({})));
    const ids = Array.from({ length: 25 }, (_, nth) => `i-${nth}`);
    const answers = await Promise.all(ids.map((id) => plane.reserve({ instance_uuid: id })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    expect(new Set(answers.map(nodeIn).filter((node) => node !== undefined)).size).toBe(10);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(15);
  });
});

describe('claims by an endpoint', () => {
  test('an answer waits for the inventory', async () => {
    await start({ n1: {} }, 'endpoint');
    expect(await plane.reserve()).toMatchObject({ status: 201, body: { state: 'active', node: 'n1', nodeEpoch: 2 } });
    expect(await plane.calls()).toEqual(['claim n1 accepted']);
  });

  test('baremetal-11: a node that changes between choice and claim: the next node', async () => {
    await start({ n1: { memoryMiB: 1 }, n2: { memoryMiB: 2 } }, 'endpoint');
    await plane.armFault({ op: 'claim', node: 'n1', outcome: 'failed' });
    expect(nodeIn(await plane.reserve())).toBe('n2');
    expect(await plane.calls()).toEqual(['claim n1 refused', 'claim n2 accepted']);
  });

  test('baremetal-12: all are claimed by others: three rounds, then an error', async () => {
    await start({ n1: {}, n2: {} }, 'endpoint');
    await plane.armFault({ op: 'claim', outcome: 'failed', times: 100 });
    const beganMs = performance.now();
    const first = await plane.reserve();
    await plane.until('it is settled', () => plane.isSettled());
    expect(performance.now() - beganMs).toBeLessThan(10_000);
    expect([first.status, (await plane.calls()).length]).toEqual([202, 6]);
    const kept = await plane.show();
    expect(kept.body).toMatchObject({ state: 'error', reason: { code: 'no-match' } });
    expect((kept.body['stages'] as object[]).at(-1)).toMatchObject({ stage: 'race', left: 0 });
  }, 20_000);

  test('baremetal-14: a worker that dies while it allocates: its successor finishes once', async () => {
    await start({ n1: {}, n2: {} }, 'endpoint');
    await plane.armFault({ op: 'claim', outcome: 'hang' });
    expect(await plane.reserve()).toMatchObject({
      status: 202,
      body: { state: 'allocating' },
      headers: { location: '/api/v1/reservations/i1' },
    });
    plane = await plane.succeed();
    await plane.until('it is settled', () => plane.isSettled());
    const { body } = await plane.show();
    expect(body).toMatchObject({ state: 'active' });
    expect((await plane.calls()).filter((call) => call.endsWith('accepted'))).toEqual([
      `claim ${String(body['node'])} accepted`,
    ]);
    expect(['n1', 'n2'].filter((id) => plane.node(id)?.instance !== undefined)).toEqual([body['node']]);
  }, 20_000);
});

test('baremetal-32: 200 requests at once on 10^5 nodes: each gets a node, and none is given twice', async () => {
  plane = await ReservationsPlane.start();
  await plane.keepLease();
  const { server } = plane;
  const idOfNode = (nth: number): string => `n${String(nth).padStart(6, '0')}`;
  for (let slice = 0; slice < 20; slice += 1) {
    const nodes = Array.from({ length: 5000 }, (_, at) =>
      putNode(idOfNode(slice * 5000 + at), { resourceClass: `class-${at % 20}` }),
    );
    await server.commit(...nodes);
  }
  expect(server.journal.fleet.count(NODE)).toBe(100_000);
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, nth) =>
      plane.reserve({ instance_uuid: `i-${nth}`, extra_specs: { [`resources:CUSTOM_CLASS_${nth % 20}`]: '1' } }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
  expect(new Set(answers.map(nodeIn)).size).toBe(200);
  for (const [nth, { body }] of answers.entries())
    expect(plane.node(body['node'] as string)).toMatchObject({
      instance: `i-${nth}`,
      resourceClass: `class-${nth % 20}`,
      epoch: 1,
    });
  expect((await plane.ask(plane.operator, { url: '/capacity' })).body).toMatchObject({
    total: 100_000,
    buckets: { free: 99_800, reserved: 200 },
  });
}, 120_000);

test('baremetal-13: a node of another project', async () => {
  await start({ n1: { owner: 'acme' }, n2: { owner: 'other', lessee: 'acme', memoryMiB: 10 ** 6 } });
  expect(lostAt(await plane.reserve())).toBe('owner');
  expect(lostAt(await plane.reserve({ project: 'third' }))).toBe('owner');
  expect(nodeIn(await plane.reserve({ project: 'acme' }))).toBe('n1');
  const tenant = await plane.server.token('operator', { project: 'acme' });
  expect(await plane.reserve({ instance_uuid: 'i2', project: 'third' }, tenant)).toMatchObject({
    status: 403,
    body: { code: 'other-project' },
  });
  expect(await plane.reserve({ instance_uuid: 'i2' }, tenant)).toMatchObject({
    status: 201,
    body: { project: 'acme', node: 'n2' },
  });
});

test('a project reserves no more nodes than its quota has instances, and again when it has released some', async () => {
  await start(Object.fromEntries(Array.from({ length: 10 }, (_, nth) => [`n${nth}`, {}])));
  const quota = { method: 'PUT', url: '/quotas/acme', payload: { instances: 3 } } as const;
  expect((await plane.ask(plane.admin, quota)).status).toBe(200);
  const tenant = await plane.server.token('operator', { project: 'acme' });
  const answers = [];
  for (let nth = 0; nth < 5; nth += 1) answers.push(await plane.reserve({ instance_uuid: `x${nth}` }, tenant));
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 409, 409]);
  expect(answers[3]?.body).toMatchObject({ code: 'quota-exceeded', what: 'instances', limit: 3, used: 3 });
  expect((await plane.ask(plane.operator, { url: '/capacity' })).body).toMatchObject({ buckets: { free: 7 } });
  expect((await plane.release('x0', tenant)).status).toBe(200);
  expect((await plane.reserve({ instance_uuid: 'x4' }, tenant)).status).toBe(201);
});

/** What its manager does to a node by itself. */
async function act(action: string, nodeEpoch: number): Promise<Answered> {
  const payload = { action, manager: 'm1', nodeEpoch, instance: 'i1', args: { image: 'debian' } };
  return plane.ask(plane.manager, { method: 'POST', url: '/nodes/n1/actions', payload });
}

/** The manager does the tasks that there are. */
async function work(leaseEpoch: number): Promise<string[]> {
  const tenure = { holder: 'p-1', leaseEpoch };
  const { body } = await plane.ask(plane.manager, { url: `/managers/m1/tasks?holder=p-1&leaseEpoch=${leaseEpoch}` });
  const tasks = (body['tasks'] ?? []) as readonly { id: string; kind: string; nodeEpoch: number }[];
  for (const { id: task, kind, nodeEpoch } of tasks) {
    expect(await act(kind, nodeEpoch)).toMatchObject({ status: 200, body: { kind: 'applied' } });
    const payload = { ...tenure, task, node: 'n1', nodeEpoch, instance: 'i1', outcome: 'done' };
    expect((await plane.ask(plane.manager, { method: 'POST', url: '/managers/m1/answers', payload })).status).toBe(200);
  }
  return tasks.map(({ kind }) => kind);
}

describe('baremetal-23: a release', () => {
  test('before a deploy: the node is free at once', async () => {
    await start({ n1: {} });
    await plane.reserve();
    expect(await plane.release()).toMatchObject({ status: 200, body: { state: 'released' } });
    expect(plane.node('n1')).toMatchObject({ state: 'available' });
    expect((await plane.show()).status).toBe(404);
  });

  test.each([
    ['while-it-is-deployed', ['deploy']],
    ['once-it-is-deployed', ['deploy', 'deploy']],
  ] as const)('%s: accepted, and the node is cleaned before it is free', async (_, actions) => {
    await start({ n1: {} });
    const leaseEpoch = await plane.register();
    await plane.reserve();
    for (const action of actions) expect((await act(action, 1)).status).toBe(200);
    const released = await plane.release();
    expect(released).toMatchObject({ status: 202, body: { state: 'releasing' } });
    expect(await plane.reserve({ instance_uuid: 'i2' })).toMatchObject({ status: 409, body: { code: 'no-match' } });
    await plane.until('it is to be cleaned', () => plane.node('n1')?.state === 'cleaning');
    // Twice is as good as once.
    expect((await plane.release()).body).toEqual(released.body);
    expect(await work(leaseEpoch)).toEqual(['clean']);
    await plane.until('it is free', () => plane.node('n1')?.state === 'available');
    expect((await plane.show()).status).toBe(404);
    expect(await plane.reserve({ instance_uuid: 'i3' })).toMatchObject({ status: 201 });
  });
});

test('baremetal-24: a release twice: the same result', async () => {
  await start({ n1: {} });
  await plane.reserve();
  const first = await plane.release();
  expect(await plane.release()).toMatchObject({ status: first.status, body: first.body });
});

test('baremetal-30: a node that is cleaned is not offered, and counts as such', async () => {
  await start({ n1: {} });
  await plane.reserve();
  await act('deploy', 1);
  await plane.release();
  await plane.until('it is to be cleaned', () => plane.node('n1')?.state === 'cleaning');
  expect(lostAt(await plane.reserve({ instance_uuid: 'i2' }))).toBe('state');
  expect((await plane.ask(plane.operator, { url: '/capacity' })).body).toMatchObject({
    buckets: { cleaning: 1, free: 0 },
  });
});

test('baremetal-34: without a class the smallest fitting node', async () => {
  await start({ a: { memoryMiB: 8192 }, b: { memoryMiB: 2048 }, c: { memoryMiB: 512 }, d: { memoryMiB: 4096 } });
  expect(nodeIn(await plane.reserve({ memory_mb: 1024 }))).toBe('b');
  expect(nodeIn(await plane.reserve({ memory_mb: 1024, instance_uuid: 'i2' }))).toBe('d');
});

describe('who may ask', () => {
  test('a manager for itself, and no caller for one that is not there', async () => {
    await start({ n1: {}, n2: {} });
    const other = await plane.server.token('manager', { manager: 'm2' });
    expect(await plane.reserve({}, other)).toMatchObject({ status: 403, body: { code: 'other-manager' } });
    expect(await plane.reserve({}, plane.manager)).toMatchObject({ status: 201 });
    expect(await plane.ask(plane.manager, { url: '/reservations/i1' })).toMatchObject({ status: 200 });
    expect(await plane.ask(other, { url: '/reservations/i1' })).toMatchObject({ status: 403 });
    expect(await plane.release('i1', other)).toMatchObject({ status: 403, body: { code: 'other-manager' } });
    expect(await plane.release('i1', plane.manager)).toMatchObject({ status: 200 });
    expect(await plane.reserve({ manager: 'm2' })).toMatchObject({
      status: 409,
      body: { code: 'manager-not-registered', field: '/manager' },
    });
    plane.server.clock.ahead(60_000);
    expect(await plane.reserve()).toMatchObject({ status: 409, body: { code: 'manager-lapsed' } });
    await plane.register();
    expect(
      (await plane.ask(plane.operator, { method: 'POST', url: '/managers/m1/drain', payload: {} })).status,
    ).toBeLessThan(300);
    expect(await plane.reserve()).toMatchObject({ status: 409, body: { code: 'manager-draining' } });
  });
});
