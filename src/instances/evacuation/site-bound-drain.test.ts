// Drains and moves requested by a site-bound caller: instances stay in that site, whoever continues the work and however often it is tried, until a
// caller who may write to other sites requests it.
import { describe, expect, test } from 'vitest';
import { idOf, put } from '../../fleet/index.ts';
import { findHost, HOST, startScaleIn } from '../../hosts/index.ts';
import { accept } from '../../journal/index.ts';
import { retryOperation } from '../../operations/index.ts';
import { SITE } from '../../sites/index.ts';
import { InstancesWorld } from '../instances-fixture.ts';
import { INSTANCE } from '../model.ts';
import { moveInstances } from '../move/move.ts';
import type { StoredInstance } from '../build/placement.ts';
import { rebuildInstances } from '../shelve-rebuild/rebuild.ts';
import { EVACUATORS, KINDS } from '../reference-fixture.ts';

const HOUR_MS = 3_600_000;
const HERE = 'central';
const OTHERS = ['h4', 'h5'];

/** An instance on h2, whose segment is also reached from two hosts of another site, and from none of its own. */
async function world(): Promise<InstancesWorld> {
  const made = await InstancesWorld.of();
  const away = OTHERS.map((name) => {
    const host = findHost(made.fleet, name);
    if (host === undefined) throw new Error('the fixture is another one');
    return put(HOST, host.id, { ...host.doc, site: 'far' });
  });
  const site = put(SITE, idOf(SITE, 'far'), { name: 'far', changedBy: 'x', changedAtMs: 0 });
  await made.commit(() => accept([site, ...away], null));
  await made.create({ count: 1, place: { site: HERE } });
  await made.settle();
  expect(made.instance('web')?.host).toBe('h2');
  // Requested without a site.
  const { doc } = made.fleet.get(INSTANCE, idOf(INSTANCE, 'web')) as StoredInstance;
  await made.commit(() => accept([put(INSTANCE, idOf(INSTANCE, 'web'), { ...doc, place: {} })], null));
  return made;
}

const commandBase = (of: InstancesWorld) => ({
  operation: of.operation(),
  by: 'ann',
  nowMs: of.nowMs,
  deadlineMs: HOUR_MS,
});

async function start(
  of: InstancesWorld,
  facts: { readonly site?: string; readonly drain?: boolean } = {},
): Promise<string> {
  const command = { hosts: ['h2'], drain: true, ...commandBase(of), ...facts };
  return (await of.commit((fleet) => startScaleIn(fleet, EVACUATORS, command))).operation ?? '';
}

async function bringHome(of: InstancesWorld, host: string): Promise<void> {
  const stored = findHost(of.fleet, host);
  if (stored !== undefined) await of.commit(() => accept([put(HOST, stored.id, { ...stored.doc, site: HERE })], null));
}

describe('a drain by a caller of one site', () => {
  test('keeps-instances-in-the-site, and says that no host of it fits', async () => {
    const of = await world();
    const operation = await start(of, { site: HERE });
    await of.settle();
    expect(of.instance('web')).toMatchObject({ host: 'h2', state: 'active' });
    expect(of.operationDoc(operation)).toMatchObject({ within: HERE, state: 'running' });
    expect(of.item(operation, 'h2')?.reason).toMatchObject({ code: 'no-valid-host' });
    await bringHome(of, 'h4');
    await of.settle();
    expect(of.instance('web')).toMatchObject({ host: 'h4' });
  });

  test('leaves-the-site-once-a-caller-starts-it-who-may-write-both', async () => {
    const of = await world();
    const bound = await start(of, { site: HERE });
    await of.settle();
    const again = await start(of, { site: HERE });
    expect(again).toBe(bound);
    const free = await start(of);
    expect(free).not.toBe(bound);
    await of.settle();
    expect(OTHERS).toContain(of.instance('web')?.host);
    expect(findHost(of.fleet, 'h2')?.doc.state).toBe('drained');
  });

  test('a-drain-that-may-leave-the-site-is-not-narrowed-by-a-caller-who-may-not', async () => {
    const of = await world();
    const free = await start(of);
    expect(await start(of, { site: HERE })).toBe(free);
    await of.settle();
    expect(OTHERS).toContain(of.instance('web')?.host);
  });

  test('one-that-was-to-move-nothing-is-made-to-move-inside-the-site-only', async () => {
    const of = await world();
    const idle = await start(of, { drain: false });
    const bound = await start(of, { site: HERE, drain: true });
    expect(bound).not.toBe(idle);
    await of.settle();
    expect(of.instance('web')?.host).toBe('h2');
  });
});

describe('a move by a caller of one site', () => {
  test('stays-inside, also when it is tried again', async () => {
    const of = await world();
    const command = { ids: ['web'], kind: 'live' as const, ...commandBase(of), within: HERE };
    const { operation } = await of.commit((fleet) => moveInstances(fleet, command));
    await of.settle();
    expect(of.operationDoc(operation)).toMatchObject({ state: 'failed', within: HERE });
    await of.commit((fleet) => retryOperation(fleet, { id: operation, kinds: KINDS, nowMs: of.nowMs }));
    await of.settle();
    expect(of.instance('web')?.host).toBe('h2');
  });

  test('what-another-caller-began-is-tried-again-inside-the-site-only', async () => {
    const of = await world();
    const { operation } = await of.commit((fleet) =>
      moveInstances(fleet, { ids: ['web'], kind: 'live', target: 'h1', ...commandBase(of) }),
    );
    await of.settle();
    expect(of.operationDoc(operation)?.state).toBe('failed');
    const retried = { id: operation, kinds: KINDS, nowMs: of.nowMs, site: HERE };
    await of.commit((fleet) => retryOperation(fleet, retried));
    expect(of.operationDoc(operation)).toMatchObject({ state: 'running', within: HERE });
  });

  test('a-rebuild-stays-inside-too', async () => {
    const of = await world();
    await of.forceDown('h2');
    await of.commit((fleet) => rebuildInstances(fleet, { ids: ['web'], ...commandBase(of), within: HERE }));
    await of.settle();
    expect(of.instance('web')?.host).toBe('h2');
    expect(of.instance('web')?.fault?.code).toBe('no-valid-host');
  });
});
