// The OpenFlow client on a real Open vSwitch. Its own tool is the independent reader: what we put has to look to it like what it
// would have put itself, and what it put has to read as we would have written it.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import type { PacketIn } from '../../src/dataplane/ovs/openflow/replies.ts';
import type { Mod } from '../../src/dataplane/ovs/openflow/mods.ts';
import { OpenFlowClient } from '../../src/dataplane/ovs/openflow/client-driver.ts';
import { portNamesOf } from '../../src/dataplane/ovs/openflow/ports.ts';
import { anyFlow, anyGroup } from '../../src/dataplane/ovs/openflow/flow-arbitraries-fixture.ts';
import { isMalformed } from '../../src/dataplane/packets/malformed.ts';
import { decodeNdFrame, encodeNdFrame } from '../../src/dataplane/packets/nd-frame.ts';
import { buildConntrackPacket } from '../../src/dataplane/packets/conntrack-packet.ts';
import type { Flow, FlowGroup } from '../../src/dataplane/switch/switch.ts';
import { realClock } from '../../src/main/clock.ts';
import { start, type OvsDaemons } from './ovs-daemons.ts';
import { ovsSuite } from './suite.ts';

const OURS = 'br-ours';
const THEIRS = 'br-theirs';
const PORTS = [
  { name: 'vm1', number: 1 },
  { name: 'muster-tun', number: 100 },
  { name: 'muster-ext', number: 200 },
];

async function daemons(...bridges: readonly string[]): Promise<OvsDaemons> {
  const ovs = await start();
  onTestFinished(() => ovs.close());
  for (const bridge of bridges) await ovs.addBridge(bridge);
  return ovs;
}

async function withPorts(ovs: OvsDaemons, bridge: string): Promise<void> {
  for (const { name, number } of PORTS) await ovs.addDummyPort(bridge, name, number);
}

function clientOf(ovs: OvsDaemons, bridge = OURS): OpenFlowClient {
  const address = ovs.bridgeMgmt(bridge);
  const client = new OpenFlowClient({ address, clock: realClock, random: Math.random, names: portNamesOf(PORTS) });
  onTestFinished(() => client.close());
  return client;
}

const cookie = '4d55000000000001';
const flow = (match: string, actions: string, table = 0): Flow => ({ table, priority: 10, match, actions, cookie });
const putFlow = (one: Flow): Mod => ({ kind: 'put-flow', flow: one });
const putGroup = (group: FlowGroup): Mod => ({ kind: 'put-group', group });

/** As the tool takes them: numbers for names, so that a bridge without these ports can have them too. */
function numbered(text: string): string {
  return text.replaceAll(/"([^"]+)"/g, (_, name: string) => `${PORTS.find((port) => port.name === name)?.number}`);
}

function toolLine({ table, priority, match, actions, cookie: of }: Flow): string {
  return numbered(`cookie=0x${of},table=${table},priority=${priority}${match && ','}${match},actions=${actions}`);
}

function toolGroup({ id, type, buckets }: FlowGroup): string {
  const texts = buckets.map((text) => `,bucket=${text.startsWith('watch_port:') ? '' : 'actions='}${text}`);
  return numbered(`group_id=${id},type=${type === 'fast-failover' ? 'ff' : type}${texts.join('')}`);
}

async function dumpTool(ovs: OvsDaemons, what: 'dump-flows' | 'dump-groups', bridge: string): Promise<string[]> {
  const text = await ovs.ofctl('--no-stats', '--no-names', what, ovs.bridgeMgmt(bridge));
  return text
    .split('\n')
    .filter((line) => !line.startsWith('OFPST'))
    .sort();
}

/** Each in a place of its own. */
const SAMPLES = fc.sample(anyFlow, { numRuns: 400, seed: 7 }).map((one, nth) => ({ ...one, priority: nth }));

/** Words that properties do not draw. */
const WORDS: readonly Flow[] = [
  flow('', 'group:1073741825'),
  flow('tun_ipv6_src=fd00::2', 'output:"muster-tun"'),
  flow('tun_id=0,metadata=0,reg0=0', 'set_field:0->reg0,set_field:0->metadata,set_field:0->tun_id'),
  flow('icmp6,icmpv6_type=135,nd_target=fd00::1', 'set_field:2->nd_options_type,set_field:3758096384->nd_reserved'),
  flow('icmp6,icmpv6_type=136,nd_target=fd00::1', 'set_field:02:00:00:00:00:01->nd_tll'),
  flow('icmp6,icmpv6_type=135', 'set_field:fd00::1->nd_target,set_field:02:00:00:00:00:01->nd_sll'),
  flow('ip,reg4=0/0x1', 'ct(commit,zone=7,exec(set_field:0x1->ct_mark))'),
  flow('arp', 'set_field:02:00:00:00:00:01->arp_tha,set_field:10.0.0.1->arp_tpa,LOCAL'),
  flow('ip,ct_state=+inv+trk', 'drop'),
  flow('udp,tp_dst=67', 'set_field:68->udp_dst,controller(max_len=128,id=5)'),
].map((one, nth) => ({ ...one, priority: 1000 + nth }));

ovsSuite('OpenFlow on Open vSwitch', () => {
  test('every-flow-of-the-vocabulary reads back as it was put, and is to the tool what the tool would have put', async () => {
    const ovs = await daemons(OURS, THEIRS);
    await withPorts(ovs, OURS);
    const [ours, theirs] = [clientOf(ovs), clientOf(ovs, THEIRS)];
    const group: FlowGroup = { id: 0x4000_0001, type: 'all', buckets: [] };
    const flows = [...SAMPLES, ...WORDS];
    await ours.bundle([putGroup(group), ...flows.map(putFlow)]);
    const byPlace = (all: readonly Flow[]): Flow[] => all.toSorted((one, other) => one.priority - other.priority);
    expect(byPlace(await ours.flows())).toEqual(flows);

    const file = join(ovs.folder, 'flows');
    await writeFile(file, flows.map(toolLine).join('\n'));
    await ovs.ofctl('add-group', ovs.bridgeMgmt(THEIRS), toolGroup(group));
    await ovs.ofctl('add-flows', ovs.bridgeMgmt(THEIRS), file);
    expect(await dumpTool(ovs, 'dump-flows', OURS)).toEqual(await dumpTool(ovs, 'dump-flows', THEIRS));
    expect(byPlace(await theirs.flows())).toEqual(flows);

    await ours.bundle(flows.map((one) => ({ kind: 'remove-flow', flow: one })));
    expect(await ours.flows()).toEqual([]);
  });

  test('every-group-of-the-vocabulary reads back as it was put, can be changed and removed', async () => {
    const ovs = await daemons(OURS, THEIRS);
    await withPorts(ovs, OURS);
    const [ours, theirs] = [clientOf(ovs), clientOf(ovs, THEIRS)];
    const groups = fc.sample(anyGroup, { numRuns: 60, seed: 7 }).map((one, nth) => ({ ...one, id: 0x4000_0000 + nth }));
    await ours.bundle(groups.map(({ id }) => putGroup({ id, type: 'all', buckets: ['drop', 'drop'] })));
    await ours.bundle(groups.map(putGroup));
    const byId = <T extends { readonly id: number }>(all: readonly T[]): T[] => all.toSorted((a, b) => a.id - b.id);
    expect(byId(await ours.groups())).toEqual(groups);

    for (const group of groups) await ovs.ofctl('add-group', ovs.bridgeMgmt(THEIRS), toolGroup(group));
    expect(await dumpTool(ovs, 'dump-groups', OURS)).toEqual(await dumpTool(ovs, 'dump-groups', THEIRS));
    expect(byId(await theirs.groups())).toEqual(groups);

    await ours.bundle(groups.map(({ id }) => ({ kind: 'remove-group', id })));
    expect(await ours.groups()).toEqual([]);
  });

  test('what-others-put is shown, whatever it is', async () => {
    const ovs = await daemons(OURS);
    const mgmt = ovs.bridgeMgmt(OURS);
    const theirs = [
      'table=1,priority=1,actions=learn(table=2,NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[]),note:01.02,output:7',
      'table=1,priority=2,dl_vlan=5,actions=pop_vlan,clone(output:1),write_metadata:0x5/0xff,goto_table:3',
      'table=1,priority=3,ip,nw_frag=later,pkt_mark=1,actions=push:NXM_NX_REG0[],conjunction(1,1/2)',
      'table=1,priority=4,conj_id=5,actions=multipath(eth_src,50,modulo_n,1,0,NXM_NX_REG0[])',
      'table=1,priority=5,tcp,tcp_flags=+syn,actions=output:NXM_NX_REG0[],controller(userdata=01.02)',
    ];
    await ovs.ofctl('add-group', mgmt, 'group_id=5,type=select,bucket=weight:3,actions=output:7');
    for (const line of theirs) {
      await ovs.ofctl('add-flow', mgmt, line.includes('conjunction') ? line.replace('push:NXM_NX_REG0[],', '') : line);
    }
    const client = clientOf(ovs);
    const shown = (await client.flows()).toSorted((one, other) => one.priority - other.priority);
    expect(shown.map(({ actions }) => actions.replaceAll(/\([0-9a-f]{16,}\)/g, '(...)'))).toEqual([
      'unknown(...),unknown(...),output:7',
      'pop_vlan,unknown(...),write_metadata:0x5/0xff,goto_table:3',
      'unknown(...)',
      'unknown(...)',
      'unknown(...),unknown(...)',
    ]);
    expect(shown[3]?.match).toMatch(/^unknown\([0-9a-f]+\)$/);
    expect(await client.groups()).toEqual([{ id: 5, type: 'select', buckets: ['weight:3,actions=output:7'] }]);
  });

  test.each([
    ['a-group-that-is-not-there', flow('ip', 'group:99'), 'OFPBAC_BAD_OUT_GROUP'],
    ['a-field-that-the-match-does-not-have', flow('', 'set_field:1.2.3.4->ip_src'), 'OFPBAC_MATCH_INCONSISTENT'],
    ['a-match-without-its-protocol', flow('nw_src=10.0.0.1', 'drop'), 'OFPBMC_BAD_PREREQ'],
  ])('%s: nothing of the bundle is applied, and the flow is named', async (_, bad, error) => {
    const ovs = await daemons(OURS);
    const client = clientOf(ovs);
    const good = Array.from({ length: 3000 }, (__, nth) => putFlow(flow(`reg0=0x${nth + 1}`, 'drop', 1)));
    await expect(client.bundle([...good, putFlow(bad), ...good])).rejects.toMatchObject({
      error,
      code: 'switch-refused',
    });
    await expect(client.bundle([putFlow(bad)])).rejects.toThrow(`${bad.match} actions=${bad.actions}": ${error}`);
    expect(await client.flows()).toEqual([]);
    await client.bundle(good);
    expect(await client.flows()).toHaveLength(3000);
  });

  test('ten-thousand-flows in one bundle read back as they were put', async () => {
    const ovs = await daemons(OURS);
    const client = clientOf(ovs);
    const flows = Array.from({ length: 10_000 }, (_, nth) => flow(`metadata=0x${(nth + 1).toString(16)}`, `group:1`));
    await client.bundle([putGroup({ id: 1, type: 'all', buckets: [] }), ...flows.map(putFlow)]);
    const inOrder = (all: readonly Flow[]): Flow[] => all.toSorted((one, other) => (one.match < other.match ? -1 : 1));
    expect(inOrder(await client.flows())).toEqual(inOrder(flows));
  });

  test('ports are listed with their names', async () => {
    const ovs = await daemons(OURS);
    await withPorts(ovs, OURS);
    const ports = await clientOf(ovs).ports();
    const shown = ports.filter(({ name }) => name !== OURS).toSorted((one, other) => one.number - other.number);
    expect(shown.map(({ name, number, down }) => ({ name, number, down }))).toEqual(
      PORTS.map((port) => ({ ...port, down: false })),
    );
  });

  test('a-bridge-without-1.4 is reported, and taken once it has it', async () => {
    const ovs = await daemons(OURS);
    await ovs.vsctl('set', 'bridge', OURS, 'protocols=OpenFlow10,OpenFlow13');
    const client = clientOf(ovs);
    await expect(client.flows()).rejects.toThrow('does not speak OpenFlow 1.4: its column "protocols"');
    await ovs.vsctl('set', 'bridge', OURS, 'protocols=OpenFlow14,OpenFlow15');
    await new Promise<void>((resolve) => client.onUp(resolve));
    expect(await client.flows()).toEqual([]);
  });

  test('a-switch-that-is-started-again is found again, and empty', async () => {
    const ovs = await daemons(OURS);
    const client = clientOf(ovs);
    await client.bundle([putFlow(flow('', 'drop'))]);
    const down = new Promise<Error>((resolve) => client.onDown(resolve));
    await ovs.killSwitch();
    expect(await down).toMatchObject({ code: 'connection-lost' });
    await ovs.startSwitch();
    await new Promise<void>((resolve) => client.onUp(resolve));
    expect(await client.flows()).toEqual([]);
  });
});

/** The next packet that flows send to the controller. */
async function nextPacket(client: OpenFlowClient, send: () => Promise<unknown>): Promise<PacketIn> {
  const { promise, resolve } = Promise.withResolvers<PacketIn>();
  const stop = client.onPacketIn(resolve);
  await client.barrier();
  await send();
  const packet = await promise;
  stop();
  return packet;
}

const MAC = '02:00:00:00:00:01';
const SENDER_MAC = '02:00:00:00:00:11';
const SOLICITATION = encodeNdFrame({
  link: { srcMac: SENDER_MAC, dstMac: MAC },
  between: { src: 'fd00::11', dst: 'ff02::1:ff00:1' },
  message: { kind: 'neighbour-solicitation', target: 'fd00::1', sourceMac: SENDER_MAC },
});

ovsSuite('packets through OpenFlow on Open vSwitch', () => {
  test('out-and-in-again: with its port and what the pipeline wrote on it', async () => {
    const ovs = await daemons(OURS);
    await withPorts(ovs, OURS);
    const client = clientOf(ovs);
    await client.bundle([
      putFlow(flow('in_port="vm1"', 'set_field:0x7->metadata,set_field:0x5->tun_id,resubmit(,4)')),
      putFlow(flow('metadata=0x7', 'CONTROLLER:65535', 4)),
    ]);
    const packet = await nextPacket(client, () =>
      client.sendPacket({ inPort: '"vm1"', actions: 'resubmit(,0)', data: SOLICITATION }),
    );
    expect(packet).toMatchObject({ table: 4, cookie });
    expect(packet.match).toBe('in_port="vm1",tun_id=0x5,metadata=0x7');
    expect(Buffer.from(packet.data)).toEqual(Buffer.from(SOLICITATION));
  });

  test('neighbours-are-answered by two flows', async () => {
    const ovs = await daemons(OURS);
    await withPorts(ovs, OURS);
    const client = clientOf(ovs);
    const turned = [
      'move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]',
      `set_field:${MAC}->eth_src`,
      'move:NXM_NX_IPV6_SRC[]->NXM_NX_IPV6_DST[]',
      'set_field:fd00::1->ipv6_src',
      'set_field:2->nd_options_type',
      'set_field:3758096384->nd_reserved',
      'set_field:136->icmpv6_type',
      'resubmit(,3)',
    ].join(',');
    await client.bundle([
      putFlow(flow('icmp6,ipv6_src=fd00::/64,icmpv6_type=135,nd_target=fd00::1', turned)),
      putFlow(flow('icmp6,icmpv6_type=136', `set_field:${MAC}->nd_tll,CONTROLLER:65535`, 3)),
    ]);
    const { data } = await nextPacket(client, () =>
      client.sendPacket({ inPort: '"vm1"', actions: 'resubmit(,0)', data: SOLICITATION }),
    );
    const answer = decodeNdFrame(data);
    if (isMalformed(answer)) throw new Error(`not an answer: ${JSON.stringify(answer)}`);
    expect(answer).toMatchObject({
      link: { srcMac: MAC, dstMac: SENDER_MAC },
      between: { src: 'fd00::1', dst: 'fd00::11' },
      message: {
        kind: 'neighbour-advertisement',
        target: 'fd00::1',
        router: true,
        solicited: true,
        override: true,
        targetMac: MAC,
      },
    });
  });

  test('many-packets-in-one-bundle seed connection tracking', async () => {
    const ovs = await daemons(OURS);
    const client = clientOf(ovs);
    const packets = Array.from({ length: 500 }, (_, nth) => {
      const seed = buildConntrackPacket({
        protocol: 'udp',
        src: '10.0.0.11',
        dst: '203.0.113.1',
        sport: 2000 + nth,
        dport: 53,
      });
      if (seed.kind !== 'seed') throw new Error(seed.code);
      return { actions: `ct(commit,zone=7,nat(src=198.51.100.7:${3000 + nth}))`, data: seed.frame };
    });
    await client.sendPackets(packets);
    const dump = await ovs.appctl('dpctl/dump-conntrack');
    expect(dump.match(/^udp,.*zone=7/gm)).toHaveLength(500);
    expect(dump).toMatch(/orig=\(src=10\.0\.0\.11,.*sport=2499,.*reply=\(.*dst=198\.51\.100\.7,.*dport=3499\)/);
  });

  test('one-packet-that-is-refused: none of them is sent', async () => {
    const ovs = await daemons(OURS);
    await withPorts(ovs, OURS);
    const client = clientOf(ovs);
    const good = { actions: 'ct(commit,zone=7)', data: SOLICITATION };
    await expect(client.sendPackets([good, { actions: 'group:99', data: SOLICITATION }])).rejects.toThrow('"group:99"');
    expect(await ovs.appctl('dpctl/dump-conntrack')).toBe('');
  });

  test('a-group-fails-over when the port that it watches goes down', async () => {
    const ovs = await daemons(OURS);
    await withPorts(ovs, OURS);
    const client = clientOf(ovs);
    const bucket = (port: string, mark: string): string =>
      `watch_port:${port},actions=set_field:${mark}->reg0,CONTROLLER:65535`;
    const buckets = [bucket('"muster-tun"', '0x1'), bucket('"muster-ext"', '0x2')];
    await client.bundle([
      putGroup({ id: 1, type: 'fast-failover', buckets }),
      putFlow(flow('in_port="vm1"', 'group:1')),
    ]);
    const through = (): Promise<PacketIn> =>
      nextPacket(client, () => client.sendPacket({ inPort: '"vm1"', actions: 'resubmit(,0)', data: SOLICITATION }));
    expect((await through()).match).toContain('reg0=0x1');
    await ovs.appctl('netdev-dummy/set-admin-state', 'muster-tun', 'down');
    await expect.poll(async () => (await client.ports()).find(({ name }) => name === 'muster-tun')?.down).toBe(true);
    expect((await through()).match).toContain('reg0=0x2');
  });
});
