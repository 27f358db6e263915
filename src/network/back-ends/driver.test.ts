// The driver `network`: how the answer to an order reaches the engine.
import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import type { Action, ActionOutcome } from '../../operations/index.ts';
import type { BackEndFence, OrderResult, NetworkBackEnd } from './back-end.ts';
import { NetworkDriver, type NetworkDriverOptions } from './driver.ts';
import { composeCreate, world } from './simulated/world-fixture.ts';
import type { NewFault } from './simulated/faults.ts';

function startDriver(faults: readonly NewFault[] = [], options: Partial<NetworkDriverOptions> = {}) {
  const { clock, network } = world(faults);
  const backEnds = new Map([['simulated', network] as const]);
  const driver = new NetworkDriver({ clock, backEnds, hasCredentials: () => true, ...options });
  const { signal } = new AbortController();
  const fence = { leaseEpoch: 1, operation: 'op', deadlineAtMs: clock.nowMs() + 600_000, signal };
  const carryOut = (order: object, at: Partial<typeof fence> = {}): Promise<ActionOutcome> => {
    const args = { backEnd: 'simulated', instance: 'web', ...order };
    return driver.carryOut({ driver: 'network', step: 'x', attempt: 1, args } as unknown as Action, {
      ...fence,
      ...at,
    });
  };
  return { clock, network, carryOut, fence };
}

const CREATE = { op: 'create', ports: [composeCreate({}, 0), composeCreate({}, 1)] };
const BIND = {
  op: 'bind',
  host: 'h1',
  ports: [0, 1].map((nic) => ({ port: `p${nic}`, serial: 1, nic, takes: [], drops: [], holds: [], pools: [] })),
};
const END = [0, 1].map((nic) => ({ port: `p${nic}`, serial: 2, nic, createdBy: 'muster' }));

describe('the network driver', () => {
  test('every-order-reaches-its-back-end-and-is-answered-per-port', async () => {
    const { carryOut, network, fence } = startDriver();
    const ok = { facts: { ports: [{ outcome: 'ok' }, { outcome: 'ok' }] } };
    expect(await carryOut(CREATE)).toMatchObject({ kind: 'applied', ...ok });
    expect(getEventListeners(fence.signal, 'abort')).toEqual([]);
    expect(await carryOut(CREATE)).toMatchObject({ kind: 'already', ...ok });
    expect(await carryOut(BIND)).toMatchObject({ kind: 'applied', ...ok });
    expect(await carryOut({ op: 'unbind', ports: END })).toMatchObject({ kind: 'applied', ...ok });
    expect(await carryOut({ op: 'release', ports: END })).toMatchObject({ kind: 'applied', ...ok });
    expect(network.calls.list().map(({ op }) => op)).toEqual([
      'create',
      'create',
      ...['bind', 'bind', 'unbind', 'unbind', 'delete', 'delete'],
    ]);
  });

  test('ports-of-several-back-ends-are-ordered-from-their-own, and are answered together', async () => {
    const other = world().network;
    const { network, clock } = world();
    const backEnds = new Map([
      ['simulated', network],
      ['simulated-single', other],
    ] as const);
    const { carryOut } = startDriver([], { backEnds, clock });
    const [first, second] = CREATE.ports;
    const create = { op: 'create', ports: [first, { ...second, backEnd: 'simulated-single' }] };
    const bind = {
      ...BIND,
      ports: BIND.ports.map((one, nic) => (nic === 0 ? one : { ...one, backEnd: 'simulated-single' })),
    };
    expect(await carryOut(create)).toMatchObject({
      kind: 'applied',
      facts: { ports: [{ port: 'p0' }, { port: 'p1' }] },
    });
    expect(await carryOut(bind)).toMatchObject({
      kind: 'applied',
      facts: { ports: [{ outcome: 'ok' }, { outcome: 'ok' }] },
    });
    expect([[...network.ports()].map(([id]) => id), [...other.ports()].map(([id]) => id)]).toEqual([['p0'], ['p1']]);
    expect(await carryOut(bind)).toMatchObject({ kind: 'already' });
    other.faults.arm({ op: 'bind', outcome: 'unavailable' });
    expect(await carryOut(bind)).toMatchObject({ kind: 'failed', reason: { backEnd: 'simulated-single' } });
    const end = {
      op: 'release',
      ports: END.map((one, nic) => (nic === 0 ? one : { ...one, backEnd: 'simulated-single' })),
    };
    expect(await carryOut(end)).toMatchObject({ kind: 'applied' });
    expect([...network.ports(), ...other.ports()]).toEqual([]);
  });

  test('no-answer-for-any-port-is-a-failure-that-may-be-tried-again', async () => {
    const { carryOut } = startDriver([
      { op: 'create', outcome: 'unavailable' },
      { op: 'create', outcome: 'applied-but-lost' },
      { op: 'bind', outcome: 'unavailable', times: 2 },
    ]);
    const silent = { kind: 'failed', reason: { code: 'network-unavailable', backEnd: 'simulated' } };
    expect(await carryOut(CREATE)).toMatchObject({ ...silent, reason: { op: 'create' } });
    expect(await carryOut(CREATE)).toMatchObject(silent);
    expect(await carryOut(CREATE)).toMatchObject({ kind: 'already' });
    expect(await carryOut(BIND)).toMatchObject({ ...silent, reason: { op: 'bind' } });
    expect(await carryOut(BIND)).toMatchObject({ kind: 'applied' });
  });

  test('one-silent-port-among-others-is-shown-with-them', async () => {
    const { carryOut } = startDriver([{ op: 'bind', nic: 1, outcome: 'applied-but-lost' }]);
    await carryOut(CREATE);
    expect(await carryOut(BIND)).toMatchObject({ facts: { ports: [{ outcome: 'ok' }, { outcome: 'unavailable' }] } });
    expect(await carryOut(BIND)).toMatchObject({ kind: 'already' });
  });

  test('a-back-end-that-hangs-times-out', async () => {
    const { carryOut, clock } = startDriver([{ op: 'bind', outcome: 'hang', times: 2 }], { callTimeoutMs: 5000 });
    await carryOut(CREATE);
    const outcome = carryOut(BIND);
    await clock.advance(5000);
    expect(await outcome).toMatchObject({ kind: 'failed', reason: { code: 'network-unavailable' } });
  });

  test('a-back-end-that-ignores-its-deadline-times-out-as-well', async () => {
    const never = new Promise<OrderResult>(() => undefined);
    const silent = { name: 'simulated', bind: () => never } as unknown as NetworkBackEnd;
    const { carryOut, clock } = startDriver([], { backEnds: new Map([['simulated', silent]]), callTimeoutMs: 5000 });
    const outcome = carryOut(BIND);
    await clock.advance(6000);
    expect(await outcome).toMatchObject({ kind: 'failed', reason: { code: 'network-unavailable' } });
  });

  test('never: an order acts after the deadline of its operation', async () => {
    const { carryOut, clock, network } = startDriver();
    await carryOut(CREATE);
    const outcome = await carryOut(BIND, { deadlineAtMs: clock.nowMs() - 1 });
    expect(outcome).toMatchObject({ kind: 'failed', reason: { code: 'network-unavailable' } });
    expect(network.port('p0')?.binding).toBeUndefined();
  });

  test('an-order-that-is-aborted-on-its-way-changes-nothing, and is answered at once', async () => {
    const { carryOut, network, clock } = startDriver([{ op: 'bind', outcome: 'ok', delayMs: 5000, times: 2 }]);
    await carryOut(CREATE);
    const stop = new AbortController();
    const outcome = carryOut(BIND, { signal: stop.signal });
    await clock.advance(1000);
    stop.abort('the lease is lost');
    expect(await outcome).toMatchObject({ kind: 'failed', reason: { text: 'the call was aborted' } });
    await clock.advance(10_000);
    expect(network.port('p0')?.binding).toBeUndefined();
  });

  test('a-back-end-that-goes-on-when-it-is-told-to-stop-is-not-waited-for', async () => {
    const never = new Promise<OrderResult>(() => undefined);
    const unending = { name: 'simulated', bind: () => never } as unknown as NetworkBackEnd;
    const { carryOut } = startDriver([], { backEnds: new Map([['simulated', unending]]) });
    const stop = new AbortController();
    const outcome = carryOut(BIND, { signal: stop.signal });
    stop.abort('cancelled');
    expect(await outcome).toMatchObject({ kind: 'failed', reason: { code: 'network-unavailable' } });
  });

  test('a-back-end-is-signals-when-it-is-waited-for-no-more', async () => {
    const signals: AbortSignal[] = [];
    const bind = (_order: unknown, { signal }: BackEndFence) => {
      signals.push(signal);
      return new Promise(() => undefined);
    };
    const backEnds = new Map([['simulated', { name: 'simulated', bind } as unknown as NetworkBackEnd]] as const);
    const { carryOut, clock } = startDriver([], { backEnds, callTimeoutMs: 5000 });
    const outcome = carryOut(BIND);
    await clock.advance(4000);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await clock.advance(2000);
    await outcome;
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test('a-stale-server-is-refused-as-stale', async () => {
    const { carryOut } = startDriver();
    await carryOut(CREATE, { leaseEpoch: 2 });
    expect(await carryOut(BIND)).toEqual({ kind: 'stale' });
  });

  test('a-back-end-that-is-not-configured-is-a-failure-of-its-own', async () => {
    const { carryOut } = startDriver([], { backEnds: new Map() });
    const reason = { code: 'back-end-not-configured', backEnd: 'simulated' };
    expect(await carryOut(CREATE)).toEqual({ kind: 'failed', reason });
    expect(await carryOut({ ...CREATE, backEnd: 'neutron' })).toMatchObject({
      kind: 'failed',
      reason: { code: 'back-end-not-configured', backEnd: 'neutron' },
    });
  });

  test('nothing-is-asked-without-credentials', async () => {
    const { carryOut, network } = startDriver([], { hasCredentials: () => false });
    const reason = { code: 'network-credentials-missing', backEnds: ['simulated'] };
    expect(await carryOut(CREATE)).toEqual({ kind: 'failed', reason });
    expect(network.calls.list()).toEqual([]);
  });
});
