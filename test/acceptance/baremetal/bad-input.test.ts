// Wrong requests for nodes over real HTTP: each has its status, its code and its field, and changes nothing: no commit is made for it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { idOf } from '../../../src/fleet/index.ts';
import { OPERATION } from '../../../src/operations/index.ts';
import { ReservationsPlane, type Answered } from './reservations-fixture.ts';

/** As many claims as inventories are sent at once. */
const ALLOCATIONS_MAX = 300;

let plane: ReservationsPlane;
let url: string;

async function start(claims?: 'endpoint'): Promise<void> {
  plane = await ReservationsPlane.start(claims);
  await plane.addNodes({ n1: { capabilities: 'disks:16' } });
  url = await plane.server.server.listen({ host: '127.0.0.1', port: 0 });
}

afterEach(() => plane.close());

async function reserve(fields: object | string, secret = plane.operator): Promise<Answered> {
  const body = typeof fields === 'string' ? fields : JSON.stringify({ instance_uuid: 'i1', manager: 'm1', ...fields });
  const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const answered = await fetch(`${url}/api/v1/reservations`, { method: 'POST', headers, body });
  return {
    ...{ status: answered.status, headers: Object.fromEntries(answered.headers) },
    body: (await answered.json()) as Answered['body'],
  };
}

async function expectUnchanged(sent: () => Promise<Answered>): Promise<Answered> {
  const { fleet } = plane.server.journal;
  const before = fleet.revision;
  const answered = await sent();
  expect(fleet.revision).toBe(before);
  return answered;
}

describe('a request that is malformed: 400 by field', () => {
  beforeEach(() => start());

  const spec = (key: string, value: unknown): object => ({ extra_specs: { [key]: value } });
  test.each<[string, object, string]>([
    ['key: of-no-field', { memory_gb: 1 }, '/memory_gb'],
    ['key: a-capability-without-a-name', spec('capabilities:', '1'), '/extra_specs/capabilities:'],
    ['key: a-trait-without-a-name', spec('trait:', 'required'), '/extra_specs/trait:'],
    ['key: a-trait-that-is-none', spec('trait:A B', 'required'), '/extra_specs/trait:A B'],
    ['key: a-class-that-is-none', spec('resources:gold', '1'), '/extra_specs/resources:gold'],
    ['key: an-item-without-a-name', spec('capabilities', 'a,:b'), '/extra_specs/capabilities'],
    [
      'key: two-classes',
      { extra_specs: { 'resources:CUSTOM_A': '1', 'resources:CUSTOM_B': '1' } },
      '/extra_specs/resources:CUSTOM_B',
    ],
    ['key: a-slash', spec('trait:a/b', 'required'), '/extra_specs/trait:a~1b'],
    ['type: text-for-a-number', { memory_mb: '1024' }, '/memory_mb'],
    ['type: a-fraction', { vcpus: 1.5 }, '/vcpus'],
    ['type: below-zero', { root_gb: -1 }, '/root_gb'],
    ['type: beyond-all', { swap: 1e300 }, '/swap'],
    ['type: a-number-in-the-extra-specs', spec('trait:A', 1), '/extra_specs/trait:A'],
    ['type: a-list-for-the-extra-specs', { extra_specs: [] }, '/extra_specs'],
    ['type: no-list-of-candidates', { candidate_nodes: 'n1' }, '/candidate_nodes'],
    ['type: an-instance-that-is-none', { instance_uuid: 'a b' }, '/instance_uuid'],
    ['type: no-manager', { manager: null }, '/manager'],
    [
      'type: an-architecture-that-is-none',
      { image: { properties: { architecture: 8 } } },
      '/image/properties/architecture',
    ],
    ['operator: not-in-the-table', spec('capabilities:disks', '> 2'), '/extra_specs/capabilities:disks'],
    ['operator: a-wrong-word-for-a-trait', spec('trait:A', 'wanted'), '/extra_specs/trait:A'],
    [
      'operator: an-image-forbids-nothing',
      { image: { properties: { 'trait:A': 'forbidden' } } },
      '/image/properties/trait:A',
    ],
    ['operand: none', spec('capabilities:disks', '>='), '/extra_specs/capabilities:disks'],
    ['operand: no-number', spec('capabilities:disks', '>= many'), '/extra_specs/capabilities:disks'],
    ['operand: half-an-or', spec('capabilities:disks', '<or>'), '/extra_specs/capabilities:disks'],
    ['operand: two-nodes-for-one', spec('resources:CUSTOM_A', '2'), '/extra_specs/resources:CUSTOM_A'],
  ])('%s', async (_name, fields, field) => {
    const refused = await expectUnchanged(() => reserve(fields));
    expect(refused).toMatchObject({ status: 400 });
    expect(refused.headers['content-type']).toContain('application/problem+json');
    expect(fieldsOf(refused)).toContain(field);
    expect((await plane.show()).status).toBe(404);
  });

  test('every field that is wrong is named', async () => {
    const refused = await expectUnchanged(() =>
      reserve({ extra_specs: { 'capabilities:disks': '> 2', 'trait:A': 'wanted', 'resources:CUSTOM_A': '2' } }),
    );
    expect(fieldsOf(refused).toSorted()).toEqual([
      '/extra_specs/capabilities:disks',
      '/extra_specs/resources:CUSTOM_A',
      '/extra_specs/trait:A',
    ]);
  });

  test.each([
    ['no JSON', '{"instance_uuid":'],
    ['a field twice', '{"instance_uuid":"i1","manager":"m1","vcpus":1,"vcpus":2}'],
    ['no object', '[]'],
  ])('%s', async (_name, body) => {
    expect((await expectUnchanged(() => reserve(body))).status).toBe(400);
  });
});

/** The field by which a problem is known. */
function fieldsOf({ body }: Answered): string[] {
  const problems = (body['problems'] ?? []) as readonly { readonly field: string }[];
  return [body['field'] as string, ...problems.map(({ field }) => field)].filter(
    (field, at, all) => field !== undefined && all.indexOf(field) === at,
  );
}

describe('a request that is of the right form', () => {
  test('an unknown candidate: 422 by field', async () => {
    await start();
    const refused = await expectUnchanged(() => reserve({ candidate_nodes: ['n1', 'nobody'] }));
    expect(refused).toMatchObject({ status: 422, body: { code: 'unknown-candidate', field: '/candidate_nodes/1' } });
  });

  test('a manager that is not registered, has lapsed, or drains: 409', async () => {
    await start();
    const refusedFor = async (manager: string): Promise<unknown> => {
      const { status, body } = await expectUnchanged(() => reserve({ manager }));
      return [status, body['code'], body['field']];
    };
    expect(await refusedFor('m9')).toEqual([409, 'manager-not-registered', '/manager']);
    plane.server.clock.ahead(60_000);
    expect(await refusedFor('m1')).toEqual([409, 'manager-lapsed', '/manager']);
    await plane.register();
    const begun = await plane.ask(plane.operator, { method: 'POST', url: '/managers/m1/drain', payload: {} });
    const operation = idOf(OPERATION, begun.body['operation'] as string);
    await plane.until(
      'it is empty',
      () => plane.server.journal.fleet.get(OPERATION, operation)?.doc.state === 'succeeded',
    );
    expect(await refusedFor('M1')).toEqual([409, 'manager-draining', '/manager']);
  });

  test("another manager's token: 403", async () => {
    await start();
    const other = await plane.server.token('manager', { manager: 'm2' });
    const refused = await expectUnchanged(() => reserve({}, other));
    expect(refused).toMatchObject({ status: 403, body: { code: 'other-manager' } });
  });

  test('more claims than inventories are sent at once: 503 with Retry-After, and later it is accepted', async () => {
    await start('endpoint');
    await plane.keepLease();
    const ids = Array.from({ length: ALLOCATIONS_MAX + 1 }, (_, nth) => `busy-${nth}`);
    await plane.addNodes(Object.fromEntries([...ids, 'spare'].map((id) => [id, {}])));
    await plane.armFault({ op: 'claim', outcome: 'hang', times: ALLOCATIONS_MAX });
    // One caller may not request so many at once.
    const callers = await Promise.all([1, 2, 3, 4].map(() => plane.server.token('operator')));
    const begun = await Promise.all(
      ids.slice(1).map((id, nth) => plane.reserve({ instance_uuid: id }, callers[nth % 4])),
    );
    expect(begun.map(({ status }) => status)).toEqual(begun.map(() => 202));
    const refused = await expectUnchanged(() => reserve({}));
    expect(refused).toMatchObject({ status: 503, body: { code: 'allocations-at-limit' } });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect((await plane.show()).status).toBe(404);
    expect((await plane.release('busy-1')).status).toBeLessThan(300);
    await plane.until('one is settled', () => plane.isSettled('busy-1'));
    expect((await reserve({})).status).toBeLessThan(300);
  }, 60_000);
});
