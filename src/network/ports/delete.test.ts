import { describe, expect, test } from 'vitest';
import { idOf, put, type Fleet } from '../../fleet/index.ts';
import { ITEM, OPERATION } from '../../operations/index.ts';
import type { PortAnswer } from '../back-ends/back-end.ts';
import { createPort } from './decide.ts';
import { PORT } from '../model.ts';
import { commitAccepted, commit, fleetWith, network, port, portDoc, subnet, WHO } from '../network-fixture.ts';
import { deletePort, portDelete } from './delete.ts';

function world(): Fleet {
  return fleetWith(
    network('n'),
    subnet('s', 'n', '10.0.0.0/24'),
    network('sim', { backEnd: 'simulated' }),
    subnet('ss', 'sim', '10.7.0.0/24'),
    port('mine', 'n', { addresses: [{ ip: '10.0.0.9', subnet: 's', chosenBy: 'user' }] }),
  );
}

describe('deleting ports', () => {
  const end = (fleet: Fleet, id: string) => deletePort(fleet, { id, operation: idOf(OPERATION, 'op'), ...WHO });

  test('a port in the journal is deleted at once', () => {
    const fleet = world();
    expect(commitAccepted(fleet, end(fleet, 'mine')).operation).toBeUndefined();
    expect(fleet.count(PORT)).toBe(0);
  });

  test('a port that no build ever used is deleted at once, whatever its back end', () => {
    const fleet = world();
    commitAccepted(fleet, createPort(fleet, { id: 'p', network: 'sim', admin: false, ...WHO }));
    expect(commitAccepted(fleet, end(fleet, 'p')).operation).toBeUndefined();
    expect(fleet.get(PORT, idOf(PORT, 'p'))).toBeUndefined();
    // A failed build may have created it there all the same.
    commit(fleet, [port('q', 'sim', { state: 'wanted', serial: 1 })]);
    expect(commitAccepted(fleet, end(fleet, 'q')).operation).toBe('op');
  });

  test('a port that a back end outside may know is deleted there first, however long it takes', () => {
    const fleet = world();
    commit(fleet, [port('p', 'sim', { serial: 2 })]);
    expect(commitAccepted(fleet, end(fleet, 'p')).operation).toBe('op');
    expect(portDoc(fleet, 'p').state).toBe('releasing');
    const again = deletePort(fleet, { id: 'p', operation: idOf(OPERATION, 'op-2'), ...WHO });
    expect(again).toMatchObject({ kind: 'accept', changes: [], answer: { operation: 'op' } });
    const item = () => fleet.get(ITEM, idOf(ITEM, 'op.p'))!;
    const plan = (nowMs: number) => portDelete.plan(fleet, [item()], nowMs);
    expect(plan(8)).toMatchObject([
      {
        kind: 'act',
        action: {
          driver: 'network',
          args: { op: 'release', backEnd: 'simulated', ports: [{ port: 'p', serial: 3, end: 'delete' }] },
        },
      },
    ]);
    const answered = (outcome: PortAnswer['outcome']) =>
      portDelete.observe!(item(), { kind: 'applied', facts: { ports: [{ port: 'p', outcome }] } }, { fleet, nowMs: 8 });
    expect(answered('unavailable')).toMatchObject({
      progress: { state: 'waiting', attempt: 2, retryAtMs: 2008, reason: { code: 'port-not-deleted' } },
      changes: [],
    });
    const failed = { kind: 'failed', reason: { code: 'x' } } as const;
    expect(portDelete.observe!(item(), failed, { fleet, nowMs: 8 })).toMatchObject({ progress: { state: 'waiting' } });
    for (const outcome of ['ok', 'not-found'] as const) {
      expect(answered(outcome)).toMatchObject({
        progress: { state: 'done' },
        changes: [{ kind: 'port', id: 'p', doc: null }],
      });
    }
    commit(fleet, [put(ITEM, item().id, { ...item().doc, state: 'failed' })]);
    expect(
      commitAccepted(fleet, deletePort(fleet, { id: 'p', operation: idOf(OPERATION, 'op-2'), ...WHO })).operation,
    ).toBe('op-2');
    commit(fleet, [{ kind: 'port', id: 'p', doc: null }]);
    expect(plan(8)).toMatchObject([{ kind: 'record', progress: { state: 'done' } }]);
  });

  test('a port of an instance stays, and an unknown one cannot be deleted', () => {
    const fleet = world();
    commit(fleet, [port('taken', 'n', { instance: 'i1', nic: 0 })]);
    expect(end(fleet, 'taken')).toMatchObject({ refusal: { kind: 'conflict', code: 'port-in-use' } });
    expect(end(fleet, 'mars')).toMatchObject({ refusal: { kind: 'not-found', code: 'unknown-port' } });
  });
});
