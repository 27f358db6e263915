// The client of the database on the real one: what it writes is read back by the tools of Open vSwitch, and the other way round.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { applyTransaction, NotApplied } from '../../src/dataplane/ovs/ovsdb/apply-transaction.ts';
import { readInterfaceErrors } from '../../src/dataplane/ovs/interface-errors.ts';
import { ConnectionLost } from '../../src/dataplane/ovs/transport/failures.ts';
import type { ReconnectState } from '../../src/dataplane/ovs/transport/reconnecting-connection-driver.ts';
import type { OvsdbOperation } from '../../src/dataplane/ovs/ovsdb/operation.ts';
import { OvsdbClient, type OvsdbClientOptions } from '../../src/dataplane/ovs/ovsdb/client-driver.ts';
import { numberColumn, textColumn, textMapColumn, uuidsColumn } from '../../src/dataplane/ovs/ovsdb/read-column.ts';
import { TransactionRefused } from '../../src/dataplane/ovs/ovsdb/transaction-refused.ts';
import type { RowChange } from '../../src/dataplane/ovs/ovsdb/replica.ts';
import { mapOf, setOf } from '../../src/dataplane/ovs/ovsdb/value.ts';
import { realClock } from '../../src/main/clock.ts';
import { start, type OvsDaemons } from './ovs-daemons.ts';
import { ovsSuite } from './suite.ts';

const DATABASE = 'Open_vSwitch';
const TABLES = {
  Open_vSwitch: ['cur_cfg', 'next_cfg', 'bridges'],
  Bridge: ['name', 'external_ids', 'ports', 'fail_mode', 'datapath_id'],
  Interface: ['name', 'ofport', 'error', 'type'],
};

function open(address: string, options: Partial<OvsdbClientOptions> = {}): OvsdbClient {
  const client = new OvsdbClient({ address, clock: realClock, random: Math.random, ...options });
  onTestFinished(() => client.close());
  return client;
}

/** A bridge with the port that every bridge has. */
function addBridge(name: string): OvsdbOperation[] {
  const owned = [
    { op: 'insert', table: 'Interface', row: { name, type: 'internal' }, name: 'interface' },
    { op: 'insert', table: 'Port', row: { name, interfaces: { namedUuid: 'interface' } }, name: 'port' },
  ] as const;
  const row = { name, datapath_type: 'netdev', fail_mode: 'secure', ports: setOf([{ namedUuid: 'port' }]) };
  return [
    ...owned,
    { op: 'insert', table: 'Bridge', row: { ...row, external_ids: mapOf({ owner: 'muster' }) }, name: 'bridge' },
    { op: 'mutate', table: 'Open_vSwitch', where: [], mutations: [['bridges', 'insert', { namedUuid: 'bridge' }]] },
  ];
}

function addPort(bridge: string, name: string, type: string): OvsdbOperation[] {
  return [
    { op: 'insert', table: 'Interface', row: { name, type }, name: 'interface' },
    { op: 'insert', table: 'Port', row: { name, interfaces: { namedUuid: 'interface' } }, name: 'port' },
    {
      op: 'mutate',
      table: 'Bridge',
      where: [['name', '==', bridge]],
      mutations: [['ports', 'insert', { namedUuid: 'port' }]],
    },
  ];
}

async function refusalOf(promise: Promise<unknown>): Promise<TransactionRefused> {
  const error = await promise.catch((thrown: unknown) => thrown);
  if (error instanceof TransactionRefused) return error;
  throw new Error(`not refused: ${String(error)}`);
}

/** Waits for what the tests themselves have set in motion. */
async function waitUntil(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await setTimeout(10);
}

ovsSuite('ovsdb', () => {
  let ovs: OvsDaemons;
  beforeAll(async () => {
    ovs = await start();
  });
  afterAll(() => ovs?.close());

  test('a-bridge-that-was-written-is-there-when-it-is-applied', async () => {
    const client = open(ovs.db);
    const monitor = await client.monitor(DATABASE, TABLES);
    const applied = await applyTransaction(client, monitor, { operations: addBridge('br-one'), timeoutMs: 20_000 });
    expect(applied.map(({ kind }) => kind)).toEqual(['inserted', 'inserted', 'inserted', 'counted']);
    expect(readInterfaceErrors(monitor)).toEqual([]);
    expect(await ovs.vsctl('get', 'bridge', 'br-one', 'external_ids')).toBe('{owner=muster}\n');
    expect(await ovs.ofctl('show', 'br-one')).toMatch(/LOCAL\(br-one\)/);
    const bridge = [...monitor.table('Bridge').values()].find((row) => textColumn(row, 'name') === 'br-one');
    expect([textMapColumn(bridge, 'external_ids'), textColumn(bridge, 'fail_mode')]).toEqual([
      { owner: 'muster' },
      'secure',
    ]);
    expect(textColumn(bridge, 'datapath_id')).toMatch(/^[0-9a-f]{16}$/);
    const own = [...monitor.table('Interface').values()].find((row) => textColumn(row, 'name') === 'br-one');
    expect(numberColumn(own, 'ofport')).toBe(65_534);
    expect(uuidsColumn([...monitor.table('Open_vSwitch').values()][0], 'bridges')).toHaveLength(1);
  });

  test('an-interface-that-the-switch-cannot-open-is-reported', async () => {
    await ovs.addBridge('br-two');
    const client = open(ovs.db);
    const monitor = await client.monitor(DATABASE, TABLES);
    const operations = addPort('br-two', 'nowhere0', '');
    await applyTransaction(client, monitor, { operations, timeoutMs: 20_000 });
    const interfaceErrors = readInterfaceErrors(monitor);
    expect(interfaceErrors).toMatchObject([{ name: 'nowhere0' }]);
    expect(interfaceErrors[0]?.error).toMatch(/No such device|could not open/);
  });

  test('changes-by-others-are-reported', async () => {
    const client = open(ovs.db);
    const monitor = await client.monitor(DATABASE, { Bridge: ['name', 'external_ids'] });
    const changes: RowChange[] = [];
    monitor.onChange((rows) => changes.push(...rows));
    await ovs.vsctl('add-br', 'br-theirs', '--', 'set', 'bridge', 'br-theirs', 'datapath_type=netdev');
    await ovs.vsctl('set', 'bridge', 'br-theirs', 'external_ids:a=b');
    await ovs.vsctl('del-br', 'br-theirs');
    await client.echo();
    expect(changes.map(({ kind }) => kind)).toEqual(['inserted', 'changed', 'removed']);
  });

  test('a-refused-transaction-names-operation-and-column-and-nothing-of-it-is-done', async () => {
    const client = open(ovs.db);
    const good: OvsdbOperation = { op: 'mutate', table: 'Open_vSwitch', where: [], mutations: [['next_cfg', '+=', 1]] };
    const before = await ovs.vsctl('get', 'Open_vSwitch', '.', 'next_cfg');
    const refused = async (...bad: readonly OvsdbOperation[]): Promise<object> => {
      const { operation, table, column, error } = await refusalOf(client.transact(DATABASE, [good, ...bad]));
      return { operation, table, column, error };
    };
    const insert = (row: Extract<OvsdbOperation, { readonly op: 'insert' }>['row']): OvsdbOperation => ({
      op: 'insert',
      table: 'Bridge',
      row,
    });
    expect(await refused(insert({ nme: 'x' }))).toEqual({
      operation: 1,
      table: 'Bridge',
      column: 'nme',
      error: 'unknown column',
    });
    expect(await refused(insert({ name: 5, fail_mode: 'secure' }))).toMatchObject({ operation: 1, column: 'name' });
    expect(await refused(insert({ name: 'x', fail_mode: 'no' }))).toMatchObject({ operation: 1, column: 'fail_mode' });
    const twice: OvsdbOperation = { op: 'insert', table: 'Bridge', row: { name: 'br-one' }, name: 'twice' };
    const held: OvsdbOperation = {
      op: 'mutate',
      table: 'Open_vSwitch',
      where: [],
      mutations: [['bridges', 'insert', { namedUuid: 'twice' }]],
    };
    expect(await refused(twice, held)).toMatchObject({
      operation: undefined,
      table: 'Bridge',
      column: 'name',
      error: 'constraint violation',
    });
    expect(await refused({ op: 'wait', table: 'Bridge', where: [], rows: [{ name: 'x' }] })).toMatchObject({
      operation: 1,
      error: 'timed out',
    });
    expect(await ovs.vsctl('get', 'Open_vSwitch', '.', 'next_cfg')).toBe(before);
    await expect(client.transact('Nothing', [good])).rejects.toThrow(/unknown database/);
    await expect(client.monitor(DATABASE, { Bridge: ['nme'] })).rejects.toThrow(/not a valid column/);
  });

  test('after-a-restart-of-the-database-the-copy-is-as-it-is-there', async () => {
    const states: ReconnectState[] = [];
    const client = open(ovs.db, { onState: (state) => states.push(state) });
    const monitor = await client.monitor(DATABASE, { Bridge: ['name'], Open_vSwitch: ['external_ids'] });
    const changes: RowChange[] = [];
    monitor.onChange((rows) => changes.push(...rows));
    await ovs.killDatabase();
    await waitUntil(() => states.at(-1)?.kind === 'down');
    await ovs.startDatabase();
    await ovs.vsctl('--no-wait', 'set', 'Open_vSwitch', '.', 'external_ids:while=away');
    await monitor.waitFor(
      () => textMapColumn([...monitor.table('Open_vSwitch').values()][0], 'external_ids')['while'],
      {
        what: 'the change is received',
        timeoutMs: 20_000,
      },
    );
    // The rows that are as they were are not reported again.
    expect(changes.map(({ kind, table }) => `${kind} ${table}`)).toEqual(['changed Open_vSwitch']);
    expect(states[0]).toEqual({ kind: 'up' });
  });

  test('a-switch-that-does-not-run-applies-nothing-until-it-does', async () => {
    const client = open(ovs.db);
    const monitor = await client.monitor(DATABASE, TABLES);
    await ovs.killSwitch();
    const operations: OvsdbOperation[] = [{ op: 'comment', comment: 'nobody is there to apply this' }];
    await expect(applyTransaction(client, monitor, { operations, timeoutMs: 200 })).rejects.toThrow(NotApplied);
    await ovs.startSwitch();
    await expect(applyTransaction(client, monitor, { operations, timeoutMs: 20_000 })).resolves.toMatchObject({});
  });

  test('over-tcp-too', async () => {
    const forward = createServer((socket) => {
      const inner = connect(ovs.db.slice('unix:'.length));
      for (const one of [socket, inner]) one.on('error', () => {});
      socket.pipe(inner).pipe(socket);
      socket.on('close', () => inner.destroy());
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void forward.close());
    await once(forward, 'listening');
    const client = open(`tcp:127.0.0.1:${(forward.address() as AddressInfo).port}`);
    const monitor = await client.monitor(DATABASE, TABLES);
    expect(monitor.table('Open_vSwitch').size).toBe(1);
    // Before the server is closed: it waits for its connections.
    await client.close();
  });

  test('a-refused-connection-is-reported-with-the-name-of-the-socket', async () => {
    const client = open(`unix:${ovs.folder}/nothing.sock`, { requestTimeoutMs: 300 });
    const failure = await client.echo().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConnectionLost);
    expect(String(failure)).toMatch(/there is no \S+nothing\.sock/);
  });

  test('ten-thousand-rows-come-in-one-piece', async () => {
    const client = open(ovs.db);
    const rows = Array.from({ length: 10_000 }, (_, index) => index);
    // Rows that nothing points at are swept away at the end of their transaction: one row holds them together.
    const queues: OvsdbOperation[] = rows.map((index) => ({
      op: 'insert',
      table: 'Queue',
      row: { external_ids: mapOf({ text: `{"${'x'.repeat(100)}\\\u{1F600}${index}` }) },
      name: `q${index}`,
    }));
    const held = rows.map((index) => [index, { namedUuid: `q${index}` }] as const);
    const qos: OvsdbOperation = { op: 'insert', table: 'QoS', row: { type: 'linux-noop', queues: { map: held } } };
    await client.transact(DATABASE, [...queues, qos]);
    const monitor = await client.monitor(DATABASE, { Queue: ['external_ids'] });
    const texts = new Set(
      [...monitor.table('Queue').values()].map((row) => textMapColumn(row, 'external_ids')['text']),
    );
    expect(texts.size).toBe(10_000);
    expect(texts).toContain(`{"${'x'.repeat(100)}\\\u{1F600}9999`);
  });
});
