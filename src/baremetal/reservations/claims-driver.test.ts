// The driver of claims against an Ironic that never answers: the caller does not wait any more, and the request is ended.
import { getEventListeners, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { idOf } from '../../fleet/index.ts';
import { ITEM } from '../../operations/index.ts';
import { IronicClient } from '../drivers/ironic/ironic-client-driver.ts';
import { IronicInventory } from '../drivers/ironic/inventory-driver.ts';
import { ClaimsDriver } from './claims-driver.ts';
import { FakeInventory } from './inventory-fixture.ts';

const ORDER = { inventory: 'ironic', node: 'n1', nodeEpoch: 1, instance: 'web', traits: [] };

/** Nothing of the driver's own is due. */
const STILL = {
  nowMs: () => 0,
  turn: async () => undefined,
  sleep: async (_ms: number, signal?: AbortSignal) => {
    if (signal !== undefined && !signal.aborted) await once(signal, 'abort');
  },
};

test.each(['claim', 'unclaim'] as const)('a-%s-that-is-aborted-ends-its-request', async (op) => {
  const server = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new IronicClient({ url, steadyMs: () => 0, sleep: STILL.sleep });
  const inventories = new Map([['ironic', new IronicInventory(client)] as const]);
  const driver = new ClaimsDriver({ clock: STILL, inventories });
  const stop = new AbortController();
  const received = once(server, 'request') as Promise<[{ readonly socket: NodeJS.EventEmitter }]>;
  const args = { ...ORDER, op, deadlineAtMs: 9e15 };
  const action = { driver: 'node-claims', item: idOf(ITEM, 'op.n1'), step: op, attempt: 1, args };
  const fence = { leaseEpoch: 1, operation: 'op', deadlineAtMs: 9e15, signal: stop.signal };
  const outcome = driver.carryOut(action, fence).catch((error: unknown) => error);
  const [{ socket }] = await received;
  const ended = once(socket, 'close');
  stop.abort(new Error('the operation is cancelled'));
  const answer = await outcome;
  if (answer instanceof Error) expect(answer.message).toBe('the operation is cancelled');
  else expect(answer).toMatchObject({ kind: 'failed', reason: { code: 'inventory-silent' } });
  await ended;
  server.close();
});

test('nothing-of-a-claim-is-left-on-its-signal', async () => {
  const inventories = new Map([['simulated', new FakeInventory(['n1'])] as const]);
  const driver = new ClaimsDriver({ clock: STILL, inventories });
  const { signal } = new AbortController();
  const args = { ...ORDER, inventory: 'simulated', op: 'claim', deadlineAtMs: 9e15 };
  const action = { driver: 'node-claims', item: idOf(ITEM, 'op.n1'), step: 'claim', attempt: 1, args };
  const outcome = await driver.carryOut(action, { leaseEpoch: 1, operation: 'op', deadlineAtMs: 9e15, signal });
  expect(outcome).toMatchObject({ kind: 'applied' });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
