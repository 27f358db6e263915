// The client of the control socket on the real daemon: what it reads is what packets have left behind.
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { CommandRefused, UnixctlClient } from '../../src/dataplane/ovs/unixctl/client-driver.ts';
import { realClock } from '../../src/main/clock.ts';
import { start, type OvsDaemons } from './ovs-daemons.ts';
import { ovsSuite } from './suite.ts';

const ETHERNET = 'eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02)';
const FLOWS = [
  'in_port=1,ip,actions=ct(commit,zone=7,nat(src=198.51.100.50)),output:2',
  'in_port=2,ip,actions=ct(zone=7,nat,table=1)',
  'in_port=1,ipv6,actions=ct(commit,zone=8,nat(src=2001:db8::50)),output:2',
  'table=1,actions=output:1',
];

ovsSuite('unixctl', () => {
  let ovs: OvsDaemons;
  beforeAll(async () => {
    ovs = await start();
    await ovs.addBridge('br-int');
    await ovs.addDummyPort('br-int', 'p1', 1);
    await ovs.addDummyPort('br-int', 'p2', 2);
    for (const flow of FLOWS) await ovs.ofctl('add-flow', 'br-int', flow);
  });
  afterAll(() => ovs?.close());

  function open(): UnixctlClient {
    const client = new UnixctlClient({ address: ovs.ctl, clock: realClock, random: Math.random });
    onTestFinished(() => client.close());
    return client;
  }

  async function v4(port: string, text: string): Promise<void> {
    await ovs.appctl('netdev-dummy/receive', port, `${ETHERNET},eth_type(0x0800),ipv4(${text}`);
  }

  async function v6(port: string, text: string): Promise<void> {
    await ovs.appctl('netdev-dummy/receive', port, `${ETHERNET},eth_type(0x86dd),ipv6(${text}`);
  }

  /** One connection of each protocol, through the translation. */
  async function makeConnections(): Promise<void> {
    const [out, back] = ['src=10.0.0.11,dst=198.51.100.1', 'src=198.51.100.1,dst=198.51.100.50'];
    const [ip, ipv6] = ['tos=0,ttl=64,frag=no)', 'tclass=0,hlimit=64,frag=no)'];
    await v4('p1', `${out},proto=17,${ip},udp(src=4000,dst=53)`);
    await v4('p1', `${out},proto=6,${ip},tcp(src=4001,dst=80),tcp_flags(syn)`);
    await v4('p2', `${back},proto=6,${ip},tcp(src=80,dst=4001),tcp_flags(syn|ack)`);
    await v4('p1', `${out},proto=1,${ip},icmp(type=8,code=0)`);
    await v6('p1', `src=fd00::11,dst=2001:db8::1,label=0,proto=17,${ipv6},udp(src=4000,dst=53)`);
    await v6('p1', `src=fd00::11,dst=2001:db8::1,label=0,proto=58,${ipv6},icmpv6(type=128,code=0)`);
  }

  test('connections-are-read-with-their-translation-and-flushed-by-zone', async () => {
    const client = open();
    await makeConnections();
    // The switch takes packets when it comes to them.
    await expect.poll(async () => (await client.dumpConntrack()).entries.length, { timeout: 20_000 }).toBe(5);
    const { entries, unreadable } = await client.dumpConntrack({ zone: 7 });
    expect(unreadable).toEqual([]);
    const shown = entries.map(({ protocol, original, reply, zone }) => ({ protocol, original, reply, zone }));
    const [inside, outside] = [
      { src: '10.0.0.11', dst: '198.51.100.1' },
      { src: '198.51.100.1', dst: '198.51.100.50' },
    ];
    expect(shown.toSorted((one, other) => one.protocol.localeCompare(other.protocol))).toEqual([
      {
        protocol: 'icmp',
        original: { ...inside, id: 0, type: 8, code: 0 },
        reply: { ...outside, id: 0, type: 0, code: 0 },
        zone: 7,
      },
      {
        protocol: 'tcp',
        original: { ...inside, sport: 4001, dport: 80 },
        reply: { ...outside, sport: 80, dport: 4001 },
        zone: 7,
      },
      {
        protocol: 'udp',
        original: { ...inside, sport: 4000, dport: 53 },
        reply: { ...outside, sport: 53, dport: 4000 },
        zone: 7,
      },
    ]);
    const states = entries.flatMap((entry) => (entry.protocol === 'tcp' ? [entry.state] : []));
    expect(states).toEqual(['ESTABLISHED']);
    expect(entries.every(({ timeoutS }) => timeoutS !== undefined && timeoutS > 0)).toBe(true);
    const all = await client.dumpConntrack();
    expect(all.entries.map(({ protocol, zone }) => `${zone} ${protocol}`).sort()).toEqual([
      '7 icmp',
      '7 tcp',
      '7 udp',
      '8 icmpv6',
      '8 udp',
    ]);
    await client.flushConntrack({ zone: 7 });
    expect((await client.dumpConntrack()).entries.map(({ zone }) => zone)).toEqual([8, 8]);
    expect(await client.dumpConntrack({ zone: 7 })).toEqual({ entries: [], unreadable: [] });
  });

  test('neighbours-are-set-and-read', async () => {
    const client = open();
    const known = { bridge: 'br-int', address: '172.16.0.2', mac: '02:bb:00:00:00:02' };
    const other = { bridge: 'br-int', address: 'fd00::2', mac: '02:bb:00:00:00:03' };
    await client.setNeighbour(known);
    await client.setNeighbour(other);
    expect(await client.neighbours()).toEqual(expect.arrayContaining([known, other]));
    await expect(client.setNeighbour({ ...known, mac: 'nonsense' })).rejects.toThrow(CommandRefused);
  });

  test('a-packet-is-traced', async () => {
    const client = open();
    const trace = await client.trace('br-int', 'in_port=1,ip,nw_src=10.0.0.1,nw_dst=198.51.100.1');
    expect(trace).toMatch(/Datapath actions: ct\(commit,zone=7,nat\(src=198\.51\.100\.50\)\)/);
    await expect(client.trace('br-int', 'bogus=1')).rejects.toThrow(/ofproto\/trace: .*unknown field bogus/);
  });

  test('caches-are-waited-for-and-sequence-numbers-no-longer-checked', async () => {
    const client = open();
    await client.waitForRevalidators();
    await client.disableTcpSequenceCheck();
    expect(await client.command('dpctl/ct-get-tcp-seq-chk')).toMatch(/disabled/);
  });

  test('an-unknown-command-is-refused-and-the-next-one-is-answered', async () => {
    const client = open();
    const answers = await Promise.allSettled([client.command('no/such'), client.command('version')]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(answers[0]).toMatchObject({ reason: { code: 'command-refused', command: 'no/such' } });
  });

  test('after-a-restart-of-the-switch-it-is-found-again', async () => {
    const client = open();
    expect(await client.command('version')).toMatch(/^ovs-vswitchd/);
    await ovs.killSwitch();
    await ovs.startSwitch();
    expect(await client.command('version')).toMatch(/^ovs-vswitchd/);
  });
});
