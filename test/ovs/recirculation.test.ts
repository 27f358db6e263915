// Packets whose connection is tracked go through the tables in two halves. They must not get lost between them when flows change.
import { expect, test } from 'vitest';
import { OvsSwitch } from '../../src/dataplane/runtime.ts';
import type { Flow, SwitchChange } from '../../src/dataplane/index.ts';
import { TABLE } from '../../src/dataplane/switch/tables.ts';
import { UnixctlClient } from '../../src/dataplane/ovs/unixctl/client-driver.ts';
import { realClock } from '../../src/main/clock.ts';
import { start, type OvsDaemons } from './ovs-daemons.ts';
import { ovsSuite } from './suite.ts';

const SENDERS = 200;
const BURST = 20;
const CHANGES = 40;
const ZONE = 7;

const flow = (table: number, priority: number, match: string, actions: string): Flow => ({
  table,
  priority,
  match,
  actions,
  cookie: '4d55000000000001',
});
const ip = (nth: number): string => `10.0.0.${nth + 1}`;
const outside = 'output:"p2"';
const lookupFlow = (nth: number): Flow =>
  flow(TABLE.classify, 10, `ip,nw_src=${ip(nth)}`, `ct(table=${TABLE.conntrack},zone=${ZONE})`);
const directFlow = (nth: number): Flow => flow(TABLE.classify, 10, `ip,nw_src=${ip(nth)}`, outside);
const recirculatedFlow = flow(TABLE.conntrack, 10, 'ip', outside);
const idleFlow = flow(TABLE.conntrack, 0, '', 'drop');
const put = (one: Flow): SwitchChange => ({ kind: 'put-flow', flow: one });
const all = <T>(of: (nth: number) => T): T[] => Array.from({ length: SENDERS }, (_, nth) => of(nth));

const packet = (nth: number): string =>
  `eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02),eth_type(0x0800),ipv4(src=${ip(nth)},dst=198.51.100.1,proto=17,tos=0,ttl=64,frag=no),udp(src=5000,dst=7000)`;

async function countPackets(daemons: OvsDaemons, port: string, way: 'rx' | 'tx'): Promise<number> {
  const text = await daemons.ofctl('dump-ports', 'br-int', port);
  return Number(new RegExp(`${way} pkts=(\\d+)`).exec(text)?.[1]);
}

ovsSuite('packets in halves on Open vSwitch', () => {
  test('never: a packet is lost between its halves when what was looked up goes straight on, or the other way round', async () => {
    const daemons = await start();
    const it = new OvsSwitch({
      database: daemons.db,
      openFlow: daemons.bridgeMgmt('br-int'),
      control: daemons.ctl,
      bridge: 'br-int',
      external: undefined,
      datapath: 'netdev',
      clock: realClock,
      random: Math.random,
    });
    const sender = new UnixctlClient({ address: daemons.ctl, clock: realClock, random: Math.random });
    const over = new AbortController();
    try {
      await it.identity();
      await daemons.addDummyPort('br-int', 'p1', 11);
      await daemons.addDummyPort('br-int', 'p2', 12);
      await it.apply([put(idleFlow), put(recirculatedFlow), ...all((nth) => put(lookupFlow(nth)))]);
      const sending = async (): Promise<void> => {
        const packets = all(packet);
        for (let at = 0; !over.signal.aborted; at = (at + BURST) % SENDERS)
          await sender.command('netdev-dummy/receive', 'p1', ...packets.slice(at, at + BURST));
      };
      const changing = async (): Promise<void> => {
        for (let change = 0; change < CHANGES; change += 1) {
          await it.apply([...all((nth) => put(directFlow(nth))), { kind: 'remove-flow', flow: recirculatedFlow }]);
          await it.apply([put(recirculatedFlow), ...all((nth) => put(lookupFlow(nth)))]);
        }
      };
      await Promise.all([sending(), changing().finally(() => over.abort())]);
      expect(await countPackets(daemons, 'p1', 'rx')).toBeGreaterThan(CHANGES);
      // What the port that they come in by has no room for has not come.
      const lost = async (): Promise<number> =>
        (await countPackets(daemons, 'p1', 'rx')) - (await countPackets(daemons, 'p2', 'tx'));
      await expect.poll(lost).toBe(0);
    } finally {
      await sender.close();
      await it.close();
      await daemons.close();
    }
  });
});
