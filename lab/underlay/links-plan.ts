// Which commands make the shared networks and the lines of a host to them.
import { disableOffloadsCommand } from '../../src/agent/node/instances/namespace-commands.ts';
import type { ProgramCommand } from '../command.ts';
import {
  EXTERNAL_INTERFACE,
  OUTSIDE,
  TUNNEL_BRIDGE,
  TUNNEL_PREFIX,
  UNDERLAY_BRIDGE,
  UNDERLAY_INTERFACE,
  type HostNames,
  type LabNames,
} from './names.ts';

export function sharedCommands({ underlay, external }: LabNames): readonly ProgramCommand[] {
  const { bridge, mac, address, address6 } = OUTSIDE;
  return [
    ['ip', 'netns', 'add', underlay],
    ['ip', 'netns', 'add', external],
    ...bridgeCommands(underlay, UNDERLAY_BRIDGE),
    ...bridgeCommands(external, bridge),
    ['ip', '-n', external, 'link', 'set', bridge, 'address', mac],
    ['ip', '-n', external, 'addr', 'add', `${address}/24`, 'dev', bridge],
    ['ip', '-n', external, 'addr', 'add', `${address6}/64`, 'dev', bridge, 'nodad'],
    // A machine that forwards packets would hide that they should never have been sent to it.
    inNamespace(external, 'sysctl', '-qw', 'net.ipv4.ip_forward=0', 'net.ipv6.conf.all.forwarding=0'),
  ];
}

/** No spanning tree and no snooping: a bridge that has thoughts of its own loses the first packets. */
function bridgeCommands(namespace: string, bridge: string): ProgramCommand[] {
  return [
    ['ip', '-n', namespace, 'link', 'set', 'lo', 'up'],
    ['ip', '-n', namespace, 'link', 'add', bridge, 'type', 'bridge', 'mcast_snooping', '0'],
    ['ip', '-n', namespace, 'link', 'set', bridge, 'up'],
  ];
}

export function hostCommands(lab: LabNames, host: HostNames): readonly ProgramCommand[] {
  const { namespace, underlayLink, externalLink } = host;
  return [
    ['ip', 'netns', 'add', namespace],
    // It answers ARP of those that it has no route to.
    inNamespace(namespace, 'sysctl', '-qw', 'net.ipv4.conf.all.rp_filter=0', 'net.ipv4.conf.default.rp_filter=0'),
    pair({ link: underlayLink, at: lab.underlay }, { link: UNDERLAY_INTERFACE, at: namespace }),
    pair({ link: externalLink, at: lab.external }, { link: EXTERNAL_INTERFACE, at: namespace }),
    ['ip', '-n', namespace, 'link', 'set', 'lo', 'up'],
    ['ip', '-n', namespace, 'link', 'set', UNDERLAY_INTERFACE, 'addrgenmode', 'none', 'up'],
    ['ip', '-n', namespace, 'link', 'set', EXTERNAL_INTERFACE, 'addrgenmode', 'none', 'up'],
    attachCommand(lab.underlay, underlayLink, UNDERLAY_BRIDGE),
    attachCommand(lab.external, externalLink, OUTSIDE.bridge),
    disableOffloadsCommand(namespace, UNDERLAY_INTERFACE),
    disableOffloadsCommand(namespace, EXTERNAL_INTERFACE),
    disableOffloadsCommand(lab.underlay, underlayLink),
    disableOffloadsCommand(lab.external, externalLink),
  ];
}

/**
 * Its device goes with the process of the switch: needed again after each start of it. Whenever a link in its namespace changes, a switch in
 * user space forgets every route that it has from the kernel, and with it where its tunnels end, until it has read them again. So the kernel has no
 * route to this device: the tunnels go by a route that is given to the switch itself (`LabHost`), and the kernel only answers ARP.
 */
export function tunnelCommands({ namespace, tunnelAddress }: HostNames): readonly ProgramCommand[] {
  const route = (...words: readonly string[]): ProgramCommand => ['ip', '-n', namespace, 'route', ...words];
  const address = `${tunnelAddress}/${TUNNEL_PREFIX}`;
  return [
    // An address of IPv6 would bring routes as well: first this, because one command would bring it up first.
    ['ip', '-n', namespace, 'link', 'set', TUNNEL_BRIDGE, 'addrgenmode', 'none'],
    ['ip', '-n', namespace, 'link', 'set', TUNNEL_BRIDGE, 'up'],
    ['ip', '-n', namespace, 'addr', 'replace', address, 'dev', TUNNEL_BRIDGE, 'noprefixroute'],
    // Whichever it is: of this device, or what was made here when the switch was started before.
    route('flush', 'table', 'local', tunnelAddress),
    route('add', 'local', tunnelAddress, 'dev', 'lo', 'table', 'local'),
  ];
}

/** Both ends are made where they belong: nothing is ever in the namespace that the lab was started in. */
function pair(one: { link: string; at: string }, other: { link: string; at: string }): ProgramCommand {
  const peer = ['peer', 'name', other.link, 'netns', other.at];
  return ['ip', 'link', 'add', one.link, 'netns', one.at, 'type', 'veth', ...peer];
}

function attachCommand(namespace: string, link: string, bridge: string): ProgramCommand {
  return ['ip', '-n', namespace, 'link', 'set', link, 'addrgenmode', 'none', 'master', bridge, 'up'];
}

export function inNamespace(namespace: string, ...command: ProgramCommand): ProgramCommand {
  return ['ip', 'netns', 'exec', namespace, ...command];
}
