// GET /api/v1/hosts/:id/tenants: which caller sees what.
import { describe, expect, test } from 'vitest';
import type { Answer, Caller, RefusalAnswer, RouteContext as RouteWorld } from '../../access/index.ts';
import { findHost, runInOneStep, type Evacuator } from '../../hosts/index.ts';
import { CLAIM } from '../../network/index.ts';
import { explainer } from '../../operations/index.ts';
import { INSTANCE_EVACUATOR } from '../reference-fixture.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { instanceSentences } from '../sentences.ts';
import { tenantRoutes } from './tenant-routes.ts';

async function ask(
  world: InstancesWorld,
  host: string,
  caller: Partial<Caller>,
  { query = {}, evacuator = INSTANCE_EVACUATOR }: { readonly query?: object; readonly evacuator?: Evacuator } = {},
): Promise<unknown> {
  const [route] = tenantRoutes({ evacuators: [evacuator], explain: explainer([instanceSentences]) });
  const call = { params: { id: host }, query, body: {}, caller: { name: 'ann', role: 'operator', ...caller } };
  const submit: RouteWorld['submit'] = (_, request) => world.journal.submit({ ...request, by: 'test' });
  const redactorFor: RouteWorld['redactorFor'] = () => undefined;
  const context = { journal: world.journal, clock: world.clock, submit, redactorFor };
  const answered = (await route?.handle(call as never, context as never)) as Answer | RefusalAnswer;
  return answered.kind === 'refuse' ? answered.refusal.code : answered.body;
}

async function startOne(): Promise<InstancesWorld> {
  const world = await InstancesWorld.of();
  await world.create();
  await world.settle();
  return world;
}

describe('the tenants of a host', () => {
  test('operators-see-where-each-would-go', async () => {
    const evacuation = { kind: 'move', how: 'live', to: 'h4' };
    expect(await ask(await startOne(), 'h2', {})).toEqual({
      host: 'h2',
      count: 1,
      tenants: [{ kind: 'instance', id: 'web', evacuation }],
    });
  });

  test('viewers-see-what-would-be-done, not which hosts have capacity', async () => {
    expect(await ask(await startOne(), 'h2', { role: 'viewer' })).toMatchObject({
      tenants: [{ evacuation: { kind: 'move', how: 'live' } }],
    });
    expect(JSON.stringify(await ask(await startOne(), 'h2', { role: 'viewer' }))).not.toContain('h4');
  });

  test('the-host-is-planned-for-as-one-that-leaves, and stays as it is', async () => {
    const world = await startOne();
    const planned: (string | undefined)[] = [];
    const evacuator: Evacuator = {
      ...INSTANCE_EVACUATOR,
      *plan(openTrial, leavers, how) {
        const trial = yield* openTrial(CLAIM.name);
        planned.push(findHost(trial, 'h2')?.doc.state);
        return yield* INSTANCE_EVACUATOR.plan(() => runInOneStep(trial), leavers, how);
      },
    };
    await ask(world, 'h2', {}, { evacuator });
    expect(planned).toEqual(['draining']);
    expect(findHost(world.journal.fleet, 'h2')?.doc.state).toBe('active');
  });

  test('a-wait-is-shown-in-words', async () => {
    const world = await startOne();
    await world.disconnectHost('h2');
    const sentence = expect.stringContaining('muster hosts force-down h2') as string;
    expect(await ask(world, 'h2', {})).toMatchObject({ tenants: [{ evacuation: { kind: 'wait', sentence } }] });
  });

  test('no-more-are-tried-than-requested, and all are counted', async () => {
    const world = await InstancesWorld.of();
    await world.create({ count: 3 });
    await world.settle();
    const two = await ask(world, 'h2', {}, { query: { limit: 2 } });
    expect(two).toMatchObject({ count: 3, tenants: [{ id: 'web-1' }, { id: 'web-2' }] });
    expect(await ask(world, 'h2', {})).toMatchObject({ count: 3, tenants: { length: 3 } });
  });

  test('unknown-host, also for one of another site', async () => {
    const world = await startOne();
    expect(await ask(world, 'h9', {})).toBe('unknown-host');
    expect(await ask(world, 'h2', { site: 'edge' })).toBe('unknown-host');
  });
});
