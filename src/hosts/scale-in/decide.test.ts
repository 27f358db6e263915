// Start, end and recover as decisions: the verb table, names, evidence, and that a repeated request changes nothing.
import { describe, expect, test } from 'vitest';
import { clearForceDown, joinHosts } from '../decide.ts';
import { HOST_STATES, type HostState } from '../model.ts';
import type { HostResult } from './answer.ts';
import { guests, hash, hostIn, activeHosts, posts, ScaleInWorld } from './scale-in-fixture.ts';
import { VERBS, type ScaleInVerb } from './verb-table.ts';

function ask(world: ScaleInWorld, verb: ScaleInVerb, hosts: readonly string[]) {
  if (verb === 'start') return world.starting(hosts);
  return verb === 'end' ? world.ending(hosts) : world.recovering(hosts);
}

/** The answer for a host, and its state afterwards. */
async function answered(state: HostState, verb: ScaleInVerb): Promise<string> {
  const connection = { state: 'down' as const, sinceMs: 0 };
  const world = await ScaleInWorld.of(...activeHosts('c9'), hostIn('c1', state, { connection }));
  const outcome = await world.journal.submit({ by: 'test', decide: ask(world, verb, ['c1']) });
  const hosts = outcome.kind === 'refused' ? outcome.refusal.facts?.['hosts'] : outcome.answer.hosts;
  const [one] = hosts as readonly HostResult[];
  const why = one?.reason === undefined ? '' : ` (${one.reason.code})`;
  expect(world.violations).toEqual([]);
  return `${one?.result}${why}, ${world.states('c1')}`;
}

describe('the table', () => {
  // Nothing is open for them here: the work of a lost operation is taken up again.
  test('every-verb-in-every-state', async () => {
    const lines: string[] = [];
    for (const state of HOST_STATES) {
      for (const verb of VERBS) lines.push(`${verb} ${state}: ${await answered(state, verb)}`);
    }
    expect(lines).toMatchInlineSnapshot(`
      [
        "start joining: wrong-state (still-joining), c1 joining",
        "end joining: accepted, c1 gone",
        "recover joining: unchanged, c1 joining",
        "start active: accepted, c1 draining",
        "end active: wrong-state (in-service), c1 active",
        "recover active: unchanged, c1 active",
        "start draining: accepted, c1 draining",
        "end draining: blocked (not-drained), c1 draining",
        "recover draining: accepted, c1 recovering",
        "start drained: unchanged, c1 drained",
        "end drained: accepted, c1 finalizing",
        "recover drained: accepted, c1 recovering",
        "start finalizing: wrong-state (past-return), c1 finalizing",
        "end finalizing: accepted, c1 finalizing",
        "recover finalizing: wrong-state (past-return), c1 finalizing",
        "start removed: wrong-state (re-admit-first), c1 removed",
        "end removed: unchanged, c1 removed",
        "recover removed: wrong-state (re-admit-first), c1 removed",
        "start recovering: accepted, c1 draining",
        "end recovering: wrong-state (coming-back), c1 recovering",
        "recover recovering: accepted, c1 recovering",
      ]
    `);
  });
});

describe('start', () => {
  test('tombstones-all-of-them-in-one-commit, with one operation', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2', 'c3'));
    const before = world.fleet.revision;
    const answer = await world.commit(world.starting(['c2', 'c1', 'c2']));
    expect(world.fleet.revision).toBe(before + 1);
    expect(world.states('c1', 'c2', 'c3')).toBe('c1 draining, c2 draining, c3 active');
    expect(answer.hosts.map(({ host, result, operation }) => [host, result, operation])).toEqual([
      ['c1', 'accepted', answer.operation],
      ['c2', 'accepted', answer.operation],
    ]);
    expect(world.host('c1')?.leaving).toEqual({ operation: answer.operation, drain: true, by: 'ann', atMs: 1_000_000 });
  });

  test('one-bad-name-refuses-all, and every bad name is listed', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1'), hostIn('c2', 'joining'), hostIn('c3', 'removed'));
    const refusal = await world.refusal(world.starting(['c1', 'x1', 'c2', 'c3', 'x2']));
    expect(refusal).toMatchObject({ kind: 'not-found', code: 'unknown-host', field: '/hosts' });
    expect(refusal.message).toMatchInlineSnapshot(
      `"These hosts cannot be taken out of service: c2: in the wrong state (still-joining), c3: in the wrong state (re-admit-first), x1: unknown, x2: unknown. Nothing was changed. The sentence of each says what to do."`,
    );
    expect(refusal.facts?.['hosts']).toMatchObject([
      { host: 'c2', result: 'wrong-state', reason: { code: 'still-joining' } },
      { host: 'c3', result: 'wrong-state', reason: { code: 're-admit-first' } },
      { host: 'x1', result: 'unknown' },
      { host: 'x2', result: 'unknown' },
    ]);
    expect(world.states('c1')).toBe('c1 active');
  });

  test('wrong-states-alone-are-a-conflict', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1'), hostIn('c2', 'finalizing'));
    expect(await world.refusal(world.starting(['c1', 'c2']))).toMatchObject({ kind: 'conflict', code: 'wrong-state' });
  });

  test('hosts-of-another-site-are-unknown', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1'));
    expect(await world.refusal(world.starting(['c1'], { site: 'edge' }))).toMatchObject({ code: 'unknown-host' });
  });

  test('any-form-of-a-name, and two forms of one host count once', async () => {
    const identity = { datapathId: '00000000000000ff', systemId: 'sys-1' };
    const world = await ScaleInWorld.of(...activeHosts('c9'), hostIn('c1', 'active', { switch: identity }));
    const { hosts } = await world.commit(world.starting(['openflow:255', 'sys-1', 'c1']));
    expect(hosts).toMatchObject([{ host: 'openflow:255', name: 'c1', result: 'accepted' }]);
  });

  test('an-id-that-several-hosts-have-is-refused-with-their-names', async () => {
    const both = { switch: { systemId: 'twin' } };
    const world = await ScaleInWorld.of(hostIn('c1', 'active', both), hostIn('c2', 'active', both));
    const refusal = await world.refusal(world.starting(['twin']));
    expect(refusal).toMatchObject({ code: 'unknown-host', facts: { hosts: [{ reason: { code: 'ambiguous-host' } }] } });
    expect(refusal.message).toContain('twin: an id of c1 and c2. Nothing was changed.');
    expect(world.states('c1', 'c2')).toBe('c1 active, c2 active');
  });

  test('a-repeated-request-answers-the-same-operation, and nothing is committed', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2', 'c9'), guests.put('g1', { host: 'c1' }));
    world.driver.held = true;
    const first = await world.commit(world.starting(['c1', 'c2']));
    await world.tick();
    const { revision } = world.fleet;
    const again = await world.commit(world.starting(['c2', 'c1']));
    expect(world.fleet.revision).toBe(revision);
    expect(again.operation).toBe(first.operation);
    expect(again.hosts.map(({ result }) => result)).toEqual(['unchanged', 'unchanged']);
  });

  test('hosts-that-leave-already-keep-their-operation, others get a new one', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2', 'c9'));
    const first = await world.commit(world.starting(['c1']));
    const second = await world.commit(world.starting(['c1', 'c2']));
    expect(second.operation).not.toBe(first.operation);
    expect(second.hosts.map(({ result, operation }) => [result, operation])).toEqual([
      ['unchanged', first.operation],
      ['accepted', second.operation],
    ]);
  });

  test('a-drain-that-was-not-asked-for-can-be-asked-for-later', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c9'), guests.put('g1', { host: 'c1' }));
    const { operation } = await world.commit(world.starting(['c1'], { drain: false }));
    await world.settle();
    expect(world.open()).toEqual([`${operation}.c1 empty waiting (left-to-operator)`]);
    const again = await world.commit(world.starting(['c1']));
    expect(again).toMatchObject({ operation, hosts: [{ result: 'accepted' }] });
    await world.settle();
    expect(world.states('c1')).toBe('c1 drained');
  });

  test('held-to-a-plan-that-is-another-by-now-it-is-refused', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c9'));
    const plan = { plan: '0'.repeat(64), hash };
    expect(await world.refusal(world.starting(['c1'], { plan }))).toMatchObject({ kind: 'conflict' });
    expect(world.states('c1')).toBe('c1 active');
  });

  test('a-host-that-is-being-brought-back-leaves-again', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c9'));
    await world.commit(world.starting(['c1']));
    world.views.behind.add('c1');
    const back = await world.commit(world.recovering(['c1']));
    await world.tick();
    await world.commit(world.starting(['c1']));
    await world.settle();
    expect(world.states('c1')).toBe('c1 drained');
    expect(world.item(back.operation ?? '', 'c1')?.state).toBe('cancelled');
    expect(world.open()).toEqual([]);
    expect(world.violations).toEqual([]);
  });
});

describe('end', () => {
  test('an-active, a-populated and a-connected-host-are-each-refused-with-their-own-reason', async () => {
    const world = await ScaleInWorld.of(
      ...activeHosts('c1'),
      hostIn('c2', 'draining'),
      hostIn('c3', 'drained'),
      guests.put('g1', { host: 'c2' }),
    );
    const refusal = await world.refusal(world.ending(['c1', 'c2', 'c3']));
    expect(refusal).toMatchObject({ kind: 'conflict', code: 'wrong-state' });
    expect(refusal.facts?.['hosts']).toMatchObject([
      { host: 'c1', result: 'wrong-state', reason: { code: 'in-service' } },
      {
        host: 'c2',
        result: 'blocked',
        blockers: [
          { code: 'lives-here', kind: 'guest', tenant: 'g1' },
          { code: 'still-connected', connection: 'up' },
        ],
      },
      { host: 'c3', result: 'blocked', blockers: [{ code: 'still-connected' }] },
    ]);
    expect(world.states('c1', 'c2', 'c3')).toBe('c1 active, c2 draining, c3 drained');
  });

  test('each-on-its-own: unknown, ready and unready', async () => {
    const down = { connection: { state: 'down' as const, sinceMs: 0 } };
    const world = await ScaleInWorld.of(
      ...activeHosts('c9'),
      hostIn('a', 'drained', down),
      hostIn('c', 'draining', down),
    );
    await world.commit(() => ({ kind: 'accept', changes: [guests.put('g1', { host: 'c' })], answer: null }));
    const { hosts } = await world.commit(world.ending(['x', 'c', 'a']));
    expect(hosts.map(({ host, result }) => `${host} ${result}`)).toEqual(['a accepted', 'c blocked', 'x unknown']);
    await world.settle();
    expect(world.states('a', 'c')).toBe('a removed, c draining');
    expect(world.violations).toEqual([]);
  });

  test('blockers-beyond-a-hundred-are-counted-not-named', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c9'), hostIn('c1', 'draining'));
    const many = Array.from({ length: 130 }, (_, nth) => guests.put(`g${nth}`, { host: 'c1' }));
    await world.commit(() => ({ kind: 'accept', changes: many, answer: null }));
    const { facts } = await world.refusal(world.ending(['c1'], { disconnect: true }));
    const [one] = (facts?.['hosts'] ?? []) as readonly HostResult[];
    expect(one?.blockers).toHaveLength(101);
    expect(one?.blockers?.at(-1)).toEqual({ code: 'more-live-here', host: 'c1', shown: 100 });
  });

  test('a-service-without-another-candidate-is-no-blocker, and ends with the host', async () => {
    const down = { connection: { state: 'down' as const, sinceMs: 0 } };
    const world = await ScaleInWorld.of(
      ...activeHosts('c9'),
      hostIn('c1', 'drained', down),
      posts.put('p1', { host: 'c1', presence: ['c1'] }),
    );
    await world.commit(world.ending(['c1']));
    await world.settle();
    expect(world.states('c1')).toBe('c1 removed');
    expect(posts.on(world.fleet, 'c1')).toEqual([]);
    expect(world.violations).toEqual([]);
  });

  test('a-join-is-cancelled, and its operation with it', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c9'));
    const operation = world.operation();
    const join = { hosts: [{ name: 'c1' }], operation, by: 'ann', nowMs: world.nowMs, deadlineMs: 3_600_000 };
    await world.commit((fleet) => joinHosts(fleet, join));
    expect(await world.commit(world.ending(['c1']))).toMatchObject({ hosts: [{ result: 'accepted' }] });
    expect(world.states('c1')).toBe('c1 gone');
    await world.settle();
    expect(world.operationState(operation)).toBe('cancelled');
    expect(world.violations).toEqual([]);
  });

  test('a-removed-host-is-unchanged, and so is one that is finalizing', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c9'), hostIn('c1', 'removed'), hostIn('c2', 'finalizing'));
    const { operation } = await world.commit(world.ending(['c1', 'c2']));
    expect(operation).toBeDefined();
    const { revision } = world.fleet;
    expect(await world.commit(world.ending(['c1', 'c2']))).toMatchObject({
      hosts: [{ result: 'unchanged' }, { result: 'unchanged' }],
    });
    expect(world.fleet.revision).toBe(revision);
  });

  test('a-suspect-host-counts-as-connected, a forced-down one does not', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c9'), hostIn('c1', 'drained'));
    await world.connect('c1', 'suspect');
    expect(await world.refusal(world.ending(['c1']))).toMatchObject({ code: 'blocked' });
    await world.edit('c1', { forcedDown: { reason: 'off', by: 'ann', atMs: 0 } });
    expect(await world.commit(world.ending(['c1']))).toMatchObject({ hosts: [{ result: 'accepted' }] });
  });
});

describe('recover', () => {
  test('each-on-its-own, and a refusal only when none was accepted', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c9'), hostIn('c1', 'finalizing'), hostIn('c2', 'draining'));
    expect(await world.refusal(world.recovering(['c1', 'x']))).toMatchObject({ code: 'unknown-host' });
    const { hosts } = await world.commit(world.recovering(['c2', 'c1', 'x']));
    expect(hosts.map(({ host, result }) => `${host} ${result}`)).toEqual([
      'c1 wrong-state',
      'c2 accepted',
      'x unknown',
    ]);
  });

  test('asked-again-it-is-the-same-operation', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c9'), hostIn('c1', 'draining'));
    world.views.behind.add('c1');
    const first = await world.commit(world.recovering(['c1']));
    const { revision } = world.fleet;
    expect(await world.commit(world.recovering(['c1']))).toEqual({
      operation: first.operation,
      hosts: [{ host: 'c1', name: 'c1', result: 'unchanged', operation: first.operation }],
    });
    expect(world.fleet.revision).toBe(revision);
  });

  test('not-from-quarantine', async () => {
    const quarantined = { because: 'operator-fenced' as const, atMs: 0 };
    const world = await ScaleInWorld.of(...activeHosts('c9'), hostIn('c1', 'draining', { quarantined }));
    const { facts } = await world.refusal(world.recovering(['c1']));
    expect(facts?.['hosts']).toMatchObject([{ result: 'wrong-state', reason: { code: 'quarantined' } }]);
  });

  test('an-operation-that-loses-its-last-host-is-cancelled, one that keeps some is not', async () => {
    const world = await ScaleInWorld.of(...activeHosts('c1', 'c2', 'c9'), guests.put('g1', { host: 'c1' }));
    world.driver.held = true;
    const both = await world.commit(world.starting(['c1', 'c2']));
    await world.tick();
    await world.commit(world.recovering(['c1']));
    world.driver.held = false;
    await world.settle();
    expect(world.operationState(both.operation)).toBe('succeeded');
    const alone = await world.commit(world.starting(['c1']));
    await world.commit(world.recovering(['c1']));
    await world.settle();
    expect(world.operationState(alone.operation)).toBe('cancelled');
    expect(world.states('c1', 'c2')).toBe('c1 active, c2 drained');
  });
});

test('never: a host is trusted again because it was recovered and drained once more', async () => {
  const leaving = { operation: 'op-x', drain: true, by: 'ann', atMs: 0, rebuilt: true };
  const off = { forcedDown: { reason: 'off', by: 'ann', atMs: 1 }, connection: { state: 'down' as const, sinceMs: 1 } };
  const world = await ScaleInWorld.of(...activeHosts('c2'), hostIn('c1', 'draining', { ...off, leaving }));
  await world.commit(world.recovering(['c1']));
  await world.commit(world.starting(['c1']));
  await world.commit((fleet) => clearForceDown(fleet, { id: 'c1', by: 'ann', nowMs: world.nowMs }));
  expect(world.host('c1')).toMatchObject({ leaving: { rebuilt: true }, quarantined: { because: 'operator-fenced' } });
});
