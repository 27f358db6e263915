// An instance that cannot leave its host: the preview, the list of the host's tenants, the list of what is blocked, the drain and a move that was
// requested by hand give the same reason for it.
import { describe, expect, test } from 'vitest';
import { createHash } from 'node:crypto';
import type { Answer, Caller, RefusalAnswer, Route, RouteContext } from '../../access/index.ts';
import { idOf, put } from '../../fleet/index.ts';
import { findHost, HOST, startScaleIn } from '../../hosts/index.ts';
import { scaleInRoutes } from '../../hosts/runtime.ts';
import { accept } from '../../journal/index.ts';
import { explainer } from '../../operations/index.ts';
import { SITE } from '../../sites/index.ts';
import type { InstancesWorld } from '../instances-fixture.ts';
import { GROUP, INSTANCE, type Instance } from '../model.ts';
import { move } from '../move/moves-fixture.ts';
import { EVACUATORS, flavor, hostF } from '../reference-fixture.ts';
import { createActive, openReferenceWorld } from './reference-world-fixture.ts';
import { instanceSentences } from '../sentences.ts';
import { tenantRoutes } from './tenant-routes.ts';

const HOUR_MS = 3_600_000;
const explain = explainer([instanceSentences]);
const scopes = { scopeOf: () => ({ siteOf: () => undefined, projectOf: () => undefined }) };
function* noImpact(): Generator<undefined, readonly object[]> {
  yield;
  return [];
}

const ROUTES = [
  ...tenantRoutes({ evacuators: EVACUATORS, explain }),
  ...scaleInRoutes({ evacuators: EVACUATORS, explain, scopes, touchedBy: noImpact } as never),
];

interface ReadBy {
  readonly site?: string;
  readonly limit?: number;
}

/** The reason of each blocked instance, by its id, with what is said of it. */
type Said = Readonly<Record<string, { readonly code: string; readonly sentence: string }>>;

async function ask(world: InstancesWorld, path: string, call: object, { site }: ReadBy): Promise<object> {
  const route = ROUTES.find((one) => one.path === path) as Route;
  const caller: Partial<Caller> = { name: 'ann', role: 'operator', ...(site !== undefined && { site }) };
  const submit: RouteContext['submit'] = (_, request) => world.journal.submit({ ...request, by: 'test' });
  const context = {
    ...{ journal: world.journal, clock: world.clock, submit, redactorFor: () => undefined },
    hash: (text: string) => createHash('sha256').update(text).digest('hex'),
  };
  const request = { params: {}, query: {}, body: {}, caller, ...call };
  const answered = (await route.handle(request as never, context as never)) as Answer | RefusalAnswer;
  if (answered.kind === 'refuse') throw new Error(answered.refusal.message);
  return answered.body as object;
}

interface Shown {
  readonly id: string;
  readonly reason?: { readonly code: string };
  readonly sentence?: string;
  readonly evacuation?: Omit<Shown, 'id'>;
}

function said(shown: readonly Shown[]): Said {
  return Object.fromEntries(
    shown.flatMap(({ id, evacuation, ...plain }) => {
      const { reason, sentence = '' } = evacuation ?? plain;
      return reason === undefined ? [] : [[id, { code: reason.code, sentence }]];
    }),
  );
}

async function saidByTenants(world: InstancesWorld, host: string, by: ReadBy = {}): Promise<Said> {
  const call = { params: { id: host }, query: { ...(by.limit !== undefined && { limit: by.limit }) } };
  return said(((await ask(world, '/api/v1/hosts/:id/tenants', call, by)) as { tenants: Shown[] }).tenants);
}

async function saidByPreview(world: InstancesWorld, host: string, by: ReadBy = {}): Promise<Said> {
  const body = { hosts: [host] };
  return said(((await ask(world, '/api/v1/scale-in/preview', { body }, by)) as { blocked: Shown[] }).blocked);
}

async function saidByStatus(world: InstancesWorld, host: string, by: ReadBy = {}): Promise<Said> {
  const query = { host };
  return said(((await ask(world, '/api/v1/scale-in/blocked', { query }, by)) as { blocked: Shown[] }).blocked);
}

async function start(world: InstancesWorld, hosts: readonly string[], site?: string): Promise<string> {
  const how = { operation: world.operation(), by: 'ann', nowMs: world.nowMs, deadlineMs: 4 * HOUR_MS };
  const command = { hosts, drain: true, ...how, ...(site !== undefined && { site }) };
  return (await world.commit((fleet) => startScaleIn(fleet, EVACUATORS, command))).operation ?? '';
}

const BEYOND_REACH = [hostF('h4', 200, 'seg2'), hostF('h5', 100, 'seg2')];
const LARGE = flavor('small', { memoryMiB: 60 * 1024 });
const AFFINITY = { name: 'kin', project: 'default', policy: 'affinity' as const, changedBy: 'x', changedAtMs: 0 };

/** Instances on h2 that cannot leave it, and part of the sentence that says why. */
const BLOCKED: readonly (readonly [name: string, make: () => Promise<InstancesWorld>, why: string])[] = [
  [
    'its-address-is-in-a-segment-that-no-other-host-reaches',
    async () => {
      const world = await openReferenceWorld(...BEYOND_REACH);
      await createActive(world, 'web');
      return world;
    },
    '4 of 4 hosts: out of reach of segment seg0 of network n, which address 10.0.0.2 is in.',
  ],
  [
    'it-is-too-large',
    async () => {
      const world = await openReferenceWorld(
        LARGE,
        hostF('h2', 900, 'seg0'),
        hostF('h4', 30, 'seg0'),
        hostF('h5', 20, 'seg0'),
      );
      await createActive(world, 'web');
      return world;
    },
    'too little memory left: 61440 MiB requested',
  ],
  [
    'its-group-stays-together',
    async () => {
      const world = await openReferenceWorld(put(GROUP, idOf(GROUP, 'kin'), AFFINITY));
      for (const name of ['web', 'web-too']) await createActive(world, name, { place: { group: 'kin' } });
      return world;
    },
    'server group kin (affinity)',
  ],
  [
    'its-host-is-silent',
    async () => {
      const world = await openReferenceWorld();
      await createActive(world, 'web');
      await world.disconnectHost('h2');
      return world;
    },
    'force-down',
  ],
];

describe('an instance that cannot leave', () => {
  test.each(BLOCKED)('%s: preview and tenants say why, before anything is started', async (_name, make, why) => {
    const world = await make();
    const { web } = await saidByTenants(world, 'h2');
    expect(web?.sentence).toContain(why);
    expect((await saidByPreview(world, 'h2'))['web']).toEqual(web);
  });

  test.each(BLOCKED)(
    '%s: preview, tenants, status and the drain say the same once its host leaves',
    async (_name, make, why) => {
      const world = await make();
      const operation = await start(world, ['h2']);
      for (let tick = 0; tick < 5; tick += 1) await world.tick();
      expect(world.instance('web')?.host).toBe('h2');
      const blocked = await saidByStatus(world, 'h2');
      expect(blocked['web']?.sentence).toContain(why);
      expect(await saidByTenants(world, 'h2')).toEqual(blocked);
      expect(await saidByPreview(world, 'h2')).toEqual(blocked);
      const waits = world.item(operation, 'h2')?.reason;
      // For the whole host, when all of it waits for the same.
      expect(waits?.code === 'host-down' ? 'host-silent' : waits?.code).toBe(blocked['web']?.code);
    },
  );

  test.each(BLOCKED.slice(0, 2))('%s: a requested move fails for the same reason', async (_name, make, why) => {
    const world = await make();
    await move(world, { ids: ['web'] });
    await world.settle();
    expect(world.instance('web')?.fault).toMatchObject({ code: 'no-valid-host' });
    expect(world.instance('web')?.fault?.message).toContain(why);
  });

  test('of-which-a-move-has-failed: all of what was found then is said, however long', async () => {
    const world = await openReferenceWorld();
    await createActive(world, 'web');
    await start(world, ['h2']);
    const long = `Its ${'very '.repeat(100)}last filter removed 1 of 1 hosts.`;
    const fault = { code: 'no-valid-host', message: long, atMs: world.nowMs };
    const doc: Instance = {
      ...(world.instance('web') as Instance),
      fault,
      move: { operation: 'x', kind: 'live', from: 'h2', tries: [] },
    };
    await world.commit(() => accept([put(INSTANCE, idOf(INSTANCE, 'web'), doc)], null));
    const blocked = await saidByStatus(world, 'h2');
    expect(blocked['web']).toMatchObject({ code: 'move-failed' });
    expect(blocked['web']?.sentence).toContain('last filter removed 1 of 1 hosts.');
    expect(await saidByTenants(world, 'h2')).toEqual(blocked);
    expect(await saidByPreview(world, 'h2')).toEqual(blocked);
  });
});

describe('a place that another drain will take', () => {
  /** Each of two leaving hosts has a large instance, and one of the others has room for one of them. */
  async function crowded(): Promise<InstancesWorld> {
    const world = await openReferenceWorld(
      ...[LARGE, hostF('h2', 70, 'seg0'), hostF('h3', 70, 'seg0'), hostF('h4', 70, 'seg0'), hostF('h5', 20, 'seg0')],
    );
    await createActive(world, 'one', { place: { onlyHost: 'h2' } });
    await createActive(world, 'two', { place: { onlyHost: 'h3' } });
    for (const id of ['one', 'two']) {
      const doc: Instance = { ...(world.instance(id) as Instance), place: {} };
      await world.commit(() => accept([put(INSTANCE, idOf(INSTANCE, id), doc)], null));
    }
    return world;
  }

  test('is-not-free-for-the-tenants-of-a-host-that-leaves-too, whoever reads which', async () => {
    const world = await crowded();
    await start(world, ['h2', 'h3']);
    expect(await saidByStatus(world, 'h2')).toEqual({});
    expect(await saidByTenants(world, 'h2')).toEqual({});
    expect(await saidByPreview(world, 'h2')).toEqual({});
    const blocked = await saidByStatus(world, 'h3');
    expect(blocked['two']).toMatchObject({ code: 'no-valid-host' });
    expect(await saidByTenants(world, 'h3')).toEqual(blocked);
    expect(await saidByPreview(world, 'h3')).toEqual(blocked);
  });

  test('nor-for-those-of-a-host-whose-drain-is-only-considered', async () => {
    const world = await crowded();
    expect(await saidByPreview(world, 'h3')).toEqual({});
    await start(world, ['h2']);
    expect((await saidByPreview(world, 'h3'))['two']).toMatchObject({ code: 'no-valid-host' });
    expect((await saidByTenants(world, 'h3'))['two']).toMatchObject({ code: 'no-valid-host' });
    expect(findHost(world.fleet, 'h3')?.doc.state).toBe('active');
  });

  test('a-short-list-has-the-same-reasons-as-a-long-one', async () => {
    const world = await openReferenceWorld(
      ...[LARGE, hostF('h2', 900, 'seg0'), hostF('h4', 70, 'seg0'), hostF('h5', 70, 'seg0')],
    );
    for (const name of ['a', 'b', 'c', 'd']) await createActive(world, name);
    const all = await saidByTenants(world, 'h2');
    expect(Object.keys(all)).toEqual(['c', 'd']);
    const { c } = await saidByTenants(world, 'h2', { limit: 3 });
    expect(c).toEqual(all['c']);
  });
});

describe('the site that a drain stays in', () => {
  /** Both other hosts that fit are elsewhere. */
  async function twoSites(): Promise<InstancesWorld> {
    const world = await openReferenceWorld();
    await createActive(world, 'web');
    const far = put(SITE, idOf(SITE, 'far'), { name: 'far', changedBy: 'x', changedAtMs: 0 });
    const away = ['h3', 'h4', 'h5'].flatMap((name) => {
      const host = findHost(world.fleet, name);
      return host === undefined ? [] : [put(HOST, host.id, { ...host.doc, site: 'far' })];
    });
    await world.commit(() => accept([far, ...away], null));
    return world;
  }

  test('is-that-of-whoever-started-it, also for a reader who may see more', async () => {
    const world = await twoSites();
    await start(world, ['h2'], 'central');
    await world.tick();
    const blocked = await saidByStatus(world, 'h2');
    expect(blocked['web']?.sentence).toContain('Site central');
    expect(await saidByTenants(world, 'h2')).toEqual(blocked);
    for (const look of [saidByStatus, saidByTenants, saidByPreview])
      expect(await look(world, 'h2', { site: 'central' })).toEqual(blocked);
    // Started by a caller of all sites, it may leave this one.
    expect(await saidByPreview(world, 'h2')).toEqual({});
  });

  test('is-not-what-a-reader-may-see: the reasons for a reader of one site count the hosts of that site alone', async () => {
    const world = await twoSites();
    for (const host of ['h4', 'h5']) await world.change(host, (doc) => ({ ...doc, physicalNetworks: [] }));
    await start(world, ['h2']);
    const blocked = await saidByStatus(world, 'h2', { site: 'central' });
    expect(blocked['web']?.sentence).toContain('Site central has 2 hosts.');
    expect(await saidByTenants(world, 'h2', { site: 'central' })).toEqual(blocked);
    expect(await saidByPreview(world, 'h2', { site: 'central' })).toEqual(blocked);
    expect((await saidByStatus(world, 'h2'))['web']?.sentence).toContain(' of 5 hosts');
  });

  test('is-not-that-of-a-reader-who-may-see-less', async () => {
    const world = await twoSites();
    await start(world, ['h2']);
    for (const look of [saidByStatus, saidByTenants, saidByPreview])
      expect(await look(world, 'h2', { site: 'central' })).toEqual({});
    await world.settle();
    expect(world.instance('web')?.host).not.toBe('h2');
  });
});
