// The port to builders: a flavor's builder gets the request, an instance's builder its deletion and its verbs.
import { describe, expect, test } from 'vitest';
import type { Caller, RouteContext } from '../access/index.ts';
import { Fleet, idOf, put, Registry } from '../fleet/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import { operationsModel } from '../operations/index.ts';
import { instanceActionRoutes } from './action-routes.ts';
import { createInstances, previewInstances } from './build/create.ts';
import { Builders, type Builder } from './builder.ts';
import { deleteInstances } from './delete/request.ts';
import { hostBuilder } from './host-builder.ts';
import { INSTANCE } from './model.ts';
import { moveInstances } from './move/move.ts';
import { createCommand, fixtureF, flavor, MODELS } from './reference-fixture.ts';

const CALLS: string[] = [];

const OTHER: Builder = {
  name: 'other',
  buildsFlavor: ({ name }) => name === 'special',
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
  unsupported: { move: 'it stays where it is. Create another.' },
};

const BUILDERS = new Builders([OTHER, hostBuilder]);

function fleetWithBoth(): Fleet {
  const fleet = new Fleet(new Registry([operationsModel, ...MODELS]));
  fleet.apply(1, [...fixtureF(), flavor('special')]);
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

function decideMove(fleet: Fleet, id: string): Decision<unknown> {
  const move = instanceActionRoutes({ hasCredentials: () => true, builders: BUILDERS }).find(
    ({ path, kind }) => path.endsWith('/move') && kind === 'write',
  );
  const world = { clock: { nowMs: () => 7 }, ids: { next: () => 'op-3' } } as unknown as RouteContext;
  const caller: Caller = { name: 'ann', role: 'admin' };
  const call = { params: { id }, query: {}, body: {}, caller } as never;
  const asked = move?.kind === 'write' ? move.handle(call, world) : undefined;
  if (asked === undefined || 'refusal' in asked) throw new Error('there is no such route');
  return asked.decide(fleet);
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

  test('never: the one on hosts moves or deletes what another built', () => {
    const fleet = fleetWithBoth();
    const odd = { ids: ['odd'], ...DELETION };
    expect(() => moveInstances(fleet, { kind: 'live', ...odd })).toThrow('"other" built it');
    expect(() => deleteInstances(fleet, odd)).toThrow('no builder "other"');
    expect(() => hostBuilder.beginDeletion(fleet, odd)).toThrow('"other" built it');
  });
});
