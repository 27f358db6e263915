// Copies of tables over connections that come and go, and transactions that wait for the switch.
import { describe, expect, test } from 'vitest';
import { applyTransaction, NotApplied } from './apply-transaction.ts';
import { BRIDGES, COMMENT, failureOf, start, TABLES, usual } from './client-fixture.ts';
import { ClientClosed } from '../transport/failures.ts';
import type { Answers } from '../transport/fake-daemon-fixture.ts';
import type { RowChange } from './replica.ts';

function describeChanges(changes: readonly (readonly RowChange[])[]): string[] {
  return changes.flat().map(({ kind, uuid }) => `${kind} ${uuid}`);
}

describe('monitors', () => {
  test('a-copy-is-there-and-follows', async () => {
    const { daemon, client } = start();
    const monitor = await client.monitor('Db', TABLES);
    expect([...monitor.table('Bridge')]).toEqual([['a', { name: 'br-a' }]]);
    const changes: (readonly RowChange[])[] = [];
    monitor.onChange((change) => changes.push(change));
    daemon.peer.send({ id: null, method: 'update', params: ['muster-1', BRIDGES({ b: 'br-b' })] });
    await client.echo();
    expect(describeChanges(changes)).toEqual(['inserted b']);
    expect(monitor.table('Bridge').size).toBe(2);
  });

  test('an-update-on-the-heels-of-the-answer-is-not-lost', async () => {
    const { client } = start((method, params, peer) => {
      if (method !== 'monitor') return usual(method, params, peer);
      const update = { id: null, method: 'update', params: ['muster-1', BRIDGES({ b: 'br-b' })] };
      peer.sendText(JSON.stringify({ id: 1, result: BRIDGES({ a: 'br-a' }) }) + JSON.stringify(update));
      return undefined;
    });
    const monitor = await client.monitor('Db', TABLES);
    expect([...monitor.table('Bridge').keys()]).toEqual(['a', 'b']);
  });

  test('after-a-lost-connection-only-what-differs-is-reported', async () => {
    const { daemon, client, clock } = start();
    const monitor = await client.monitor('Db', TABLES);
    const changes: (readonly RowChange[])[] = [];
    monitor.onChange((change) => changes.push(change));
    daemon.peer.hangUp();
    await clock.advance(1000);
    expect([daemon.peers.length, changes]).toEqual([2, []]);
    daemon.answers = (method, params, peer) =>
      method === 'monitor' ? { result: BRIDGES({ a: 'renamed', c: 'br-c' }) } : usual(method, params, peer);
    daemon.peer.hangUp();
    await clock.advance(1000);
    expect(describeChanges(changes)).toEqual(['changed a', 'inserted c']);
  });

  test('no-caller-gets-a-new-connection-before-the-replicas-are-up-to-date', async () => {
    const { daemon, client, clock } = start();
    const monitor = await client.monitor('Db', TABLES);
    daemon.answers = (method, params, peer) =>
      method === 'monitor' ? { result: BRIDGES({ n: 'new' }) } : usual(method, params, peer);
    daemon.peer.hangUp();
    await clock.advance(1);
    const reply = client.echo().then(() => [...monitor.table('Bridge').keys()]);
    await clock.advance(500);
    expect(await reply).toEqual(['n']);
    expect(daemon.peer.methods()).toEqual(['monitor', 'echo']);
  });

  test('a-server-that-refuses-the-monitor-after-a-restart-is-tried-at-longer-intervals', async () => {
    const { daemon, client, clock, states } = start();
    await client.monitor('Db', TABLES);
    daemon.answers = () => ({ error: 'unknown database' });
    daemon.peer.hangUp();
    await clock.advance(3000);
    const pauses = states.flatMap((state) => (state.kind === 'down' ? [state.retryInMs] : []));
    expect(pauses).toEqual([100, 200, 400, 800, 1600]);
    expect(states.at(-1)).toMatchObject({ because: { code: 'request-refused' } });
  });

  test('a-monitor-that-is-refused-is-not-asked-for-again', async () => {
    const { daemon, client, clock } = start(() => ({ error: 'no such column' }));
    await expect(client.monitor('Db', TABLES)).rejects.toThrow(/no such column/);
    daemon.peer.hangUp();
    await clock.advance(1000);
    expect(daemon.peer.methods()).toEqual([]);
  });

  test('a-closed-monitor-notifies-of-nothing-more', async () => {
    const { daemon, client, clock } = start();
    const monitor = await client.monitor('Db', TABLES);
    const changes: (readonly RowChange[])[] = [];
    monitor.onChange((change) => changes.push(change));
    await client.closeMonitor(monitor);
    daemon.peer.send({ id: null, method: 'update', params: ['muster-1', BRIDGES({ b: 'br-b' })] });
    await client.echo();
    daemon.peer.hangUp();
    await clock.advance(1000);
    expect([changes, daemon.peers[0]?.methods()]).toEqual([[], ['monitor', 'monitor_cancel', 'echo']]);
    expect(daemon.peer.methods()).toEqual([]);
  });

  test('a-listener-that-fails-costs-the-connection-and-not-the-process', async () => {
    const { daemon, client, clock, states } = start();
    const monitor = await client.monitor('Db', TABLES);
    monitor.onChange(() => {
      throw new Error('a mistake');
    });
    daemon.peer.send({ id: null, method: 'update', params: ['muster-1', BRIDGES({ b: 'br-b' })] });
    await clock.advance(1);
    expect(states.at(-1)).toMatchObject({ kind: 'down', because: { message: 'a mistake' } });
  });

  test('until-ends-with-a-find-a-time-out-or-the-client', async () => {
    const { daemon, client, clock } = start();
    const monitor = await client.monitor('Db', TABLES);
    const look = () => monitor.table('Bridge').get('b')?.['name'];
    const late = failureOf(monitor.waitFor(look, { what: 'b is there', timeoutMs: 10 }));
    await clock.advance(11);
    expect(await late).toMatchObject({ code: 'request-timed-out', message: 'not within 10 ms: b is there' });
    const found = monitor.waitFor(look, { what: 'b is there', timeoutMs: 500 });
    daemon.peer.send({ id: null, method: 'update', params: ['muster-1', BRIDGES({ b: 'br-b' })] });
    expect(await found).toBe('br-b');
    const never = failureOf(monitor.waitFor(() => undefined, { what: 'nothing', timeoutMs: 500 }));
    await client.close();
    expect(await never).toBeInstanceOf(ClientClosed);
    expect(await failureOf(monitor.waitFor(() => undefined, { what: 'nothing', timeoutMs: 500 }))).toBeInstanceOf(
      ClientClosed,
    );
  });
});

describe('applied', () => {
  const root = (cur: number): object => ({ Open_vSwitch: { r: { new: { cur_cfg: cur, next_cfg: 5 } } } });

  const vswitch: Answers = (method) => {
    if (method === 'monitor') return { result: root(4) };
    return { result: [{}, { count: 1 }, { rows: [{ next_cfg: 5 }] }] };
  };

  const tables = { Open_vSwitch: ['cur_cfg', 'next_cfg'] };

  test('it-resolves-when-the-switch-has-caught-up', async () => {
    const { daemon, client, clock } = start(vswitch);
    const monitor = await client.monitor('Open_vSwitch', tables);
    const applied = applyTransaction(client, monitor, { operations: COMMENT, timeoutMs: 500 });
    await clock.advance(1);
    daemon.peer.send({ id: null, method: 'update', params: ['muster-1', root(5)] });
    expect(await applied).toEqual([{ kind: 'done' }]);
  });

  test('a-switch-that-does-not-run-has-not-applied-it', async () => {
    const { client, clock } = start(vswitch);
    const monitor = await client.monitor('Open_vSwitch', tables);
    const failure = failureOf(applyTransaction(client, monitor, { operations: COMMENT, timeoutMs: 500 }));
    await clock.advance(501);
    expect(await failure).toBeInstanceOf(NotApplied);
    expect(await failure).toMatchObject({
      code: 'not-applied',
      retryable: true,
      message: 'the switch has applied configuration 4 and not 5 within 500 ms',
    });
  });
});
