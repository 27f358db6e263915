// A new lease holder assigns keys to what a version before tunnels created.
import { expect, test, vi } from 'vitest';
import { Registry } from '../../fleet/index.ts';
import { hostsModel } from '../../hosts/index.ts';
import { accept, Journal } from '../../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../../journal/runtime.ts';
import { operationsModel } from '../../operations/index.ts';
import { sitesModel } from '../../sites/index.ts';
import { ManualClock } from '../back-ends/clock-fixture.ts';
import { network } from '../network-fixture.ts';
import { networkModel } from '../fleet-model.ts';
import { tunnelKeyOf } from './keys.ts';
import { TunnelKeyController } from './key-controller.ts';

const LEASE = { name: 'fleet', holder: 'one', url: 'test://one', ttlMs: 3_600_000 };

test('what-has-no-number-gets-one-once-the-lease-is-there, and-nothing-is-written-after-that', async () => {
  const clock = new ManualClock();
  const store = new MemoryStore(new MemoryDisk({ journalId: 'test', nowMs: () => clock.nowMs() }));
  const ids = { next: (prefix: string) => `${prefix}-1`, secret: () => 'secret' };
  const journal = new Journal({
    store,
    registry: new Registry([sitesModel, operationsModel, hostsModel, networkModel]),
    clock,
    ids,
  });
  await journal.open();
  const logged: string[] = [];
  const log = { info: (_: object, text: string) => logged.push(text), warn: () => undefined, error: () => undefined };
  const controller = new TunnelKeyController({ journal, clock, log });
  await controller.reconcile();
  const answer = await store.acquireLease(LEASE);
  if (answer.kind === 'held') await journal.lead({ lease: 'fleet', epoch: answer.lease.epoch });
  const made = Array.from({ length: 501 }, (_, nth) => network(`n${nth}`));
  await journal.submit({ by: 'test', decide: () => accept(made, null) });
  const submitted = vi.spyOn(journal, 'submit');
  await controller.reconcile();
  const keys = made.map(({ id }) => tunnelKeyOf(journal.fleet, { for: 'network', id }));
  expect(keys).not.toContain(undefined);
  expect(new Set(keys).size).toBe(501);
  expect(submitted).toHaveBeenCalledTimes(2);
  expect(logged).toHaveLength(1);
  await controller.reconcile();
  expect(submitted).toHaveBeenCalledTimes(2);
});
