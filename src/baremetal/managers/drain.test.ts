import { describe, expect, test } from 'vitest';
import { idOf, put, type Change, type Fleet, type FleetReader } from '../../fleet/index.ts';
import { accept } from '../../journal/index.ts';
import {
  cancelOperation,
  ITEM,
  OPERATION,
  operationsModel,
  record,
  recordStep,
  type OperationId,
} from '../../operations/index.ts';
import { torture } from '../../operations/torture.ts';
import type { TortureSubject } from '../../operations/torture-world.ts';
import { MANAGER, NODE, type Manager } from '../model.ts';
import { acquireNodes } from './acquire.ts';
import { drainManager, managerDrainKind, undrainManager } from './drain.ts';
import { MANAGED_NODES } from './managed-nodes.ts';
import { DRAINING, KINDS, MODELS, newFleet, putManager, putOwned, putReserved } from './managers-fixture.ts';

const managerOf = (fleet: FleetReader, name = 'm1'): Manager | undefined =>
  fleet.get(MANAGER, idOf(MANAGER, name))?.doc;
const nodesOf = (fleet: FleetReader, name: string): number => fleet.projection(MANAGED_NODES).countOf(name);

/** What the other managers do: each takes two nodes at a time. */
const takers: TortureSubject['world'] = async (journal, nowMs) => {
  for (const manager of ['m2', 'm3']) {
    const tenure = { manager, holder: `${manager}-1`, leaseEpoch: 3, isLeaseLive: () => true };
    const command = { ...tenure, kinds: KINDS, ownOnly: false, max: 2, by: manager, nowMs };
    if (journal.fleet.get(MANAGER, idOf(MANAGER, manager)) === undefined) continue;
    await journal.submit({ by: manager, decide: (fleet) => acquireNodes(fleet, command) });
  }
};

torture({
  name: 'manager-drain',
  models: MODELS.filter((model) => model !== operationsModel),
  kind: managerDrainKind,
  prepare: [
    ...[putManager('m1'), putManager('m2'), putManager('m3')],
    ...Array.from({ length: 9 }, (_, nth) => putReserved(`n${nth}`, 'm1')).flat(),
  ],
  start: (operation, nowMs) => ({
    by: 'test',
    decide: (fleet) => drainManager(fleet, { manager: 'm1', operation, by: 'test', nowMs }),
  }),
  world: takers,
  wrongWhenDone: (fleet) => {
    const { state, draining } = managerOf(fleet) ?? {};
    const left = nodesOf(fleet, 'm1');
    const wrong = [...fleet.all(NODE)].filter(({ doc }) => doc.epoch !== 5 || doc.state !== 'active');
    return [
      ...(left > 0 ? [`${left} nodes are left`] : []),
      ...(state === 'draining' && draining?.emptyAtMs !== undefined ? [] : [`it is ${state}`]),
      ...wrong.map(({ id, doc }) => `${id} is ${doc.state} at epoch ${doc.epoch}`),
    ];
  },
  wrongWhenCancelled: (fleet) => {
    const { state, draining } = managerOf(fleet) ?? {};
    // A cancel that comes when it has ended finds nothing to take back.
    const hasEnded = draining?.emptyAtMs !== undefined && nodesOf(fleet, 'm1') === 0;
    return hasEnded || (state === 'live' && draining === undefined) ? [] : [`it is ${state}`];
  },
});

describe('a drain', () => {
  const ID = idOf(OPERATION, 'op');
  const BY = { by: 'op', nowMs: 100 };

  function applied(fleet: Fleet, changes: readonly Change[]): Fleet {
    fleet.apply(fleet.revision + 1, changes);
    return fleet;
  }

  function begun(...more: Change[]): Fleet {
    const fleet = newFleet(putManager('m1'), putOwned('n1', 'm1'), ...more);
    const decision = drainManager(fleet, { manager: 'M1', operation: ID, ...BY });
    if (decision.kind === 'refuse') throw new Error(decision.refusal.message);
    return applied(fleet, decision.changes);
  }

  function planned(fleet: Fleet): string {
    const [item] = [...fleet.all(ITEM)];
    const [next] = item === undefined ? [] : managerDrainKind.plan(fleet, [item], 200);
    if (next?.kind !== 'record') throw new Error('nothing is planned');
    const { state, reason } = next.progress;
    return `${state} ${JSON.stringify(reason ?? {})} ${next.changes.map(({ kind }) => kind).join()}`;
  }

  test.each<[string, () => Fleet, string]>([
    [
      'others-take-over',
      () => begun(putManager('m2')),
      'waiting {"code":"nodes-to-take-over","manager":"m1","nodes":1} ',
    ],
    ['nobody-is-there', () => begun(), 'waiting {"code":"no-other-manager","manager":"m1","nodes":1} '],
    [
      'another-drains-as-well',
      () => begun(putManager('m2', DRAINING)),
      'waiting {"code":"no-other-manager","manager":"m1","nodes":1} ',
    ],
    [
      'another-is-lost',
      () => begun(putManager('m2', { state: 'lost' })),
      'waiting {"code":"no-other-manager","manager":"m1","nodes":1} ',
    ],
    ['none-is-left', () => applied(begun(), [putOwned('n1', 'm2')]), 'done {} manager'],
    [
      'it-is-taken-back',
      () => applied(begun(), [putManager('m1')]),
      'done {"code":"manager-drain-ended","manager":"m1"} ',
    ],
    [
      'the-manager-is-forgotten',
      () => applied(begun(), [{ kind: MANAGER.name, id: 'm1', doc: null }]),
      'done {"code":"manager-drain-ended","manager":"m1"} ',
    ],
  ])('%s', (_name, world, expected) => {
    expect(planned(world())).toBe(expected);
  });

  test('a cancel that was decided before the manager registered anew takes nothing of that back', () => {
    const fleet = begun();
    const cancelled = cancelOperation(fleet, {
      id: ID,
      kinds: new Map([[managerDrainKind.name, managerDrainKind]]),
      nowMs: 150,
    });
    if (cancelled.kind === 'refuse') throw new Error(cancelled.refusal.message);
    applied(fleet, cancelled.changes);
    const [item] = [...fleet.all(ITEM)];
    const progress = { state: 'cancelled', step: 'offer' } as const;
    const undone = { ...record(item!, progress), ...managerDrainKind.undo?.(fleet, item!, 200) };
    expect(recordStep(fleet, undone, 300)).toMatchObject({ answer: 'recorded' });
    const anew = { ...managerOf(fleet)!, leaseEpoch: 9, holder: 'm1-9' };
    applied(fleet, [put(MANAGER, idOf(MANAGER, 'm1'), anew)]);
    expect(recordStep(fleet, undone, 300)).toEqual(accept([], 'stale'));
  });

  test('is one operation, however often it is requested', () => {
    const again = { manager: 'm1', operation: idOf(OPERATION, 'op-2'), ...BY };
    expect(drainManager(begun(), again)).toEqual(accept([], ID));
  });

  test('begins anew after it has ended', () => {
    const fleet = begun();
    const [item] = [...fleet.all(ITEM)];
    applied(fleet, [put(ITEM, item!.id, { ...item!.doc, state: 'done' })]);
    const answer = drainManager(fleet, { manager: 'm1', operation: idOf(OPERATION, 'op-2'), ...BY });
    expect(answer).toMatchObject({ kind: 'accept', answer: 'op-2' });
  });

  test.each(['m9', 'M9'])('is refused for %s, which there is not', (manager) => {
    const refusal = { kind: 'not-found', code: 'manager-not-found' };
    const command = { manager, operation: ID as OperationId, ...BY };
    expect(drainManager(newFleet(), command)).toMatchObject({ refusal });
    expect(undrainManager(newFleet(), { manager, ...BY })).toMatchObject({ refusal });
  });

  test('that is cancelled lets the manager take nodes again', () => {
    const fleet = begun();
    const cancelled = cancelOperation(fleet, {
      id: ID,
      kinds: new Map([['manager-drain', managerDrainKind]]),
      nowMs: 1,
    });
    expect(cancelled.kind).toBe('accept');
    const [item] = [...fleet.all(ITEM)];
    applied(fleet, managerDrainKind.undo?.(fleet, item!, 200).changes ?? []);
    expect(managerOf(fleet)?.state).toBe('live');
  });
});
