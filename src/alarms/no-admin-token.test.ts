// The alarm for a fleet without a valid admin token: when a token ends by the clock, when another one is made, and on a journal.
import { describe, expect, test } from 'vitest';
import { accessModel, createToken, TOKEN, type NewToken, type Token } from '../access/index.ts';
import { Fleet, idOf, put, Registry, remove } from '../fleet/index.ts';
import { Journal } from '../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../journal/runtime.ts';
import { VirtualClock } from '../journal/virtual-clock-fixture.ts';
import { AdminTokenController } from './admin-token-controller.ts';
import { ALARM, alarmsModel } from './model.ts';
import { isFirstStartOver, planAdminAlarm } from './no-admin-token.ts';

const REGISTRY = (): Registry => new Registry([accessModel, alarmsModel]);
const ID = 'no-admin-token:fleet';

function token(name: string, more: Partial<Token> = {}): NewToken {
  const id = idOf(TOKEN, `tok-${name}`);
  return { id, name, role: 'admin', hash: 'a'.repeat(64), createdAtMs: 1, createdBy: 'test', ...more };
}

function fleetWith(...tokens: readonly NewToken[]): Fleet {
  const fleet = new Fleet(REGISTRY());
  fleet.finishLoad(0);
  for (const { id, ...doc } of tokens) fleet.apply(fleet.revision + 1, [put(TOKEN, id, doc)]);
  return fleet;
}

const EXPIRED = { expiresAtMs: 100 };

describe('an alarm that no valid admin token is left', () => {
  test.each<[string, readonly NewToken[], boolean]>([
    ['is-none-before-the-first-one', [], false],
    ['is-none-while-one-is-valid', [token('old', EXPIRED), token('new')], false],
    ['stands-when-the-only-one-has-expired', [token('old', EXPIRED)], true],
    ['stands-when-only-one-of-a-site-is-left', [token('old', EXPIRED), token('north', { site: 'north' })], true],
    ['stands-when-only-others-are-left', [token('old', EXPIRED), token('op', { role: 'operator' })], true],
    ['is-none-where-only-a-site-had-one', [token('north', { site: 'north' })], false],
  ])('%s', (_name, tokens, stands) => {
    const changes = planAdminAlarm(fleetWith(...tokens), 1000);
    expect(changes.map(({ id }) => id)).toEqual(stands ? [ID] : []);
  });

  test('stands-once, also-when-the-token-is-forgotten, and-goes-with-another-one', () => {
    const fleet = fleetWith(token('old', EXPIRED));
    fleet.apply(fleet.revision + 1, planAdminAlarm(fleet, 1000));
    expect(planAdminAlarm(fleet, 2000)).toEqual([]);
    fleet.apply(fleet.revision + 1, [remove(TOKEN, idOf(TOKEN, 'tok-old'))]);
    expect(planAdminAlarm(fleet, 2000)).toEqual([]);
    expect(isFirstStartOver(fleet, 2000)).toBe(true);
    const { id, ...doc } = token('new');
    fleet.apply(fleet.revision + 1, [put(TOKEN, id, doc)]);
    expect(planAdminAlarm(fleet, 2000)).toEqual([{ kind: 'alarm', id: ID, doc: null }]);
  });

  test('is-raised-and-cleared-by-the-lease-holder-as-time-passes', async () => {
    const clock = new VirtualClock();
    const store = new MemoryStore(new MemoryDisk({ journalId: 'j', nowMs: () => clock.nowMs() }));
    const ids = { next: (prefix: string) => `${prefix}-1`, secret: () => 's' };
    const journal = new Journal({ store, registry: REGISTRY(), clock, ids });
    const answer = await store.acquireLease({ name: 'fleet', holder: 's', url: 'u', ttlMs: 1e12 });
    await journal.open();
    await journal.lead({ lease: 'fleet', epoch: answer.lease?.epoch ?? 0 });
    const controller = new AdminTokenController({ journal, clock, log: SILENT_LOG });
    const create = (one: NewToken): Promise<unknown> =>
      journal.submit({ by: 'test', decide: (fleet) => createToken(fleet, one) });
    const alarms = (): string[] => [...journal.fleet.all(ALARM)].map(({ id }): string => id);
    const nowMs = clock.nowMs();
    await create(token('old', { createdAtMs: nowMs, expiresAtMs: nowMs + 60_000 }));
    await controller.reconcile();
    expect(alarms()).toEqual([]);
    await clock.pass(61_000);
    await controller.reconcile();
    expect(alarms()).toEqual([ID]);
    await create(token('new', { createdAtMs: clock.nowMs() }));
    await controller.reconcile();
    expect(alarms()).toEqual([]);
  });
});

const nothing = (): void => undefined;
const SILENT_LOG = { debug: nothing, info: nothing, warn: nothing, error: nothing };

test.each([
  ['not-before-the-first-one', [], false],
  ['with-one', [token('a')], true],
  ['also-when-it-has-expired', [token('a', EXPIRED)], true],
] as const)('the-first-start-is-over-%s', (_name, tokens, over) => {
  expect(isFirstStartOver(fleetWith(...tokens), 1000)).toBe(over);
});
