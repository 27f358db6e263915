// The port to builders: a flavor's builder gets the request, an instance's builder its deletion and its verbs.
import { describe, expect, test } from 'vitest';
import type { Caller, RouteContext } from '../access/index.ts';
import { Fleet, idOf, put, Registry, type Change } from '../fleet/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import { operationsModel } from '../operations/index.ts';
import { createInstances, previewInstances } from './build/create.ts';
import { Builders, type Builder } from './builder.ts';
import { flavorRoutes } from './catalog/flavor-routes.ts';
import { deleteInstances } from './delete/request.ts';
import { hostBuilder } from './host-builder.ts';
import { INSTANCE_INVARIANTS } from './invariants.ts';
import { INSTANCE } from './model.ts';
import { moveInstances } from './move/move.ts';
import { createCommand, fixtureF, flavor, MODELS } from './reference-fixture.ts';
import { InstanceUses } from './instance-use.ts';
import { instanceRoutes } from './routes.ts';

const CALLS: string[] = [];

const OTHER: Builder = {
  name: 'other',
  buildsFlavor: ({ bareMetal }) => bareMetal !== undefined,
  requestProblem: (_fleet, { place }) =>
    place.group === undefined
      ? undefined
      : { kind: 'invalid', code: 'groups-refused', message: 'No groups here. Leave it out.', field: '/group' },
  begin: (_fleet, { operation }, { names, nics }) => {
    CALLS.push(`begin ${names.join(' ')} with ${nics.length} NICs`);
    return accept([], { operation, instances: names });
  },
  preview: (_fleet, _command, { names }) => ({ placed: names.map((name) => ({ name, host: 'elsewhere', pools: [] })) }),
  beginDeletion: (_fleet, { ids, operation }) => {
    CALLS.push(`delete ${ids.join(' ')}`);
    return accept([], { operation });
  },
  flavorProblem: ({ vcpus }) =>
    vcpus === 13 ? { kind: 'invalid', code: 'unlucky', message: 'Thirteen. Choose another number.' } : undefined,
  beginPower: (_fleet, { id, power, operation }) => {
    CALLS.push(`switch ${id} ${power}`);
    return accept([], { operation });
  },
  readStatus: (_fleet, id) => ({ state: `of ${id}`, power: 'on', epoch: 7, manager: 'm1' }),
  unsupported: { move: 'it stays where it is. Create another.' },
};

const BUILDERS = new Builders([OTHER, hostBuilder]);

function fleetWithBoth(): Fleet {
  const fleet = new Fleet(new Registry([operationsModel, ...MODELS]));
  fleet.apply(1, [...fixtureF(), flavor('special', { bareMetal: {} })]);
  const made = createInstances(fleet, createCommand('op-1', 5), BUILDERS);
  if (made.kind === 'refuse') throw new Error(made.refusal.message);
  fleet.apply(2, made.changes);
  const web = fleet.get(INSTANCE, idOf(INSTANCE, 'web'))!.doc;
  const { host: _, ...rest } = web;
  fleet.apply(3, [put(INSTANCE, idOf(INSTANCE, 'odd'), { ...rest, name: 'odd', builder: 'other', nics: [] })]);
  CALLS.length = 0;
  return fleet;
}

const SPECIAL = { name: 's', flavor: 'special' };
const DELETION = { operation: 'op-2' as never, by: 'ann', nowMs: 6, deadlineMs: 1000 };

const ROUTES = [
  ...instanceRoutes({ hasCredentials: () => true, builders: BUILDERS, uses: new InstanceUses([]) }),
  ...flavorRoutes(BUILDERS),
];
const ADMIN: Caller = { name: 'ann', role: 'admin' };
const WORLD = { clock: { nowMs: () => 7 }, ids: { next: () => 'op-3' } } as unknown as RouteContext;

function decide(path: string, fleet: Fleet, id: string, body: object = {}): Decision<unknown> {
  const route = ROUTES.find((one) => one.path === path && one.kind === 'write' && one.method === 'POST');
  const call = { params: { id }, query: {}, body, caller: ADMIN } as never;
  const outcome = route?.kind === 'write' ? route.handle(call, WORLD) : undefined;
  if (outcome === undefined || 'refusal' in outcome) throw new Error('there is no such route');
  return outcome.decide(fleet);
}

const decideMove = (fleet: Fleet, id: string) => decide('/api/v1/instances/:id/move', fleet, id);
const decidePower = (fleet: Fleet, id: string) => decide('/api/v1/instances/:id/power', fleet, id, { power: 'off' });

async function show(fleet: Fleet, id: string): Promise<object> {
  const route = ROUTES.find((one) => one.path === '/api/v1/instances/:id' && one.kind === 'read');
  const call = { params: { id }, query: {}, caller: ADMIN } as never;
  const world = { journal: { fleet }, redactorFor: () => undefined } as unknown as RouteContext;
  const shown = route?.kind === 'read' ? await route.handle(call, world) : undefined;
  if (shown?.kind !== 'answer') throw new Error('there is no such route');
  return JSON.parse(shown.text ?? '') as object;
}

describe('the builder of a flavor', () => {
  test('begins-what-was-validated', () => {
    const fleet = fleetWithBoth();
    const made = createInstances(fleet, createCommand('op-9', 5, SPECIAL), BUILDERS);
    expect(made).toMatchObject({ kind: 'accept', answer: { operation: 'op-9', instances: ['s'] } });
    expect(CALLS).toEqual(['begin s with 1 NICs']);
  });

  test('previews', () => {
    const preview = previewInstances(fleetWithBoth(), createCommand('op-9', 5, SPECIAL), BUILDERS);
    expect(preview).toMatchObject({ placed: [{ name: 's', host: 'elsewhere' }] });
  });

  test.each<[string, object, string]>([
    ['what-it-does-not-take', { place: { group: 'g' } }, 'groups-refused'],
    ['what-no-builder-takes, before-it-is-called', { name: 'web' }, 'name-taken'],
    ['an-unknown-flavor', { flavor: 'nothing' }, 'unknown-flavor'],
  ])('refuses: %s', (_name, facts, code) => {
    const fleet = fleetWithBoth();
    fleet.apply(4, [put({ name: 'group', check: () => undefined }, 'g' as never, GROUP)]);
    const command = createCommand('op-9', 5, { ...SPECIAL, ...facts });
    expect(createInstances(fleet, command, BUILDERS)).toMatchObject({ kind: 'refuse', refusal: { code } });
    expect(previewInstances(fleet, command, BUILDERS)).toMatchObject({ code });
    expect(CALLS).toEqual([]);
  });

  test('refuses-a-flavor-of-its-own', () => {
    const make = (facts: object) => {
      const body = { name: 'f', vcpus: 13, memoryMiB: 1, diskGiB: 0, ...facts };
      return decide('/api/v1/flavors', fleetWithBoth(), '', body);
    };
    expect(make({ bareMetal: {} })).toMatchObject({ refusal: { code: 'unlucky' } });
    expect(make({ bareMetal: {}, vcpus: 12 })).toMatchObject({ answer: { bareMetal: {} } });
    expect(make({})).toMatchObject({ kind: 'accept' });
  });

  test('on-hosts: refuses-image-properties, which-nothing-would-match', () => {
    const command = createCommand('op-9', 5, { name: 'x', imageProperties: { architecture: 'arm' } });
    expect(createInstances(fleetWithBoth(), command, BUILDERS)).toMatchObject({
      refusal: { code: 'image-properties-unsupported', field: '/imageProperties' },
    });
  });

  test('is-not-the-one-on-hosts: what that one takes is placed as ever', () => {
    const fleet = fleetWithBoth();
    expect(fleet.get(INSTANCE, idOf(INSTANCE, 'web'))?.doc).toMatchObject({ host: 'h2', state: 'building' });
    expect(fleet.get(INSTANCE, idOf(INSTANCE, 'web'))?.doc.builder).toBeUndefined();
  });
});

const GROUP = { name: 'g', project: 'default', policy: 'affinity', changedBy: 'x', changedAtMs: 0 };

describe('the builder of an instance', () => {
  test('deletes-it', () => {
    const fleet = fleetWithBoth();
    expect(deleteInstances(fleet, { ids: ['odd'], ...DELETION }, BUILDERS)).toMatchObject({ kind: 'accept' });
    expect(CALLS).toEqual(['delete odd']);
    deleteInstances(fleet, { ids: ['web'], ...DELETION }, BUILDERS);
    expect(CALLS).toEqual(['delete odd']);
  });

  test('refuses-the-verbs-that-it-lacks, and-no-others', () => {
    const fleet = fleetWithBoth();
    expect(decideMove(fleet, 'odd')).toEqual(
      refuse({
        kind: 'conflict',
        code: 'verb-unsupported',
        message: 'Instance "odd" cannot be moved: it stays where it is. Create another.',
        facts: { instance: 'odd', verb: 'move', builder: 'other' },
      }),
    );
    expect(BUILDERS.verbProblem(fleet, 'odd', 'shelve')).toBeUndefined();
    expect(decideMove(fleet, 'web')).toMatchObject({ refusal: { code: 'not-active' } });
    expect(decideMove(fleet, 'nobody')).toMatchObject({ refusal: { code: 'unknown-instance' } });
  });

  test('switches-it, and-says-what-it-knows-of-its-node', async () => {
    const fleet = fleetWithBoth();
    expect(decidePower(fleet, 'odd')).toMatchObject({ kind: 'accept', answer: { operation: 'op-3' } });
    expect(CALLS).toEqual(['switch odd off']);
    expect(decidePower(fleet, 'web')).toMatchObject({
      refusal: {
        code: 'verb-unsupported',
        message:
          'Instance "web" cannot be switched on or off: hosts keep their instances running. Shelve it with "muster instances shelve" if it is not needed for a while.',
      },
    });
    expect(await show(fleet, 'odd')).toMatchObject({ nodeStatus: { state: 'of odd', epoch: 7, manager: 'm1' } });
    expect(await show(fleet, 'web')).not.toHaveProperty('nodeStatus');
  });

  test('never: an instance is on a host and on a node, or where its builder does not build', () => {
    const fleet = fleetWithBoth();
    const [web, odd] = ['web', 'odd'].map((id) => fleet.get(INSTANCE, idOf(INSTANCE, id))!);
    const wrong = (changes: readonly Change[]): number => {
      const applied = fleet.apply(fleet.revision + 1, changes);
      return INSTANCE_INVARIANTS.filter(
        ({ check, name }) => name.includes('on a node') && check(applied, fleet).length > 0,
      ).length;
    };
    expect(wrong([put(INSTANCE, odd!.id, { ...odd!.doc, node: 'n1' })])).toBe(0);
    expect(wrong([put(INSTANCE, odd!.id, { ...odd!.doc, host: 'h1' })])).toBe(1);
    expect(wrong([put(INSTANCE, web!.id, { ...web!.doc, node: 'n1' })])).toBe(1);
  });

  test('never: the one on hosts moves or deletes what another built', () => {
    const fleet = fleetWithBoth();
    const odd = { ids: ['odd'], ...DELETION };
    expect(() => moveInstances(fleet, { kind: 'live', ...odd })).toThrow('"other" built it');
    expect(() => deleteInstances(fleet, odd)).toThrow('no builder "other"');
    expect(() => hostBuilder.beginDeletion(fleet, odd)).toThrow('"other" built it');
  });
});
