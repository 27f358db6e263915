// Hosts that work without Muster: flows written by hand, one instance on each host, source NAT at the first one. Shows that the lab
// and its traffic tools lose nothing by themselves, whatever is made of Muster.
import { runConcurrently } from './run-concurrently.ts';
import { plug, type LabInstance, type LabInstanceSpec } from './lab-instance.ts';
import type { LabHost } from './underlay/host.ts';
import { EXTERNAL_INTERFACE, OUTSIDE, TUNNEL_BRIDGE } from './underlay/names.ts';
import type { Underlay } from './underlay/underlay.ts';

const BRIDGE = 'br-int';
const GATEWAY = { address: '10.0.0.1', mac: '02:aa:00:00:00:01' };
const NAT = { address: '198.51.100.10', mac: '02:aa:00:00:00:10' };
const SUBNET = '10.0.0.0/16';
const KEY_OF_SUBNET = 100;
const KEY_OF_NAT = 1000;
const ZONE = 1;
const AT_ONCE = 4;

export async function startStaticFlows(underlay: Underlay): Promise<readonly LabInstance[]> {
  const places = underlay.hosts.map((host) => ({ spec: specFor(host.names.number), tunnel: host.names.tunnelAddress }));
  const machines = await runConcurrently(underlay.hosts, AT_ONCE, async (host) => {
    const machine = await plug(host, specFor(host.names.number));
    await makeBridge(host, machine.port);
    await host.addFlows(BRIDGE, flowsFor(host.names.number, places));
    return machine;
  });
  // The first packets to a neighbour that is not known yet would be dropped. Only what the load uses: all send to the first host.
  const [first, ...others] = underlay.hosts;
  await runConcurrently(underlay.hosts, AT_ONCE, async (host) => {
    for (const { names } of host === first ? others : underlay.hosts.slice(0, 1))
      await host.appctl('tnl/neigh/set', TUNNEL_BRIDGE, names.tunnelAddress, names.tunnelMac);
  });
  return machines;
}

async function makeBridge(host: LabHost, port: string): Promise<void> {
  const settings = ['datapath_type=netdev', 'fail-mode=secure', 'protocols=OpenFlow10,OpenFlow13,OpenFlow14'];
  const tunnel = ['type=vxlan', 'options:remote_ip=flow', 'options:key=flow'];
  const bridge = ['add-br', BRIDGE, '--', 'set', 'bridge', BRIDGE, ...settings];
  const ports = ['--', 'add-port', BRIDGE, port, '--', 'add-port', BRIDGE, EXTERNAL_INTERFACE];
  await host.vsctl(
    ...bridge,
    ...ports,
    '--',
    'add-port',
    BRIDGE,
    'vxlan0',
    '--',
    'set',
    'interface',
    'vxlan0',
    ...tunnel,
  );
}

function specFor(number: number): LabInstanceSpec {
  const bytes = [Math.floor(number / 200), 10 + (number % 200)];
  const mac = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(':');
  return {
    name: `vm${number}`,
    port: `mp${number}`,
    mac: `02:00:00:00:${mac}`,
    addresses: [`10.0.${bytes.join('.')}/16`],
    gateways: [GATEWAY.address],
  };
}

interface Place {
  readonly spec: LabInstanceSpec;
  readonly tunnel: string;
}

/** What is on one host: where a packet comes from, who answers for whom, where it goes. The first host does NAT for all. */
function flowsFor(number: number, places: readonly Place[]): readonly string[] {
  const designated = number === 1;
  return [
    ...places.flatMap((place, index) => instanceFlows(place, index === number - 1)),
    `table=0,priority=10,in_port=vxlan0,tun_id=${KEY_OF_SUBNET},actions=resubmit(,20)`,
    arpAnswer('table=10', GATEWAY),
    `table=10,priority=10,ip,dl_dst=${GATEWAY.mac},nw_dst=${SUBNET},actions=drop`,
    `table=10,priority=5,ip,dl_dst=${GATEWAY.mac},actions=resubmit(,30)`,
    'table=10,priority=1,actions=resubmit(,20)',
    ...(designated ? natFlows(places) : [natRedirectFlow(places[0]?.tunnel ?? '')]),
  ];
}

function instanceFlows({ spec, tunnel }: Place, here: boolean): string[] {
  const there = `set_field:${KEY_OF_SUBNET}->tun_id,set_field:${tunnel}->tun_dst,output:vxlan0`;
  return [
    arpAnswer('table=10', { address: addressOf(spec), mac: spec.mac }),
    `table=20,priority=10,dl_dst=${spec.mac},actions=${here ? `output:${spec.port}` : there}`,
    ...(here ? [`table=0,priority=10,in_port=${spec.port},actions=resubmit(,10)`] : []),
  ];
}

function natFlows(places: readonly Place[]): string[] {
  const outside = `set_field:${NAT.mac}->eth_src,set_field:${OUTSIDE.mac}->eth_dst,dec_ttl,output:${EXTERNAL_INTERFACE}`;
  return [
    `table=0,priority=10,in_port=vxlan0,tun_id=${KEY_OF_NAT},actions=resubmit(,30)`,
    arpAnswer(`table=0,in_port=${EXTERNAL_INTERFACE}`, NAT),
    `table=0,priority=10,ip,in_port=${EXTERNAL_INTERFACE},nw_dst=${NAT.address},actions=ct(table=40,zone=${ZONE},nat)`,
    `table=30,priority=10,ip,actions=ct(commit,table=35,zone=${ZONE},nat(src=${NAT.address}))`,
    // Without the state, what tracking calls invalid would leave with the address from inside.
    `table=35,priority=10,ip,ct_state=+trk-inv,actions=${outside}`,
    ...places.map(({ spec }) => {
      const frame = `set_field:${GATEWAY.mac}->eth_src,set_field:${spec.mac}->eth_dst,dec_ttl`;
      return `table=40,priority=10,ip,ct_state=+trk+est,nw_dst=${addressOf(spec)},actions=${frame},resubmit(,20)`;
    }),
  ];
}

function natRedirectFlow(tunnel: string): string {
  return `table=30,priority=10,ip,actions=set_field:${KEY_OF_NAT}->tun_id,set_field:${tunnel}->tun_dst,output:vxlan0`;
}

function arpAnswer(where: string, { address, mac }: { readonly address: string; readonly mac: string }): string {
  const actions = [
    'move:NXM_OF_ETH_SRC[]->NXM_OF_ETH_DST[]',
    `set_field:${mac}->eth_src`,
    'set_field:2->arp_op',
    'move:NXM_NX_ARP_SHA[]->NXM_NX_ARP_THA[]',
    'move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[]',
    `set_field:${mac}->arp_sha`,
    `set_field:${address}->arp_spa`,
    'IN_PORT',
  ];
  return `${where},priority=20,arp,arp_op=1,arp_tpa=${address},actions=${actions.join(',')}`;
}

function addressOf({ addresses }: LabInstanceSpec): string {
  return (addresses[0] ?? '').split('/')[0] ?? '';
}
