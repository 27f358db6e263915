import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { idOf, put, type Change } from '../fleet/index.ts';
import { accept, Journal } from '../journal/index.ts';
import { openSqliteStore, RetentionController } from '../journal/runtime.ts';
import { ITEM, newOperation, OPERATION, type Operation } from '../operations/index.ts';
import { realIds } from './ids.ts';
import { PROGRAM } from './modules.ts';

const DAY_MS = 24 * 3600 * 1000;

describe('the modules together', () => {
  test('the-items-of-an-operation-go-with-it, 30 days after its end', async () => {
    let nowMs = 0;
    const folder = mkdtempSync(join(tmpdir(), 'muster-modules-'));
    const store = await openSqliteStore({ path: join(folder, 'muster.db'), nowMs: () => nowMs });
    onTestFinished(async () => {
      await store.close();
      rmSync(folder, { recursive: true });
    });
    const clock = { nowMs: () => nowMs, sleep: () => Promise.resolve(), turn: () => Promise.resolve() };
    const journal = new Journal({ store, registry: PROGRAM.newRegistry(), clock, ids: realIds(() => nowMs) });
    await store.acquireLease({ name: 'fleet', holder: 'h', url: 'u', ttlMs: 10 ** 12 });
    await journal.lead({ lease: 'fleet', epoch: 1 });
    const commit = (changes: readonly Change[]) =>
      journal.submit({ by: 't', decide: () => accept(changes, undefined) });
    const make = (id: string): Change[] =>
      newOperation({
        id: idOf(OPERATION, id),
        kind: 'host-join',
        title: id,
        by: 't',
        nowMs,
        deadlineMs: 1000,
        items: [1, 2].map((at) => ({ key: `h${at}`, target: { kind: 'host', id: `h${at}` }, step: 'await-agent' })),
      });
    await commit([...make('op-ended'), ...make('op-open')]);
    const ended = journal.fleet.get(OPERATION, idOf(OPERATION, 'op-ended'))?.doc as Operation;
    await commit([put(OPERATION, idOf(OPERATION, 'op-ended'), { ...ended, state: 'failed', finishedAtMs: 0 })]);
    const log = { info: () => undefined, warn: () => undefined };
    const retention = new RetentionController({ journal, clock, log });
    const look = () => retention.sweep(new AbortController().signal);
    nowMs = 30 * DAY_MS - 1;
    await look();
    expect(journal.fleet.count(ITEM)).toBe(4);
    nowMs = 30 * DAY_MS;
    await look();
    expect([...journal.fleet.all(OPERATION)].map(({ id }) => id)).toEqual(['op-open']);
    expect([...journal.fleet.all(ITEM)].map(({ doc }) => doc.operation)).toEqual(['op-open', 'op-open']);
  });

  test('every-module-explains-itself: the codes that operations wait with have sentences', () => {
    expect(PROGRAM.explain({ code: 'agent-not-joined', host: 'c1' })).toContain('Host c1 has no agent yet');
    expect(PROGRAM.explain({ code: 'mass-silence', site: 's', silent: 3, hosts: 4 })).toContain(
      '3 of 4 hosts of site s',
    );
    expect([...PROGRAM.operationKinds.keys()]).toEqual([
      'host-join',
      'scale-out',
      'scale-in',
      'scale-in-end',
      'scale-in-recover',
      'peer-clean-up',
      'port-delete',
      'handover',
      'instance-build',
      'instance-delete',
      'instance-clean',
      'instance-release',
      'instance-move',
      'instance-rebuild',
      'instance-replug',
      'instance-shelve',
      'manager-drain',
      'manager-rebalance',
      'reservation-claim',
      'reservation-release',
      'baremetal-build',
      'baremetal-delete',
      'baremetal-release',
      'baremetal-power',
      'worker-add',
      'worker-drain',
      'worker-remove',
      'worker-return',
      'worker-evacuate',
      'worker-rejoin',
    ]);
    expect(PROGRAM.settings.map(({ name }) => name)).toEqual([
      'baremetal.inventories',
      'baremetal.managers',
      'baremetal.simulated',
      'conditions',
      'election',
      'liveness',
      'retention',
      'scale-in',
      'scheduler',
    ]);
  });
});
