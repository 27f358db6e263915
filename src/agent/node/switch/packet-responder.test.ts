import { describe, expect, test } from 'vitest';
import {
  encodeArpFrame,
  encodeNdFrame,
  HERE,
  macOf,
  nat,
  subnetService,
  view,
} from '../../../dataplane/compile/dataplane-view-fixture.ts';
import { PacketResponder, type ReceivedPacket, type OutgoingPacket } from './packet-responder.ts';
import { VirtualClock } from '../../../journal/virtual-clock-fixture.ts';

const AT_C1 = { role: 'designated', designated: { host: 'c1' } } as const;
const OUTSIDE = 'in_port="muster-ext"';
const GATEWAY = '02:ee:00:00:00:01';
const quiet = { info: () => {}, warn: () => {}, error: () => {} };

interface ResponderWorld {
  readonly responder: PacketResponder;
  readonly clock: VirtualClock;
  readonly sent: OutgoingPacket[];
  receive(packet: ReceivedPacket): void;
  fails: boolean;
  stop(): Promise<void>;
}

function startResponder(): ResponderWorld {
  const clock = new VirtualClock();
  const listeners = new Set<(packet: ReceivedPacket) => void>();
  const all: ResponderWorld = {
    clock,
    sent: [],
    fails: false,
    receive: (packet) => {
      for (const listener of listeners) listener(packet);
    },
    responder: new PacketResponder({
      clock,
      log: quiet,
      packets: {
        onPacket: (listener) => {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
        sendPackets: (packets) => {
          if (all.fails) return Promise.reject(new Error('down'));
          all.sent.push(...packets);
          return Promise.resolve();
        },
      },
    }),
    stop: () => Promise.resolve(),
  };
  const stopping = new AbortController();
  const running = all.responder.run(stopping.signal);
  all.stop = async () => {
    stopping.abort();
    await running;
  };
  return all;
}

const answer: ReceivedPacket = {
  match: OUTSIDE,
  data: encodeArpFrame({
    link: { srcMac: GATEWAY, dstMac: macOf('host', 'c1') },
    arp: {
      operation: 'reply',
      senderMac: GATEWAY,
      senderIp: '198.51.100.1',
      targetMac: macOf('host', 'c1'),
      targetIp: '0.0.0.0',
    },
  }),
};

describe('packets of an agent', () => {
  test('a-next-hop-is-asked-for-until-it-answers, and-then-now-and-again', async () => {
    const { responder, clock, sent, receive, stop } = startResponder();
    let changes = 0;
    responder.onNextHopChange(() => (changes += 1));
    responder.applyView(view({ services: [nat({ ...AT_C1, role: 'preparing' })] }));
    await clock.pass(1000);
    expect(sent.filter(({ actions }) => actions === 'output:"muster-ext"').length).toBeGreaterThan(2);
    expect(responder.environment.nextHop('198.51.100.1')).toBeUndefined();
    receive(answer);
    expect(responder.environment.nextHop('198.51.100.1')).toBe(GATEWAY);
    expect(changes).toBe(1);
    sent.length = 0;
    receive(answer);
    await clock.pass(20_000);
    expect([changes, sent.length]).toEqual([1, 0]);
    await clock.pass(15_000);
    expect(sent.length).toBeGreaterThan(0);
    await stop();
  });

  test('an-agent-that-is-started-anew-goes-on-by-what-is-on-the-switch, until-the-next-hop-answers', () => {
    const { responder, receive } = startResponder();
    const there = '02:aa:00:00:00:09';
    const flow = { table: 35, priority: 10, cookie: '4d55000000000001', match: 'ip,reg0=0x2000,ct_state=-inv+trk' };
    responder.restoreNextHops({
      flows: [
        { ...flow, actions: `set_field:02:bb:00:00:00:01->eth_src,set_field:${there}->eth_dst,output:"muster-ext"` },
      ],
    });
    expect([responder.environment.nextHop('198.51.100.1'), responder.environment.nextHop('2001:db8:ff::1')]).toEqual([
      there,
      undefined,
    ]);
    responder.applyView(view({ services: [nat(AT_C1)] }));
    receive(answer);
    expect(responder.environment.nextHop('198.51.100.1')).toBe(GATEWAY);
  });

  test('what-came-here-is-announced-a-few-times, and-once-more-when-it-comes-back', async () => {
    const { responder, clock, sent, receive, stop } = startResponder();
    const here = view({ services: [nat(AT_C1)] });
    responder.applyView(here);
    receive(answer);
    await clock.pass(10_000);
    const from = (mac: string): number =>
      sent.filter(({ data }) => Buffer.from(data.subarray(6, 12)).toString('hex') === mac.replaceAll(':', '')).length;
    const shared = macOf('service', 'nat:edge');
    const announced = from(shared);
    expect(announced).toBe(8);
    responder.applyView(here);
    await clock.pass(10_000);
    expect(from(shared)).toBe(announced);
    responder.applyView(view({ services: [nat()] }));
    responder.applyView(here);
    await clock.pass(10_000);
    expect(from(shared)).toBe(2 * announced);
    await stop();
  });

  test('what-the-old-host-sent-from-too-is-announced-anew-when-it-does-no-more', async () => {
    const { responder, clock, sent, receive, stop } = startResponder();
    const during = (phase: 'switched' | 'resyncing' | 'draining'): ReturnType<typeof view> =>
      view({ services: [nat({ ...AT_C1, handover: { phase, other: 'c2' } })] });
    responder.applyView(during('switched'));
    receive(answer);
    const mac = macOf('service', 'nat:edge').replaceAll(':', '');
    const announced = async (): Promise<number> => {
      await clock.pass(10_000);
      return sent.filter(({ data }) => Buffer.from(data.subarray(6, 12)).toString('hex') === mac).length;
    };
    expect(await announced()).toBe(8);
    responder.applyView(during('resyncing'));
    expect(await announced()).toBe(8);
    responder.applyView(during('draining'));
    expect(await announced()).toBe(16);
    responder.applyView(view({ services: [nat(AT_C1)] }));
    expect(await announced()).toBe(16);
    await stop();
  });

  test('never: the shared address is used by a host that only prepares', async () => {
    const { responder, clock, sent, stop } = startResponder();
    responder.applyView(
      view({ services: [nat({ role: 'preparing', handover: { phase: 'preparing', other: 'c2' } })] }),
    );
    await clock.pass(5000);
    const shared = macOf('service', 'nat:edge').replaceAll(':', '');
    expect(sent.some(({ data }) => Buffer.from(data).toString('hex').includes(shared))).toBe(false);
    await stop();
  });

  test('a-router-solicitation-is-answered-into-the-network-that-it-came-from', async () => {
    const { responder, clock, sent, receive, stop } = startResponder();
    responder.applyView(view({ services: [subnetService('dhcp', AT_C1)] }));
    await clock.pass(10);
    sent.length = 0;
    const data = encodeNdFrame({
      link: { srcMac: HERE.mac, dstMac: '33:33:00:00:00:02' },
      between: { src: 'fe80::1', dst: 'ff02::2' },
      message: { kind: 'router-solicitation', sourceMac: HERE.mac },
    });
    receive({ match: 'in_port="mp1",metadata=0x1000', data });
    receive({ match: 'in_port="mp1",metadata=0x9999', data });
    receive({ match: 'in_port="mp1",metadata=0x1000', data: new Uint8Array(3) });
    await clock.settle();
    expect(sent.map(({ actions }) => actions)).toEqual(['set_field:0x1000->metadata,resubmit(,20)']);
    await stop();
  });

  test('a-switch-that-is-not-there-is-tried-again', async () => {
    const all = startResponder();
    all.fails = true;
    all.responder.applyView(view({ services: [nat({ ...AT_C1 })] }));
    await all.clock.pass(3000);
    expect(all.sent).toEqual([]);
    all.fails = false;
    await all.clock.pass(10_000);
    expect(all.sent.length).toBeGreaterThan(0);
    await all.stop();
  });
});
