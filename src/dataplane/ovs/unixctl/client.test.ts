// The client of the control socket against a daemon that does what the test says.
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ManualClock } from '../../../network/back-ends/clock-fixture.ts';
import { ClientClosed, DaemonFailure } from '../transport/failures.ts';
import { type Answers, FakeDaemon } from '../transport/fake-daemon-fixture.ts';
import { CommandRefused, UnixctlClient } from './client-driver.ts';

interface World {
  readonly clock: ManualClock;
  readonly daemon: FakeDaemon;
  readonly client: UnixctlClient;
}

const said: Answers = (method, params) => ({ result: [method, ...params].join(' ') });

function start(answers: Answers = said): World {
  const clock = new ManualClock();
  const daemon = new FakeDaemon(answers);
  const options = { address: 'unix:/not/used', dial: daemon.dial, clock, random: () => 1 };
  const client = new UnixctlClient({ ...options, commandTimeoutMs: 1000 });
  onTestFinished(() => client.close());
  return { clock, daemon, client };
}

function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  );
}

describe('unixctl client', () => {
  test('commands-are-sent-one-at-a-time-in-their-order', async () => {
    const { daemon, client, clock } = start(() => undefined);
    const answers = [client.command('first'), client.command('second'), client.command('third')];
    await clock.advance(1);
    expect(daemon.peer.methods()).toEqual(['first']);
    daemon.peer.send({ id: 1, result: '1', error: null });
    await clock.advance(1);
    expect(daemon.peer.methods()).toEqual(['first', 'second']);
    daemon.peer.send({ id: 2, error: 'no' });
    await expect(answers[1]).rejects.toThrow(new CommandRefused('second', 'no'));
    await clock.advance(1);
    daemon.peer.send({ id: 3, result: '3', error: null });
    expect([await answers[0], await answers[2]]).toEqual(['1', '3']);
  });

  test('each-command-is-what-the-daemon-knows-it-as', async () => {
    const { daemon, client } = start();
    await client.waitForRevalidators();
    await client.dumpConntrack();
    await client.dumpConntrack({ zone: 7 });
    await client.flushConntrack({ zone: 65_535 });
    await client.disableTcpSequenceCheck();
    await client.neighbours();
    await client.setNeighbour({ bridge: 'br', address: '10.0.0.1', mac: '02:00:00:00:00:01' });
    expect(await client.trace('br', 'in_port=1')).toBe('ofproto/trace br in_port=1');
    const sent = daemon.peer.received.map((one) =>
      'method' in one ? [one.method, ...one.params].join(' ') : one.kind,
    );
    expect(sent).toEqual([
      'revalidator/wait',
      'dpctl/dump-conntrack -s',
      'dpctl/dump-conntrack -s zone=7',
      'dpctl/flush-conntrack zone=65535',
      'dpctl/ct-disable-tcp-seq-chk',
      'tnl/neigh/show',
      'tnl/neigh/set br 10.0.0.1 02:00:00:00:00:01',
      'ofproto/trace br in_port=1',
    ]);
  });

  test.each([-1, 65_536, 1.5, Number.NaN])('never: another zone is flushed than was meant: %s', async (zone) => {
    const { daemon, client, clock } = start();
    await clock.advance(1);
    await expect(client.flushConntrack({ zone })).rejects.toThrow(CommandRefused);
    await expect(client.dumpConntrack({ zone })).rejects.toThrow(CommandRefused);
    expect(daemon.peer.received).toEqual([]);
  });

  test('a-command-that-hangs-holds-up-itself-alone', async () => {
    const { daemon, client, clock } = start((method, params, peer) =>
      method === 'hang' ? undefined : said(method, params, peer),
    );
    const failure = failureOf(client.command('hang'));
    const next = client.command('next');
    await clock.advance(1001);
    expect(await failure).toMatchObject({ code: 'request-timed-out', retryable: true });
    await clock.advance(500);
    expect(await next).toBe('next');
    expect(daemon.peers).toHaveLength(2);
  });

  test('a-daemon-that-was-restarted-is-found-again', async () => {
    const { daemon, client, clock } = start();
    await client.command('before');
    daemon.peer.hangUp();
    await clock.advance(1);
    const after = client.command('after');
    await clock.advance(500);
    expect(await after).toBe('after');
  });

  test('a-quiet-connection-is-not-closed', async () => {
    const { daemon, client, clock } = start();
    await client.command('before');
    await clock.advance(3_600_000);
    expect(await client.command('after')).toBe('after');
    expect([daemon.attempts, daemon.peer.methods()]).toEqual([1, ['before', 'after']]);
  });

  test('too-many-commands-are-refused', async () => {
    const { client, clock } = start(() => undefined);
    const failures = Array.from({ length: 257 }, () => failureOf(client.command('wait')));
    await clock.advance(1);
    expect(await failures[256]).toMatchObject({ code: 'too-busy', retryable: true });
    await client.close();
    const codes = (await Promise.all(failures)).map((error) => (error as DaemonFailure).code);
    expect(codes.filter((code) => code === 'client-closed')).toHaveLength(256);
  });

  test('never: an answer is taken for something else than a text', async () => {
    const answer = fc.oneof(fc.record({ result: fc.jsonValue() }), fc.record({ error: fc.jsonValue() }));
    await fc.assert(
      fc.asyncProperty(answer, async (text) => {
        const { client, clock } = start(() => text);
        const outcome = client.command('x').catch((error: unknown) => error);
        await clock.advance(2000);
        const got = await outcome;
        expect(typeof got === 'string' || got instanceof DaemonFailure).toBe(true);
        await client.close();
      }),
      { numRuns: 50 },
    );
  });

  test('a-closed-client-says-so', async () => {
    const { client } = start();
    await client.close();
    expect(await failureOf(client.command('x'))).toBeInstanceOf(ClientClosed);
  });
});
