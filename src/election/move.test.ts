// Operators' commands on services: every refusal by its code, moves to a host and to the best one, rebalancing, and fail-back.
import { describe, expect, test } from 'vitest';
import type { FleetReader, Refusal } from '../fleet/index.ts';
import type { Decision } from '../journal/index.ts';
import type { OperationId } from '../operations/index.ts';
import { designationEvacuator } from './evacuator.ts';
import { fitHost, LEAVING, portOn, routed, servedBy, service, ElectionWorld } from './election-fixture.ts';
import { SERVICES_IN_HANDOVER } from './model.ts';
import { editService, moveService, type MoveService } from './move.ts';
import { rebalanceServices } from './rebalance.ts';

const NAT = 'nat:r1';

const move =
  (world: ElectionWorld, facts: Partial<MoveService> = {}) =>
  (fleet: FleetReader): Decision<unknown> =>
    moveService(fleet, { id: NAT, ...world.commandContext(), ...facts });

describe('a move', () => {
  test('goes-to-the-host-that-is-named', async () => {
    const world = await servedBy('a', 'b', 'c');
    expect(await world.commit(move(world, { host: 'b' }))).toMatchObject({ to: 'b' });
    await world.settle();
    expect(world.shown()).toBe('nat:r1 b, subnet-route:s1 b');
    expect(service(world.fleet, NAT)?.why).toMatchObject({ cause: 'asked-for', chosen: 'b' });
    expect(world.wrong()).toEqual([]);
  });

  test('goes-to-the-best-of-the-others-when-none-is-named', async () => {
    const world = await servedBy('a', 'b', 'c');
    expect(await world.commit(move(world))).toMatchObject({ to: 'c' });
    await world.settle();
    expect(world.shown()).toBe('nat:r1 c, subnet-route:s1 b');
  });

  test('to-where-it-is-already-begins-nothing', async () => {
    const world = await servedBy('a', 'b');
    expect(await world.commit(move(world, { host: 'a' }))).toEqual({ to: 'a' });
    expect(world.operations()).toEqual([]);
  });

  test('stays-where-it-is-when-its-target-is-lost', async () => {
    const world = await servedBy('a', 'b', 'c');
    world.views.behind.add('b');
    await world.commit(move(world, { host: 'b' }));
    await world.pass();
    await world.silent('b');
    await world.settle();
    expect(service(world.fleet, NAT)?.designated?.host).toBe('a');
    expect(world.operations()[0]).toMatchObject({ state: 'failed', reason: { failedFor: 'target-unfit', host: 'b' } });
  });

  const refusals: readonly (readonly [
    string,
    (world: ElectionWorld) => Promise<unknown>,
    Partial<MoveService>,
    Partial<Refusal>,
  ])[] = [
    [
      'of-an-unknown-service',
      async () => undefined,
      { id: 'nat:none' },
      {
        kind: 'not-found',
        code: 'service-not-found',
        message: 'There is no service "nat:none". List them with "muster services list".',
      },
    ],
    [
      'to-an-unknown-host',
      async () => undefined,
      { host: 'nope' },
      { kind: 'not-found', code: 'unknown-host', field: '/host' },
    ],
    [
      'to-a-host-without-presence',
      (world) => world.put(fitHost('z')),
      { host: 'z' },
      {
        kind: 'conflict',
        code: 'not-a-candidate',
        message:
          'Host "z" cannot take nat:r1: it has no port of it. "muster services why nat:r1" names those that can.',
      },
    ],
    [
      'to-a-leaving-host',
      (world) => world.put(fitHost('b', LEAVING)),
      { host: 'b' },
      {
        code: 'not-a-candidate',
        message: 'Host "b" cannot take nat:r1: it is leaving. "muster services why nat:r1" names those that can.',
        facts: { host: 'b', because: 'tombstoned' },
      },
    ],
    ['with-nowhere-to-go', (world) => world.silent('b'), {}, { kind: 'conflict', code: 'no-candidate' }],
    [
      'while-elections-are-held',
      (world) => world.setting({ held: true }),
      {},
      { kind: 'conflict', code: 'elections-held' },
    ],
    [
      'of-what-is-not-served',
      async (world) => {
        await world.unplug('a-s1', 'b-s1');
        await world.settle();
      },
      {},
      { kind: 'conflict', code: 'not-designated' },
    ],
    [
      'of-what-is-being-handed-over',
      async (world) => world.commit(move(world)),
      {},
      { kind: 'conflict', code: 'handover-under-way' },
    ],
    [
      'of-what-has-its-connections-copied',
      async (world) => {
        await world.commit(move(world));
        await world.until('nat:r1', 'syncing');
      },
      {},
      { kind: 'conflict', code: 'handover-under-way' },
    ],
  ];

  test.each(refusals)('is-refused: %s', async (_name, prepare, facts, expected) => {
    const world = await servedBy('a', 'b');
    await prepare(world);
    const { revision } = world.fleet;
    expect(await world.refusal(move(world, facts))).toMatchObject(expected);
    expect(world.fleet.revision).toBe(revision);
  });
});

describe('an edit', () => {
  const edit = (id: string) => (fleet: FleetReader) =>
    editService(fleet, { id, edit: { exclusion: 'hard' }, by: 'ann', nowMs: 3 });

  test('changes-what-is-named-and-nothing-else-and-is-nothing-the-second-time', async () => {
    const world = await servedBy('a');
    const before = service(world.fleet, NAT);
    await world.commit(edit(NAT));
    expect(service(world.fleet, NAT)).toEqual({ ...before, exclusion: 'hard', changedBy: 'ann', changedAtMs: 3 });
    const { revision } = world.fleet;
    await world.commit(edit(NAT));
    expect(world.fleet.revision).toBe(revision);
  });

  test('of-an-unknown-service-is-refused', async () => {
    const world = await servedBy('a');
    expect(await world.refusal(edit('dhcp:none'))).toMatchObject({ code: 'service-not-found', kind: 'not-found' });
  });
});

describe('rebalancing', () => {
  const subnets = ['s1', 's2', 's3', 's4', 's5'];

  /** Six services, all at a; b and c come in after. */
  async function crowded(): Promise<ElectionWorld> {
    const world = await ElectionWorld.of(
      fitHost('a'),
      routed('r1', subnets),
      subnets.map((one) => portOn('a', one)),
    );
    await world.settle();
    await world.put(fitHost('b'), fitHost('c'), ...subnets.flatMap((one) => [portOn('b', one), portOn('c', one)]));
    await world.settle();
    return world;
  }

  const loads = (world: ElectionWorld): Record<string, number> => {
    const counts: Record<string, number> = {};
    for (const one of world.shown().split(', ')) {
      const at = one.split(' ')[1] ?? '';
      counts[at] = (counts[at] ?? 0) + 1;
    }
    return counts;
  };

  test('nothing-moves-by-itself-when-hosts-come-in', async () => {
    expect(loads(await crowded())).toEqual({ a: 6 });
  });

  test('is-done-with-the-fewest-moves-and-a-second-time-with-none', async () => {
    const world = await crowded();
    const { moves, more } = await world.commit((fleet) => rebalanceServices(fleet, world.commandContext()));
    expect(moves).toHaveLength(4);
    expect(more).toBe(false);
    await world.settle();
    expect(loads(world)).toEqual({ a: 2, b: 2, c: 2 });
    expect(service(world.fleet, moves[0]!.service)?.why?.cause).toBe('rebalance');
    expect(await world.commit((fleet) => rebalanceServices(fleet, world.commandContext()))).toEqual({
      moves: [],
      more: false,
    });
    expect(world.wrong()).toEqual([]);
  });

  test('goes-on-later-when-only-so-many-go-at-once', async () => {
    const world = await crowded();
    await world.setting({ handoversAtOnce: 3 });
    const first = await world.commit((fleet) => rebalanceServices(fleet, world.commandContext()));
    expect([first.moves.length, first.more]).toEqual([3, true]);
    const none = await world.commit((fleet) => rebalanceServices(fleet, world.commandContext()));
    expect([none.moves.length, none.more]).toEqual([0, true]);
    await world.settle();
    await world.commit((fleet) => rebalanceServices(fleet, world.commandContext()));
    await world.settle();
    expect(loads(world)).toEqual({ a: 2, b: 2, c: 2 });
  });

  test('heeds-base-weights-and-who-can', async () => {
    const world = await crowded();
    await world.put(fitHost('b', { baseWeight: 10 }), fitHost('c', { serviceVersion: 1 }));
    await world.commit((fleet) => rebalanceServices(fleet, world.commandContext()));
    await world.settle();
    expect(loads(world)).toEqual({ b: 6 });
  });

  test('is-refused-while-elections-are-held', async () => {
    const world = await crowded();
    await world.setting({ held: true });
    expect(await world.refusal((fleet) => rebalanceServices(fleet, world.commandContext()))).toMatchObject({
      code: 'elections-held',
    });
  });
});

describe('fail-back', () => {
  const failBack =
    (world: ElectionWorld) =>
    (fleet: FleetReader): Decision<unknown> => ({
      kind: 'accept',
      answer: null,
      ...{ changes: designationEvacuator.failBack?.(fleet, 'a', world.commandContext()) ?? [] },
    });

  async function startScaleIn(): Promise<ElectionWorld> {
    const world = await servedBy('a', 'b');
    await world.put(fitHost('a', LEAVING));
    await world.settle();
    expect(world.shown()).toBe('nat:r1 b, subnet-route:s1 b');
    return world;
  }

  test('start-then-recover-with-fail-back-is-where-it-was', async () => {
    const world = await startScaleIn();
    await world.edit('a', { state: 'recovering' });
    await world.commit(failBack(world));
    await world.pass();
    expect(world.open()).toEqual(['nat:r1 prepare waiting host-recovering']);
    await world.active('a');
    await world.settle();
    expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 b');
    expect(service(world.fleet, NAT)).toMatchObject({ why: { cause: 'fail-back' } });
    expect(service(world.fleet, NAT)?.cameFrom).toBeUndefined();
    expect(world.wrong()).toEqual([]);
  });

  test('without-asking-it-stays', async () => {
    const world = await startScaleIn();
    await world.edit('a', { state: 'recovering' });
    await world.active('a');
    await world.settle();
    expect(world.shown()).toBe('nat:r1 b, subnet-route:s1 b');
  });

  test('what-left-by-an-earlier-scale-in-does-not-come-back', async () => {
    const world = await startScaleIn();
    const leaving = { ...LEAVING.leaving, operation: 'op-later', atMs: world.nowMs };
    await world.edit('a', { state: 'recovering', leaving });
    await world.commit(failBack(world));
    await world.active('a');
    await world.settle();
    expect(world.shown()).toBe('nat:r1 b, subnet-route:s1 b');
  });

  describe('of more than may be handed over at once', () => {
    const back = 'nat:r1 a, nat:r2 a, nat:r3 a, subnet-route:s1 a, subnet-route:s2 a, subnet-route:s3 a';

    async function startManyRecovering(): Promise<ElectionWorld> {
      const world = await ElectionWorld.of(
        [fitHost('a', { baseWeight: 9 }), fitHost('b')],
        ['1', '2', '3'].flatMap((nth) => routed(`r${nth}`, [`s${nth}`])),
        ['a', 'b'].flatMap((name) => ['s1', 's2', 's3'].map((subnet) => portOn(name, subnet))),
      );
      await world.settle();
      expect(world.shown()).toBe(back);
      await world.put(fitHost('a', { baseWeight: 9, ...LEAVING }));
      await world.settle();
      await world.setting({ handoversAtOnce: 2 });
      await world.edit('a', { state: 'recovering' });
      await world.commit(failBack(world));
      return world;
    }

    test('all-come-back-and-never-more-at-once', async () => {
      const world = await startManyRecovering();
      let most = 0;
      world.journal.onCommit(() => {
        most = Math.max(most, world.fleet.countOf(SERVICES_IN_HANDOVER, 'under-way'));
      });
      expect(world.open()).toHaveLength(2);
      await world.active('a');
      await world.settle();
      expect(world.shown()).toBe(back);
      expect(most).toBe(2);
      expect(world.wrong()).toEqual([]);
    });

    test('those-that-wait-stay-when-the-host-cannot-take-them-after-all', async () => {
      const world = await startManyRecovering();
      await world.active('a');
      await world.edit('a', { serviceVersion: 1 });
      await world.settle();
      await world.edit('a', { serviceVersion: 4 });
      await world.settle();
      expect(world.shown()).toBe(back.replaceAll(' a', ' b'));
    });
  });

  test('what-has-no-presence-there-any-more-is-not-even-begun', async () => {
    const world = await startScaleIn();
    await world.unplug('a-s1');
    await world.edit('a', { state: 'recovering' });
    const operations = world.operations().length;
    await world.commit(failBack(world));
    expect(world.operations()).toHaveLength(operations);
  });

  test('its-operations-and-items-can-be-asked-for-however-long-the-names-are', async () => {
    const [host, subnet] = ['h'.repeat(63), 's'.repeat(63)];
    const world = await ElectionWorld.of([fitHost(host), fitHost('b', { baseWeight: -9 })], routed('r1', [subnet]), [
      portOn(host, subnet),
      portOn('b', subnet),
    ]);
    await world.settle();
    await world.put(fitHost(host, LEAVING));
    await world.settle();
    const operation = `op-${'0'.repeat(20)}.${host}.back` as OperationId;
    const changes = designationEvacuator.failBack?.(world.fleet, host, { ...world.commandContext(), operation }) ?? [];
    expect(changes.filter(({ kind }) => kind === 'item')).toHaveLength(2);
    for (const { id } of changes) expect(id.length).toBeLessThanOrEqual(200);
  });

  test('what-left-before-the-host-was-drained-again-comes-back-too', async () => {
    const world = await startScaleIn();
    await world.edit('a', { leaving: { ...LEAVING.leaving, operation: 'op-again' } });
    await world.edit('a', { state: 'recovering' });
    await world.commit(failBack(world));
    await world.active('a');
    await world.settle();
    expect(world.shown()).toBe('nat:r1 a, subnet-route:s1 b');
  });
});
