// The client of the database against a server that does what the test says: it answers late, never, wrongly, or goes away.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../../network/back-ends/clock-fixture.ts';
import { COMMENT, failureOf, start, TABLES, usual } from './client-fixture.ts';
import { ClientClosed, DaemonFailure, MessageTooLarge, RequestRefused } from '../transport/failures.ts';
import { FakeDaemon } from '../transport/fake-daemon-fixture.ts';
import { OvsdbClient } from './client-driver.ts';

describe('requests', () => {
  test('answers-are-given-to-whoever-asked-in-whatever-order-they-come', async () => {
    const { daemon, client, clock } = start(() => undefined);
    await clock.advance(1);
    const [first, second] = [client.transact('One', COMMENT), client.transact('Two', COMMENT)];
    await clock.advance(1);
    daemon.peer.send({ id: 2, result: [{}], error: null });
    await expect(second).resolves.toEqual([{ kind: 'done' }]);
    daemon.peer.send({ id: 1, result: [{}], error: null });
    await expect(first).resolves.toEqual([{ kind: 'done' }]);
  });

  test('a-request-without-an-answer-times-out-and-is-cancelled-at-the-server', async () => {
    const { daemon, client, clock } = start(() => undefined);
    const failure = failureOf(client.transact('Db', COMMENT));
    await clock.advance(1001);
    expect(await failure).toMatchObject({ code: 'request-timed-out', retryable: true });
    daemon.answers = usual;
    daemon.peer.send({ id: 1, result: [{}], error: null });
    await expect(client.echo()).resolves.toBeUndefined();
    expect(daemon.peer.received.slice(0, 2)).toMatchObject([
      { kind: 'request', method: 'transact' },
      { kind: 'notification', method: 'cancel', params: [1] },
    ]);
    expect(daemon.peers).toHaveLength(1);
  });

  test('a-refused-request-says-what-the-server-said', async () => {
    const { client } = start(() => ({ error: { error: 'unknown database', details: 'no Db' } }));
    const failure = await failureOf(client.transact('Db', COMMENT));
    expect(failure).toBeInstanceOf(RequestRefused);
    expect(String(failure)).toMatch(/transact: .*unknown database/);
  });

  test('what-was-sent-when-the-connection-was-lost-may-be-done', async () => {
    const { daemon, client, clock } = start(() => undefined);
    const failure = failureOf(client.transact('Db', COMMENT));
    await clock.advance(1);
    daemon.peer.hangUp();
    expect(await failure).toMatchObject({ code: 'connection-lost', mayHaveApplied: true });
  });

  test('without-a-connection-a-request-waits-for-one', async () => {
    const { daemon, client, clock } = start();
    daemon.reachable = 'no';
    await clock.advance(1);
    daemon.peer.hangUp();
    await clock.advance(100);
    const echo = client.echo();
    daemon.reachable = 'yes';
    await clock.advance(900);
    await expect(echo).resolves.toBeUndefined();
  });

  test('and-not-longer-than-it-may', async () => {
    const { daemon, client, clock } = start();
    await clock.advance(1);
    daemon.reachable = 'no';
    daemon.peer.hangUp();
    await clock.advance(1);
    const failure = failureOf(client.echo());
    await clock.advance(1001);
    expect(await failure).toMatchObject({ code: 'connection-lost', mayHaveApplied: false });
    expect(String(await failure)).toMatch(/no connection within 1000 ms: refused/);
  });

  test('a-request-beyond-the-limit-is-not-sent', async () => {
    const { daemon, client } = start(usual, { messageBytesMax: 1000 });
    const large = [{ op: 'comment', comment: 'x'.repeat(1000) }] as const;
    await expect(client.transact('Db', large)).rejects.toThrow(MessageTooLarge);
    await expect(client.echo()).resolves.toBeUndefined();
    expect(daemon.peer.methods()).toEqual(['echo']);
  });

  test('a-server-that-does-not-read-is-not-sent-more', async () => {
    const { daemon, client, clock } = start();
    await client.echo();
    daemon.peer.stopReading();
    const large = [{ op: 'comment', comment: 'x'.repeat(8000) }] as const;
    const requests = Array.from({ length: 100 }, () => client.transact('Db', large));
    await clock.advance(1);
    expect(daemon.peer.client.writableLength).toBeLessThan(100_000);
    daemon.peer.readOn();
    expect(await Promise.all(requests)).toHaveLength(100);
    const ids = daemon.peer.received.map((message) => ('id' in message ? message.id : undefined));
    expect(ids).toEqual(ids.toSorted((a, b) => Number(a) - Number(b)));
  });

  test('a-request-that-was-cancelled-while-it-waited-is-never-sent', async () => {
    const { daemon, client, clock } = start();
    await client.echo();
    daemon.peer.stopReading();
    const large = [{ op: 'comment', comment: 'x'.repeat(100_000) }] as const;
    const failures = [failureOf(client.transact('Db', large)), failureOf(client.transact('Db', COMMENT))];
    await clock.advance(1001);
    expect(await Promise.all(failures)).toMatchObject([{ code: 'request-timed-out' }, { code: 'request-timed-out' }]);
    daemon.peer.readOn();
    await client.echo();
    expect(daemon.peer.methods().filter((method) => method === 'transact')).toHaveLength(1);
  });

  test('more-than-anybody-needs-at-once-is-refused', async () => {
    const { client, clock } = start(() => undefined);
    await clock.advance(1);
    const failures = Array.from({ length: 4097 }, () => failureOf(client.echo()));
    expect(await failures[4096]).toMatchObject({ code: 'too-busy', retryable: true });
    await client.close();
    const codes = (await Promise.all(failures)).map((error) => (error as DaemonFailure).code);
    expect(codes.filter((code) => code === 'client-closed')).toHaveLength(4096);
  });
});

describe('signs of life', () => {
  test('the-server-s-echo-is-answered-and-other-requests-are-refused', async () => {
    const { daemon, clock } = start();
    await clock.advance(1);
    const [first, other] = [
      { id: 'e', method: 'echo', params: ['are', 'you', 'there'] },
      { id: 'x', method: 'steal', params: [] },
    ];
    daemon.peer.sendText(JSON.stringify(first) + JSON.stringify(other));
    await clock.advance(1);
    expect(daemon.peer.received).toEqual([
      { kind: 'answer', id: 'e', result: ['are', 'you', 'there'] },
      { kind: 'refusal', id: 'x', error: 'unknown method' },
    ]);
  });

  test('a-server-that-asks-and-does-not-read-gets-no-queue-of-answers', async () => {
    const { daemon, clock } = start();
    await clock.advance(1);
    daemon.peer.stopReading();
    const long = 'x'.repeat(1000);
    for (let sent = 0; sent < 1000; sent += 1) daemon.peer.send({ id: sent, method: 'echo', params: [long] });
    await clock.advance(1);
    expect(daemon.peer.client.writableLength).toBeLessThan(100_000);
    daemon.peer.readOn();
    await clock.advance(1);
    expect(daemon.peer.received.length).toBeLessThan(100);
  });

  test('a-quiet-server-is-asked-and-kept-while-it-answers', async () => {
    const { daemon, clock, states } = start();
    await clock.advance(10_000);
    expect(daemon.peer.methods()).toContain('echo');
    expect(states).toEqual([{ kind: 'up' }]);
  });

  test('a-server-that-hangs-is-disconnected-after-twice-the-time-and-tried-again', async () => {
    const { daemon, clock, states } = start(() => undefined);
    await clock.advance(5999);
    expect(states).toEqual([{ kind: 'up' }]);
    await clock.advance(2);
    expect(states[1]).toMatchObject({ kind: 'down', because: { message: 'the daemon said nothing for 6000 ms' } });
    await clock.advance(1000);
    expect(daemon.peers).toHaveLength(2);
  });

  test('an-attempt-that-hangs-times-out', async () => {
    const { daemon, clock, client } = start();
    await clock.advance(1);
    daemon.reachable = 'silent';
    daemon.peer.hangUp();
    await clock.advance(3000);
    expect(daemon.attempts).toBeGreaterThan(2);
    daemon.reachable = 'yes';
    await clock.advance(2000);
    await expect(client.echo()).resolves.toBeUndefined();
  });

  test('pauses-grow-while-nothing-is-received-and-begin-anew-afterwards', async () => {
    const { daemon, clock, states, client } = start();
    await client.echo();
    daemon.reachable = 'no';
    daemon.peer.hangUp();
    await clock.advance(20_000);
    const pauses = states.flatMap((state) => (state.kind === 'down' ? [state.retryInMs] : []));
    expect(pauses.slice(0, 9)).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
    daemon.reachable = 'yes';
    await clock.advance(5000);
    await client.echo();
    daemon.peer.hangUp();
    await clock.advance(1);
    expect(states.at(-1)).toMatchObject({ kind: 'down', retryInMs: 100 });
  });
});

describe('what is not of the protocol', () => {
  test('a-message-beyond-the-limit-ends-the-connection', async () => {
    const { daemon, clock, states } = start(usual, { messageBytesMax: 1000 });
    await clock.advance(1);
    daemon.peer.sendText(`{"x":"${'x'.repeat(2000)}`);
    await clock.advance(1);
    expect(states.at(-1)).toMatchObject({ kind: 'down', because: { code: 'message-too-large' } });
    await clock.advance(1000);
    expect(daemon.peers).toHaveLength(2);
  });

  test('never: anything a server says ends otherwise than in an answer or a failure by name', async () => {
    const message = fc.oneof(
      fc.jsonValue().map((value) => JSON.stringify(value)),
      fc.record({ id: fc.constantFrom(null, 1, 2, 'x'), result: fc.jsonValue() }).map((one) => JSON.stringify(one)),
      fc
        .record({ id: fc.constant(null), method: fc.constant('update'), params: fc.array(fc.jsonValue()) })
        .map((one) => JSON.stringify(one)),
      fc.jsonValue().map((value) => JSON.stringify({ id: null, method: 'update', params: ['muster-1', value] })),
      fc.string(),
      fc.constantFrom('{', '}', '"', '{"id":1,"result":{', '\\'),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(message, { maxLength: 6 }), async (texts) => {
        const { daemon, client, clock } = start(() => undefined);
        await clock.advance(1);
        const requests = [failureOf(client.monitor('Db', TABLES)), failureOf(client.transact('Db', COMMENT))];
        await clock.advance(1);
        for (const text of texts) daemon.peer.sendText(text);
        await clock.advance(2000);
        for (const outcome of await Promise.all(requests)) {
          if (!(outcome instanceof DaemonFailure)) expect(String(outcome)).toBe('Error: it did not fail');
        }
        await client.close();
      }),
      { numRuns: 100 },
    );
  });
});

describe('close', () => {
  test('everything-that-waits-fails-and-nothing-is-tried-any-more', async () => {
    const { daemon, client, clock } = start(() => undefined);
    await clock.advance(1);
    const sent = failureOf(client.echo());
    await clock.advance(1);
    await client.close();
    expect(await sent).toBeInstanceOf(ClientClosed);
    expect(await failureOf(client.echo())).toBeInstanceOf(ClientClosed);
    await clock.advance(60_000);
    expect(daemon.attempts).toBe(1);
  });

  test('while-it-connects-too', async () => {
    const clock = new ManualClock();
    const daemon = new FakeDaemon(usual);
    daemon.reachable = 'silent';
    const client = new OvsdbClient({ address: 'unix:/x', dial: daemon.dial, clock, random: () => 1 });
    const waiting = failureOf(client.echo());
    await client.close();
    expect(await waiting).toBeInstanceOf(ClientClosed);
  });
});
