// The client against a switch that does what the test says: it refuses, answers late or never, speaks another version, goes away.
import { describe, expect, test } from 'vitest';
import { ClientClosed, ConnectionLost, RequestTimedOut } from '../transport/failures.ts';
import type { FlowGroup } from '../../switch/switch.ts';
import type { PacketIn } from './replies.ts';
import { failureOf, flowNr, hasMatch, packetIn, puts, start } from './client-fixture.ts';
import type { FakeSwitch } from './fake-switch-fixture.ts';
import { MESSAGE } from './message-codes.ts';
import { BadFlowText, ProtocolError, RefusedBySwitch, UnknownPort } from './errors.ts';

const GROUP: FlowGroup = { id: 0x4000_0001, type: 'indirect', buckets: ['output:"vm1"'] };
const BAD_GROUP = [2, 9] as const;

const causeOf = (error: unknown): unknown => (error instanceof Error ? error.cause : undefined);

describe('changes', () => {
  test('what-was-put-in-a-bundle is read in as many parts as it takes', async () => {
    const { client } = start();
    await client.bundle([{ kind: 'put-group', group: GROUP }, ...puts(7)]);
    expect(await client.flows()).toEqual(Array.from({ length: 7 }, (_, nth) => flowNr(nth)));
    expect(await client.groups()).toEqual([GROUP]);
    expect(await client.ports()).toEqual([]);
  });

  test('a-bundle-of-many-pieces arrives in its order', async () => {
    const { client, fake } = start();
    await client.bundle(puts(5000));
    expect(fake.changes).toHaveLength(5000);
    fake.entriesInPart = 500;
    expect(await client.flows()).toEqual(Array.from({ length: 5000 }, (_, nth) => flowNr(nth)));
  });

  test.each(['add', 'commit'] as const)('one-refused-at-%s: nothing is applied, and it is named', async (at) => {
    const { client, fake } = start();
    const isThird = hasMatch('reg0=0x3');
    fake.faults.refuses = (body) => (isThird(body) ? { at, error: BAD_GROUP } : undefined);
    const failure = await failureOf(client.bundle(puts(5)));
    expect(failure).toBeInstanceOf(RefusedBySwitch);
    expect(failure).toMatchObject({ code: 'switch-refused', error: 'OFPBAC_BAD_OUT_GROUP' });
    expect(String(failure)).toContain('table=10,priority=30,reg0=0x3 actions=resubmit(,20)');
    expect([fake.changes, fake.waiting]).toEqual([[], 0]);
    await client.bundle(puts(2));
    expect(fake.changes).toHaveLength(2);
  });

  test('one-alone-that-is-refused is named too', async () => {
    const { client, fake } = start();
    fake.faults.refuses = () => ({ at: 'add', error: BAD_GROUP });
    await expect(client.bundle([{ kind: 'put-group', group: GROUP }])).rejects.toThrow(
      'the switch refuses the group 1073741825 of type indirect with the buckets "output:"vm1"": OFPBAC_BAD_OUT_GROUP',
    );
    await expect(client.bundle([{ kind: 'remove-group', id: 7 }])).rejects.toThrow('to remove the group 7');
    const { table, priority, match } = flowNr(0);
    await expect(client.bundle([{ kind: 'remove-flow', flow: { table, priority, match } }])).rejects.toThrow(
      'to remove the flow "table=10,priority=30,reg0=0x1"',
    );
  });

  test.each([
    ['a-port-that-is-not-there', 'output:"gone"', UnknownPort],
    ['unknown-words', 'frobnicate', BadFlowText],
  ])('%s in the middle of a long bundle: nothing is applied', async (_, actions, kind) => {
    const { client, fake } = start();
    const mods = [...puts(3000), { kind: 'put-flow', flow: flowNr(9999, actions) } as const, ...puts(3)];
    expect(await failureOf(client.bundle(mods))).toBeInstanceOf(kind);
    expect([fake.changes, fake.waiting]).toEqual([[], 0]);
    await client.bundle(puts(2));
    expect(fake.changes).toHaveLength(2);
  });

  test('bundles-go-one-after-the-other, and one that fails does not stop the next', async () => {
    const { client, fake } = start();
    const all = [client.bundle(puts(3000)), failureOf(client.bundle([{ kind: 'remove-group', id: -1 }]))];
    const last = client.bundle([{ kind: 'put-group', group: GROUP }]);
    await Promise.all([...all, last]);
    expect(fake.changes.map(({ type }) => type).lastIndexOf(MESSAGE.flowMod)).toBe(2999);
    expect(fake.changes.at(-1)?.type).toBe(MESSAGE.groupMod);
  });

  test('nothing-to-change asks nothing', async () => {
    const { client, fake, clock } = start();
    await client.bundle([]);
    await clock.advance(1);
    expect(fake.received).toEqual([MESSAGE.hello]);
  });
});

describe('packets', () => {
  const data = Uint8Array.from([1, 2, 3]);

  test('go-out-alone-or-many-in-one-bundle', async () => {
    const { client, fake } = start();
    await client.sendPacket({ actions: 'output:"vm1"', data });
    await client.sendPackets([
      { inPort: '"vm1"', actions: 'resubmit(,0)', data },
      { inPort: 'LOCAL', actions: 'drop', data },
    ]);
    const hex = fake.changes.map(({ body }) => Buffer.from(body).toString('hex'));
    expect(hex).toEqual([
      'fffffffffffffffd001000000000000000000010000000010000000000000000010203',
      'ffffffff000000010010000000000000ffff001000002320000efff800000000010203',
      'fffffffffffffffe0000000000000000010203',
    ]);
  });

  test('one-that-is-refused is named', async () => {
    const { client, fake } = start();
    fake.faults.refuses = () => ({ at: 'add', error: BAD_GROUP });
    await expect(client.sendPacket({ actions: 'group:5', data })).rejects.toThrow(
      'a packet of 3 bytes from CONTROLLER with the actions "group:5": OFPBAC_BAD_OUT_GROUP',
    );
  });

  test('come-in-to-whoever-listens, after it was said that they are wanted', async () => {
    const { client, fake, clock } = start();
    const packets: PacketIn[] = [];
    await clock.advance(1);
    expect(fake.received).not.toContain(MESSAGE.setConfig);
    const stop = client.onPacketIn((packet) => packets.push(packet));
    await clock.advance(1);
    expect(fake.received).toContain(MESSAGE.setConfig);
    fake.send(MESSAGE.packetIn, 0, packetIn('in_port="vm1",metadata=0x7', [9, 8, 7]));
    await clock.advance(1);
    stop();
    fake.send(MESSAGE.packetIn, 0, packetIn('', []));
    await clock.advance(1);
    expect(packets).toEqual([
      {
        table: 10,
        reason: 1,
        cookie: '4d55000000000001',
        match: 'in_port="vm1",metadata=0x7',
        data: Uint8Array.from([9, 8, 7]),
      },
    ]);
  });

  test('beyond-the-rate are dropped and counted', async () => {
    const { client, fake, clock } = start(undefined, { packetIns: { perSecond: 10, burst: 3 } });
    let count = 0;
    client.onPacketIn(() => (count += 1));
    await clock.advance(1);
    for (let nth = 0; nth < 10; nth += 1) fake.send(MESSAGE.packetIn, nth, packetIn('', []));
    await clock.advance(1);
    expect([count, client.packetsDropped]).toEqual([3, 7]);
    await clock.advance(100);
    fake.send(MESSAGE.packetIn, 0, packetIn('', []));
    await clock.advance(1);
    expect([count, client.packetsDropped]).toEqual([4, 7]);
  });
});

describe('the connection', () => {
  test('a-switch-without-1.4 is told what to set', async () => {
    const { client, clock, events } = start((fake) => {
      fake.faults.versions = (1 << 1) | (1 << 4);
    });
    const failure = await failureOf(client.flows());
    expect(failure).toBeInstanceOf(ConnectionLost);
    expect(String(failure)).toContain('does not speak OpenFlow 1.4: its column "protocols"');
    await clock.advance(1);
    expect(client.isUp).toBe(false);
    expect(events).toHaveLength(1);
  });

  test('echoes-are-answered-with-what-they-said', async () => {
    const { fake, clock, client } = start();
    await client.barrier();
    fake.send(MESSAGE.echoRequest, 77, [1, 2, 3]);
    await clock.advance(1);
    expect(fake.received.at(-1)).toBe(MESSAGE.echoReply);
  });

  test('a-quiet-switch is asked, and stays while it answers', async () => {
    const { fake, clock, client, events } = start();
    await clock.advance(20_000);
    expect(fake.received.filter((type) => type === MESSAGE.echoRequest).length).toBeGreaterThan(2);
    expect([client.isUp, events]).toEqual([true, ['up']]);
  });

  test('a-switch-that-sends-nothing-more is disconnected and tried again', async () => {
    const { fake, clock, client, events } = start();
    await clock.advance(1);
    fake.faults.silentTo = new Set([MESSAGE.echoRequest]);
    await clock.advance(9000);
    expect(events).toEqual(['up', 'the switch said nothing for 6000 ms']);
    fake.faults.silentTo = new Set();
    await clock.advance(200);
    expect([client.isUp, events.at(-1), fake.connections]).toEqual([true, 'up', 2]);
  });

  test('a-question-without-an-answer ends in time, and the connection with it', async () => {
    const { fake, clock, client, events } = start((one) => {
      one.faults.silentTo = new Set([MESSAGE.barrierRequest]);
    });
    const failure = failureOf(client.barrier());
    await clock.advance(1001);
    expect(await failure).toBeInstanceOf(RequestTimedOut);
    expect(events.at(-1)).toContain('did not answer within 1000 ms');
    fake.faults.silentTo = new Set();
    await clock.advance(500);
    await client.barrier();
  });

  test('a-switch-with-much-to-do is not a dead one', async () => {
    const prepare = (fake: FakeSwitch): void => {
      fake.faults.silentTo = new Set([MESSAGE.multipartRequest, MESSAGE.echoRequest]);
    };
    const { clock, client, events } = start(prepare, { bulkTimeoutMs: 30_000 });
    const failure = failureOf(client.flows());
    await clock.advance(29_000);
    expect(events).toEqual(['up']);
    await clock.advance(1001);
    expect(await failure).toBeInstanceOf(RequestTimedOut);
  });

  test('a-bundle-that-is-never-committed ends in time', async () => {
    const { clock, client, fake } = start((one) => {
      one.faults.silentTo = new Set([MESSAGE.bundleControl]);
    });
    const failure = failureOf(client.bundle(puts(3)));
    await clock.advance(2001);
    expect(await failure).toMatchObject({ retryable: true });
    expect(fake.changes).toEqual([]);
  });

  test('a-switch-that-does-not-read-on is disconnected', async () => {
    const { clock, client, fake } = start();
    await client.barrier();
    fake.stopReading();
    const failure = failureOf(client.bundle(puts(20_000)));
    await clock.advance(10_000);
    expect(await failure).toBeInstanceOf(ConnectionLost);
  });

  test('what-was-on-its-way-when-the-switch-went fails; a new connection is made with longer and longer pauses', async () => {
    const { fake, clock, client, events } = start((one) => {
      one.faults.silentTo = new Set([MESSAGE.multipartRequest]);
    });
    const failure = failureOf(client.flows());
    await clock.advance(1);
    fake.faults.unreachable = true;
    fake.hangUp();
    expect(await failure).toMatchObject({ code: 'connection-lost', retryable: true });
    await clock.advance(10_000);
    const tries = fake.connections;
    expect(tries).toBeGreaterThan(4);
    await clock.advance(5000);
    expect(fake.connections).toBe(tries + 1);
    await expect(client.flows()).rejects.toThrow('there is no connection to the switch: connection refused');
    fake.faults.unreachable = false;
    await clock.advance(5000);
    expect(client.isUp).toBe(true);
    expect(events.filter((one) => one === 'up')).toHaveLength(2);
  });

  test('after-a-new-connection packets are asked for again', async () => {
    const { fake, clock, client } = start();
    client.onPacketIn(() => {});
    await clock.advance(1);
    fake.hangUp();
    await clock.advance(200);
    expect(fake.received.filter((type) => type === MESSAGE.setConfig)).toHaveLength(2);
  });

  test('a-switch-that-takes-a-connection-and-does-not-greet is disconnected', async () => {
    const { clock, client, events } = start((fake) => {
      fake.faults.mute = true;
    });
    const failure = failureOf(client.barrier());
    await clock.advance(1001);
    expect(await failure).toMatchObject({ message: 'no connection within 1000 ms' });
    expect(events).toEqual(['no connection within 1000 ms']);
  });

  test.each([
    ['a-message-of-no-length', [5, 0, 0, 0, 0, 0, 0, 0]],
    ['a-message-of-another-version', [4, 2, 0, 8, 0, 0, 0, 0]],
  ])('%s ends the connection', async (_, bytes) => {
    const { fake, clock, client } = start((one) => {
      one.faults.silentTo = new Set([MESSAGE.multipartRequest]);
    });
    const failure = failureOf(client.flows());
    await clock.advance(1);
    fake.sendBytes(Uint8Array.from(bytes));
    expect(await failure).toMatchObject({ code: 'connection-lost' });
    expect(causeOf(await failure)).toBeInstanceOf(ProtocolError);
  });

  test.each([
    ['another-list', MESSAGE.multipartReply, [0, 7, 0, 0, 0, 0, 0, 0]],
    ['no-list', MESSAGE.barrierReply, []],
    ['a-list-that-is-cut', MESSAGE.multipartReply, [0, 1, 0, 0, 0, 0, 0, 0, 0, 99]],
  ])('%s in answer to a list ends the connection', async (_, type, body) => {
    const { fake, clock, client } = start((one) => {
      one.faults.silentTo = new Set([MESSAGE.multipartRequest]);
    });
    const failure = failureOf(client.flows());
    await clock.advance(1);
    for (let xid = 1; xid < 5; xid += 1) fake.send(type, xid, body);
    expect(causeOf(await failure)).toBeInstanceOf(ProtocolError);
  });

  test('a-message-that-is-no-reply is ignored', async () => {
    const { fake, clock, client } = start();
    await client.barrier();
    fake.send(12, 0, [1, 2, 3]);
    fake.send(MESSAGE.barrierReply, 9999);
    fake.send(MESSAGE.error, 9999, [0, 1, 0, 1]);
    await clock.advance(1);
    await client.barrier();
    expect(fake.connections).toBe(1);
  });

  test('after-it-was-closed nothing is requested any more, and no connection is tried', async () => {
    const { fake, clock, client } = start((one) => {
      one.faults.silentTo = new Set([MESSAGE.barrierRequest]);
    });
    const failure = failureOf(client.barrier());
    await clock.advance(1);
    await client.close();
    expect(await failure).toBeInstanceOf(ClientClosed);
    await expect(client.flows()).rejects.toBeInstanceOf(ClientClosed);
    await clock.advance(60_000);
    expect(fake.connections).toBe(1);
  });

  test('listeners-that-stopped are not called', async () => {
    const { fake, clock, client } = start();
    const states: string[] = [];
    await clock.advance(1);
    const stop = [client.onUp(() => states.push('up')), client.onDown(() => states.push('down'))];
    expect(states).toEqual(['up']);
    for (const one of stop) one();
    fake.hangUp();
    await clock.advance(500);
    expect(states).toEqual(['up']);
  });
});
