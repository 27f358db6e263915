// What holds for a connection that comes back, whatever is spoken on it: to a server that speaks JSON-RPC and to a switch that speaks
// OpenFlow, on a clock that the test moves.
import { duplexPair, type Duplex } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ManualClock } from '../../../network/back-ends/clock-fixture.ts';
import { connectOpenFlow } from '../openflow/connection-driver.ts';
import { FakeSwitch } from '../openflow/fake-switch-fixture.ts';
import { asError, ClientClosed, ConnectionLost } from './failures.ts';
import { FakeDaemon } from './fake-daemon-fixture.ts';
import { JsonRpcConnection } from './json-rpc-connection-driver.ts';
import {
  ReconnectingConnection,
  type LiveConnection,
  type ReconnectOptions,
  type ReconnectState,
} from './reconnecting-connection-driver.ts';
import type { Dial } from './socket-driver.ts';

const TIMEOUT_MS = 1000;

/** A peer that a connection is made to, by either protocol. */
interface Peer {
  /** How its next attempts end. */
  reachable(is: boolean): void;
  readonly dial: Dial;
  hangUp(): void;
  connect(dial: Dial, clock: ManualClock): (signal: AbortSignal) => Promise<LiveConnection>;
}

function jsonRpcPeer(): Peer {
  const daemon = new FakeDaemon(() => undefined);
  return {
    reachable: (is) => (daemon.reachable = is ? 'yes' : 'no'),
    dial: daemon.dial,
    hangUp: () => daemon.peer.hangUp(),
    connect: (dial, clock) => async (signal) =>
      new JsonRpcConnection(await dial(signal), { clock, messageBytesMax: 1e6 }),
  };
}

function openFlowPeer(): Peer {
  const fake = new FakeSwitch();
  return {
    reachable: (is) => (fake.faults.unreachable = !is),
    dial: fake.dial,
    hangUp: () => fake.hangUp(),
    connect: (dial, clock) => (signal) =>
      connectOpenFlow(dial, signal, { clock, probeAfterMs: 1e6, onMessage: () => {} }),
  };
}

interface Started {
  readonly clock: ManualClock;
  readonly states: ReconnectState[];
  readonly connection: ReconnectingConnection<LiveConnection>;
}

function start(peer: Peer, dial = peer.dial, more: Partial<ReconnectOptions<LiveConnection>> = {}): Started {
  const clock = new ManualClock();
  const connection = new ReconnectingConnection<LiveConnection>({
    clock,
    peer: 'the peer',
    random: () => 1,
    connectTimeoutMs: TIMEOUT_MS,
    connect: peer.connect(dial, clock),
    ...more,
  });
  const states: ReconnectState[] = [];
  connection.onState((state) => void states.push(state));
  onTestFinished(() => connection.close());
  return { clock, states, connection };
}

const failureOf = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(() => new Error('it did not fail'), asError);

/** Settles within one timer of the clock, which no dial of it waits for. */
function dialOnDemand(): { dial: Dial; open: (stream: Duplex) => void } {
  const opened = Promise.withResolvers<Duplex>();
  return { dial: () => opened.promise, open: opened.resolve };
}

describe.each([
  ['json-rpc', jsonRpcPeer],
  ['openflow', openFlowPeer],
])('%s', (_, peerOf) => {
  test('one-that-is-up-is-had-at-once-and-the-same-by-all', async () => {
    const { clock, states, connection } = start(peerOf());
    const early = connection.acquire('current-attempt');
    await clock.advance(1);
    expect(await early).toBe(connection.current);
    expect(await connection.acquire({ timeoutMs: 1 })).toBe(connection.current);
    const connections: LiveConnection[] = [];
    connection.onUp((up) => void connections.push(up));
    expect(connections).toEqual([connection.current]);
    expect(states).toEqual([{ kind: 'up' }]);
  });

  test('one-that-is-lost-is-made-anew, after-pauses-that-grow-until-it-was-up', async () => {
    const peer = peerOf();
    const { clock, states, connection } = start(peer);
    await clock.advance(1);
    const first = connection.current;
    peer.reachable(false);
    peer.hangUp();
    await clock.advance(1);
    expect(connection.current).toBe(undefined);
    await clock.advance(16_000);
    peer.reachable(true);
    await clock.advance(5000);
    expect(connection.current).not.toBe(undefined);
    expect(connection.current).not.toBe(first);
    const pauses = states.flatMap((state) => (state.kind === 'down' ? [state.retryInMs] : []));
    expect(pauses).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    expect(states.at(-1)).toEqual({ kind: 'up' });
    peer.hangUp();
    await clock.advance(1);
    expect(states.at(-1)).toMatchObject({ kind: 'down', retryInMs: 100 });
  });

  test('in-a-pause-who-waits-for-the-attempt-fails-at-once-and-who-may-wait-gets-the-next-one', async () => {
    const peer = peerOf();
    peer.reachable(false);
    const { clock, connection } = start(peer);
    await clock.advance(1);
    const impatient = await failureOf(connection.acquire('current-attempt'));
    expect(impatient).toBeInstanceOf(ConnectionLost);
    expect(impatient.message).toMatch(/^there is no connection to the peer: /);
    const patient = connection.acquire({ timeoutMs: 300 });
    const short = failureOf(connection.acquire({ timeoutMs: 50 }));
    await clock.advance(60);
    expect((await short).message).toMatch(/^no connection within 50 ms: /);
    peer.reachable(true);
    await clock.advance(200);
    expect(await patient).toBe(connection.current);
  });

  test('who-waits-for-an-attempt-that-fails-fails-with-it, and-who-may-wait-goes-on-waiting', async () => {
    const peer = peerOf();
    const { dial } = dialOnDemand();
    let attempts = 0;
    const first: Dial = (signal) => ((attempts += 1) === 1 ? dial(signal) : peer.dial(signal));
    const { clock, connection } = start(peer, first);
    const impatient = failureOf(connection.acquire('current-attempt'));
    const patient = connection.acquire({ timeoutMs: 3000 });
    await clock.advance(TIMEOUT_MS + 1);
    expect((await impatient).message).toBe('no connection within 1000 ms');
    await clock.advance(500);
    expect(await patient).toBe(connection.current);
  });

  test('never: a socket that opens as the deadline strikes is left open', async () => {
    const { dial, open } = dialOnDemand();
    const { clock } = start(peerOf(), dial);
    await clock.advance(TIMEOUT_MS);
    const [client] = duplexPair();
    open(client);
    await clock.advance(1);
    expect(client.destroyed).toBe(true);
  });

  test('closing-ends-it-and-all-waiters', async () => {
    const { dial, open } = dialOnDemand();
    const waiting = start(peerOf(), dial);
    const waiters = [
      failureOf(waiting.connection.acquire('current-attempt')),
      failureOf(waiting.connection.acquire({ timeoutMs: 5000 })),
    ];
    const closed = waiting.connection.close();
    const [client] = duplexPair();
    open(client);
    for (const waiter of waiters) expect(await waiter).toBeInstanceOf(ClientClosed);
    await closed;
    expect(client.destroyed).toBe(true);
    expect(waiting.states).toEqual([]);
    expect(await failureOf(waiting.connection.acquire('current-attempt'))).toBeInstanceOf(ClientClosed);

    const up = start(peerOf());
    await up.clock.advance(1);
    const { current } = up.connection;
    await up.connection.close();
    expect(await current?.closed).toBeInstanceOf(ClientClosed);
  });

  test('no-caller-gets-one-that-cannot-be-prepared, and-its-pauses-grow', async () => {
    const prepare = (): Promise<void> => Promise.reject(new Error('not what we need'));
    const { clock, states, connection } = start(peerOf(), undefined, { prepare });
    const waiter = failureOf(connection.acquire('current-attempt'));
    await clock.advance(1);
    expect((await waiter).message).toBe('not what we need');
    await clock.advance(200);
    expect(connection.current).toBe(undefined);
    expect(states).toMatchObject([
      { kind: 'down', because: { message: 'not what we need' }, retryInMs: 200 },
      { kind: 'down', retryInMs: 400 },
    ]);
  });

  test('one-that-was-of-no-use-does-not-make-the-pauses-begin-anew', async () => {
    const peer = peerOf();
    const { clock, states } = start(peer, undefined, { wasUseful: () => false });
    await clock.advance(1);
    peer.hangUp();
    await clock.advance(1);
    expect(states.at(-1)).toMatchObject({ retryInMs: 200 });
  });

  test('listeners-that-stopped-are-not-called', async () => {
    const peer = peerOf();
    const { clock, connection } = start(peer);
    const states: string[] = [];
    connection.onUp(() => void states.push('up'))();
    connection.onState(({ kind }) => void states.push(kind))();
    await clock.advance(1);
    expect(states).toEqual([]);
  });
});
