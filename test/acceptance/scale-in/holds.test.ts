// What lives inside instances leaves before they do: it is drained where it is, and holds its own instance and no other. A drain that is blocked
// uses up no budget of moves.
import { describe, expect, test } from 'vitest';
import { idOf, put, SETTING } from '../../../src/fleet/index.ts';
import { SCALE_IN } from '../../../src/hosts/index.ts';
import { ITEM } from '../../../src/operations/index.ts';
import { crew, crewState, programWithCrews, type BlockedCrews } from './crews-fixture.ts';
import { HttpApi } from './http-fixture.ts';
import { scaleInWorld, type ScaleInAcceptanceWorld } from './world-fixture.ts';

interface Held {
  readonly world: ScaleInAcceptanceWorld;
  readonly http: HttpApi;
  readonly blocked: BlockedCrews;
}

/** Host a has instances `app` and `db`, each with a crew, and `web` without; the crew of `db` does not go. One instance moves at a time. */
async function start(): Promise<Held> {
  const blocked: BlockedCrews = new Set(['db']);
  const world = await scaleInWorld({ program: programWithCrews(blocked) });
  for (const name of ['app', 'db', 'web']) await world.place(name, 'a');
  const value = { ...SCALE_IN.defaultValue, movesPerHostAtOnce: 1 };
  const doc = { value, changedBy: 'ann', changedAtMs: world.nowMs };
  await world.put(put(SETTING, idOf(SETTING, SCALE_IN.name), doc), crew('app', 'a'), crew('db', 'a'));
  return { world, http: await HttpApi.start(world), blocked };
}

interface PlannedLeave {
  readonly plan: string;
  readonly hosts: readonly { readonly tenants: readonly { readonly kind: string; readonly evacuation: object }[] }[];
  readonly interruptions: readonly object[];
  readonly estimate: { readonly assuming: readonly object[] };
}

const held = (id: string): object => ({
  kind: 'wait',
  reason: { code: 'crew-leaves-first', instance: id },
  sentence: `The crew of ${id} leaves before the instance does.`,
});

describe('what lives inside instances', () => {
  test('is-drained-by-the-plan, and the preview and the tenants of the host say so', async () => {
    const { world, http } = await start();
    const { status, body } = await http.post('/api/v1/scale-in/preview', { hosts: ['a'] });
    const planned = body as PlannedLeave;
    expect(status).toBe(200);
    expect(planned.hosts[0]?.tenants.filter(({ kind }) => kind !== 'service')).toEqual([
      { kind: 'crew', id: 'app', evacuation: { kind: 'drain' } },
      { kind: 'crew', id: 'db', evacuation: { kind: 'drain' } },
      { kind: 'instance', id: 'app', evacuation: held('app') },
      { kind: 'instance', id: 'db', evacuation: held('db') },
      { kind: 'instance', id: 'web', evacuation: { kind: 'move', how: 'live', to: 'b' } },
    ]);
    expect(planned.interruptions).toContainEqual({ kind: 'crew', by: 'drain', count: 2, interruption: 'restart' });
    expect(planned).toMatchObject({
      counts: { moves: 1, drains: 2, blocked: 2 },
      estimate: { durationMs: 2 * 60_000 + 20_000, moves: 1, drains: 2 },
    });
    expect(planned.estimate.assuming).toEqual([
      { kind: 'crews', moves: 0, drains: 2, eachMs: 60_000 },
      { kind: 'instances', moves: 1, eachMs: 20_000 },
    ]);
    const { plan } = planned;
    expect(world.preview('a').planHash).toBe(plan);
    const tenants = await http.get('/api/v1/hosts/a/tenants');
    expect((tenants.body as PlannedLeave['hosts'][number]).tenants).toEqual(planned.hosts[0]?.tenants);
    // The plan is the one that is started.
    expect(await http.post('/api/v1/scale-in/start', { hosts: ['a'], plan })).toMatchObject({ status: 202 });
  });

  test('holds-its-own-instance-and-no-other, and a blocked drain uses up no budget', async () => {
    const { world, http, blocked } = await start();
    const { operation = '' } = await world.start(['a']);
    await world.until('the others have moved', () =>
      ['app', 'web'].every((id) => world.instance(id).host !== 'a' && world.instance(id).state === 'active'),
    );
    await world.until('the drain says what it waits for', () => world.item(operation, 'a').state === 'waiting');
    await world.clock.pass(30_000);
    expect(world.instance('db')).toMatchObject({ host: 'a', state: 'active' });
    expect(crewState(world.fleet, 'db')).toBe('draining');
    expect(world.item(operation, 'a').reason).toEqual({ code: 'crew-leaves-first', instance: 'db' });
    expect((await http.get('/api/v1/scale-in')).body).toMatchObject({
      hosts: [{ host: 'a', state: 'draining', sentence: 'The crew of db leaves before the instance does.' }],
    });
    expect((await http.get('/api/v1/scale-in/blocked')).body).toMatchObject({
      blocked: [{ kind: 'instance', id: 'db', sentence: 'The crew of db leaves before the instance does.' }],
    });
    blocked.clear();
    await world.untilState('drained', 'a');
    expect(world.instance('db').host).not.toBe('a');
  });

  test('with-drains-alone-under-way-it-says-so', async () => {
    const { world } = await start();
    await world.remove('web');
    await world.settle();
    const { operation = '' } = await world.start(['a']);
    const reasons = (): unknown[] => world.versionsOf(ITEM.name, `${operation}.a`).map((doc) => doc?.['reason']);
    await world.until('app has moved', () => world.instance('app').host !== 'a');
    expect(reasons()).toContainEqual({ code: 'drains-under-way', host: 'a' });
  });
});
