// What every switch keeps to, the simulated and the real ones.
import { afterEach, describe, expect, test } from 'vitest';
import { bfdPortName, IdAllocator } from './derived-ids.ts';
import { TUNNEL_PORT } from './tables.ts';
import { SwitchRefused, type Flow, type FlowGroup, type Switch, type SwitchChange, type Tunnel } from './switch.ts';

export interface SwitchUnderTest {
  readonly it: Switch;
  /** Changes by another program, past our own way to it. */
  readonly applyForeign: (changes: readonly SwitchChange[]) => Promise<void>;
  /** Another way to the same switch, as an agent has it that was started anew. */
  readonly reopen: () => Promise<Switch>;
  /** The ports that are there for our flows, looked up past our own way to it. */
  readonly ownPorts: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

const numbers = new IdAllocator();
const COOKIE = numbers.cookie({ kind: 'service', id: 'nat:edge' });
const GROUP = numbers.group('nat:edge');
const FOREIGN = '00000000000000aa';

const tunnel: Tunnel = { peer: 'c2', address: '172.16.0.2' };
const group: FlowGroup = {
  id: GROUP,
  type: 'indirect',
  buckets: ['set_field:0x3e8->tun_id,set_field:172.16.0.2->tun_dst,output:"muster-tun"'],
};
const flow: Flow = { table: 30, priority: 10, match: 'reg0=0x1', actions: `group:${GROUP}`, cookie: COOKIE };
const plain: Flow = { table: 0, priority: 0, match: '', actions: 'drop', cookie: COOKIE };
const foreign: Flow = { table: 0, priority: 7, match: 'dl_dst=02:00:00:00:00:01', actions: 'drop', cookie: FOREIGN };

const putTunnel: SwitchChange = { kind: 'put-tunnel', tunnel };
const putGroup: SwitchChange = { kind: 'put-group', group };
const putFlow: SwitchChange = { kind: 'put-flow', flow };
const ALL = [putTunnel, putGroup, putFlow];

const withBfd: Tunnel = { ...tunnel, bfdIntervalMs: 100 };
const putWithBfd: SwitchChange = { kind: 'put-tunnel', tunnel: withBfd };
const [usual = ''] = group.buckets;
const failover: FlowGroup = {
  id: GROUP,
  type: 'fast-failover',
  buckets: [`watch_port:${bfdPortName('c2')},actions=${usual}`, `watch_port:"muster-tun",actions=${usual}`],
};
const putFailover: SwitchChange = { kind: 'put-group', group: failover };

export function switchContract(name: string, open: () => Promise<SwitchUnderTest>): void {
  describe(`switch contract: ${name}`, () => {
    let opened: SwitchUnderTest | undefined;
    const start = async (): Promise<SwitchUnderTest> => (opened = await open());
    afterEach(async () => opened?.close());

    test('is-empty-of-ours-at-first', async () => {
      const { it } = await start();
      expect(await it.read()).toMatchObject({ flows: [], groups: [], tunnels: [] });
    });

    test('says-who-it-is-and-says-the-same-again', async () => {
      const { it, reopen } = await start();
      const identity = await it.identity();
      expect(identity.datapathId).toMatch(/^[0-9a-f]{16}$/);
      expect(await (await reopen()).identity()).toEqual(identity);
    });

    test('shows-what-was-put', async () => {
      const { it } = await start();
      await it.apply(ALL);
      expect(await it.read()).toMatchObject({ flows: [flow], groups: [group], tunnels: [tunnel] });
    });

    test('the-same-changes-twice-change-nothing', async () => {
      const { it } = await start();
      await it.apply(ALL);
      const once = await it.read();
      await it.apply(ALL);
      expect(await it.read()).toEqual(once);
    });

    test('a-flow-with-the-same-table-priority-and-match-takes-the-place-of-the-one-before', async () => {
      const { it } = await start();
      await it.apply([{ kind: 'put-flow', flow: plain }]);
      await it.apply([{ kind: 'put-flow', flow: { ...plain, actions: 'resubmit(,10)' } }]);
      expect((await it.read()).flows).toEqual([{ ...plain, actions: 'resubmit(,10)' }]);
    });

    test.each<readonly [string, readonly SwitchChange[], readonly SwitchChange[]]>([
      ['a-flow-before-its-group', [putTunnel], [putFlow, putGroup]],
      ['a-group-before-its-tunnel', [], [putGroup, putTunnel]],
      ['a-group-that-a-flow-uses-goes', ALL, [{ kind: 'remove-group', id: GROUP }]],
      ['a-tunnel-that-a-group-uses-goes', ALL, [{ kind: 'remove-tunnel', peer: 'c2' }]],
      [
        'a-tunnel-that-a-group-uses-leads-elsewhere',
        ALL,
        [{ kind: 'put-tunnel', tunnel: { ...tunnel, address: '172.16.0.9' } }],
      ],
      ['a-group-watches-a-heartbeat-that-is-not-there', [putTunnel], [putFailover]],
      ['a-heartbeat-that-a-group-watches-ends', [putWithBfd, putFailover], [putTunnel]],
      [
        'a-group-that-fails-over-without-a-port-to-watch',
        [putWithBfd, putFailover],
        [{ kind: 'put-group', group: { ...failover, buckets: ['drop'] } }],
      ],
    ])('%s is refused as a whole', async (_name, before, refused) => {
      const { it } = await start();
      await it.apply(before);
      const there = await it.read();
      await expect(it.apply([{ kind: 'put-flow', flow: plain }, ...refused])).rejects.toBeInstanceOf(SwitchRefused);
      expect(await it.read()).toEqual(there);
    });

    test('heartbeats-with-a-peer-come-and-go, and-a-group-watches-them', async () => {
      const { it } = await start();
      await it.apply([putTunnel]);
      await it.apply([putWithBfd, putFailover, putFlow]);
      expect(await it.read()).toMatchObject({ flows: [flow], groups: [failover], tunnels: [withBfd] });
      await it.apply([{ kind: 'put-tunnel', tunnel: { ...withBfd, bfdIntervalMs: 200 } }]);
      expect((await it.read()).tunnels).toEqual([{ ...withBfd, bfdIntervalMs: 200 }]);
      const nowhere: FlowGroup = { id: GROUP, type: 'indirect', buckets: ['drop'] };
      await it.apply([{ kind: 'put-group', group: nowhere }]);
      expect((await it.read()).groups).toEqual([nowhere]);
      await it.apply([putGroup, putTunnel]);
      expect(await it.read()).toMatchObject({ flows: [flow], groups: [group] });
      expect((await it.read()).tunnels).toEqual([tunnel]);
    });

    test('what-is-there-goes-in-the-reverse-order', async () => {
      const { it } = await start();
      await it.apply(ALL);
      await it.apply([
        { kind: 'remove-flow', flow },
        { kind: 'remove-group', id: GROUP },
        { kind: 'remove-tunnel', peer: 'c2' },
      ]);
      expect(await it.read()).toMatchObject({ flows: [], groups: [], tunnels: [] });
    });

    test('taking-away-what-is-not-there-is-no-failure', async () => {
      const { it } = await start();
      await it.apply([
        { kind: 'remove-flow', flow },
        { kind: 'remove-group', id: GROUP },
        { kind: 'remove-tunnel', peer: 'c2' },
        { kind: 'set-external-id', key: 'tombstoned', value: null },
      ]);
      expect(await it.read()).toMatchObject({ flows: [], groups: [], tunnels: [] });
    });

    test('external-ids-come-and-go-one-by-one', async () => {
      const { it, applyForeign } = await start();
      await applyForeign([{ kind: 'set-external-id', key: 'theirs', value: 'x' }]);
      await it.apply([{ kind: 'set-external-id', key: 'tombstoned', value: 'true' }]);
      expect((await it.read()).externalIds).toMatchObject({ theirs: 'x', tombstoned: 'true' });
      await it.apply([{ kind: 'set-external-id', key: 'tombstoned', value: null }]);
      expect((await it.read()).externalIds).toMatchObject({ theirs: 'x' });
      expect((await it.read()).externalIds).not.toHaveProperty('tombstoned');
    });

    test('others-flows-are-shown-and-stay', async () => {
      const { it, applyForeign } = await start();
      await applyForeign([{ kind: 'put-flow', flow: foreign }]);
      await it.apply(ALL);
      await it.apply([{ kind: 'remove-flow', flow }]);
      expect((await it.read()).flows).toEqual([foreign]);
    });

    test('a-flow-that-took-the-place-of-ours-is-not-taken-away-for-it', async () => {
      const { it, applyForeign } = await start();
      await it.apply(ALL);
      const theirs: Flow = { ...flow, actions: 'drop', cookie: foreign.cookie };
      await applyForeign([{ kind: 'put-flow', flow: theirs }]);
      await it.apply([{ kind: 'remove-flow', flow }]);
      expect((await it.read()).flows).toEqual([theirs]);
      const { cookie: _any, ...whosever } = flow;
      await it.apply([{ kind: 'remove-flow', flow: whosever }]);
      expect((await it.read()).flows).toEqual([]);
    });

    test('the-ports-of-ours-come-when-it-is-set-up-or-something-is-put, and-by-nothing-else', async () => {
      const { it, ownPorts } = await start();
      await it.identity();
      await it.read();
      await it.apply([{ kind: 'set-external-id', key: 'tombstoned', value: 'true' }]);
      expect(await ownPorts()).toEqual([]);
      await it.setUp();
      expect(await ownPorts()).toContain(TUNNEL_PORT);
      const there = await ownPorts();
      await it.setUp();
      expect(await ownPorts()).toEqual(there);
      await it.tearDown();
      await it.apply(ALL);
      expect(await ownPorts()).toEqual(there);
    });

    test('once-it-is-torn-down-reading-asking-and-probing-bring-no-port-of-ours-back, nor-does-an-agent-that-is-started-anew', async () => {
      const { it, reopen, ownPorts } = await start();
      await it.setUp();
      await it.apply(ALL);
      await it.apply([
        { kind: 'remove-flow', flow },
        { kind: 'remove-group', id: GROUP },
        { kind: 'remove-tunnel', peer: 'c2' },
      ]);
      await it.tearDown();
      expect(await ownPorts()).toEqual([]);
      await it.tearDown();
      for (const each of [it, await reopen()]) {
        await each.identity();
        await each.read();
        await each.interfaces?.();
        await each.bfdDownPeers();
        expect(await each.probe?.()).toBeUndefined();
        expect(each.bfdPortErrors?.() ?? []).toEqual([]);
      }
      expect(await ownPorts()).toEqual([]);
      await it.setUp();
      await it.apply(ALL);
      expect(await it.read()).toMatchObject({ flows: [flow], groups: [group], tunnels: [tunnel] });
    });

    test('what-is-on-it-outlives-whoever-put-it-there', async () => {
      const { it, reopen } = await start();
      await it.apply(ALL);
      expect(await (await reopen()).read()).toMatchObject({ flows: [flow], groups: [group], tunnels: [tunnel] });
    });
  });
}
