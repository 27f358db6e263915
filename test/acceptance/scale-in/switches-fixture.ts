// The real state of a test's switches: tunnels, group targets, and the host that answers for each service. It knows nothing of views and compilers, only
// the switch's own syntax.
import { expect } from 'vitest';
import { idOf } from '../../../src/fleet/index.ts';
import { ROUTER, SUBNET } from '../../../src/network/index.ts';
import { HOST } from '../../../src/hosts/index.ts';
import { HOSTS, tunnelAddress, type ScaleInAcceptanceWorld } from './world-fixture.ts';

const SENT_TO = /set_field:([0-9a-f.:]+)->tun_(?:ipv6_)?dst/g;

/** The hosts that a host's switch has tunnels to, in order. */
export function tunnels(world: ScaleInAcceptanceWorld, host: string): string[] {
  return world.switchOf(host).contents.tunnels.map(({ peer }) => peer);
}

/** Everything on a switch that could name a host: flows, groups and tunnels as text. */
function words(world: ScaleInAcceptanceWorld, host: string): string[] {
  const { flows, groups, tunnels: all } = world.switchOf(host).contents;
  return [
    ...flows.map(({ match, actions }) => `flow ${match} ${actions}`),
    ...groups.map(({ type, buckets }) => `group ${type} ${buckets.join(' or ')}`),
    ...all.map(({ peer, address }) => `tunnel ${peer} ${address}`),
  ];
}

/** The entries on a host's switch that name another host by its tunnel address. */
export function traces(world: ScaleInAcceptanceWorld, host: string, of: string): string[] {
  const address = new RegExp(`(?<![0-9.])${tunnelAddress(of).replaceAll('.', '\\.')}(?![0-9.])`);
  return words(world, host).filter((line) => address.test(line));
}

export function isMarked(world: ScaleInAcceptanceWorld, host: string): boolean {
  return world.switchOf(host).contents.externalIds['tombstoned'] === 'true';
}

/** Nothing of ours is on it. */
export function isWiped(world: ScaleInAcceptanceWorld, host: string): boolean {
  const { externalIds } = world.switchOf(host).contents;
  return words(world, host).length === 0 && externalIds['tombstoned'] === undefined;
}

/** The hosts whose switch answers for a service: for the external address of a router, for a subnet, or to DHCP requests. */
export function servers(world: ScaleInAcceptanceWorld, service: string): string[] {
  const wanted = flowWordsOf(world, service);
  return HOSTS.filter((host) => hasFlow(world, host, wanted));
}

/** The conntrack zone of a host for NAT to the address of a router. */
export function zoneOf(world: ScaleInAcceptanceWorld, host: string, router: string): number {
  const translation = new RegExp(`zone=(\\d+),nat\\(src=${natAddress(world, router).replaceAll('.', '\\.')}\\)`);
  for (const { actions } of world.switchOf(host).contents.flows) {
    const zone = translation.exec(actions)?.[1];
    if (zone !== undefined) return Number(zone);
  }
  throw new Error(`${host} does not translate for ${router}`);
}

/** The serving hosts, except those that are cut off. A standby, or a host that prepares, does not count. */
function connectedHostsServing(world: ScaleInAcceptanceWorld, service: string): string[] {
  return servers(world, service).filter((host) => world.agents.hosts.includes(host));
}

/** The match of the flow that only the designated host of a service has. */
function flowWordsOf(world: ScaleInAcceptanceWorld, service: string): string[] {
  const [type, subject = ''] = service.split(':');
  switch (type) {
    case 'nat':
      return ['muster-ext', `arp_tpa=${natAddress(world, subject)},`];
    case 'subnet-route':
      return ['muster-ext', `nw_dst=${world.fleet.get(SUBNET, idOf(SUBNET, subject))?.doc.cidr} `];
    default:
      return ['tp_dst=67 ', 'CONTROLLER'];
  }
}

function hasFlow(world: ScaleInAcceptanceWorld, host: string, wanted: readonly string[]): boolean {
  const { flows } = world.switchOf(host).contents;
  return flows.some(({ match, actions }) => wanted.every((word) => `${match} ${actions}`.includes(word)));
}

function natAddress(world: ScaleInAcceptanceWorld, router: string): string {
  return world.fleet.get(ROUTER, idOf(ROUTER, router))?.doc.nat?.ip ?? 'nowhere';
}

/** The hosts to which a host's groups send packets of services. */
export function sendsTo(world: ScaleInAcceptanceWorld, host: string): string[] {
  const { groups } = world.switchOf(host).contents;
  const away = groups.filter(({ type }) => type !== 'all');
  // The first one, as long as none is lost.
  const addresses = away.flatMap(({ buckets }) => buckets.slice(0, 1).flatMap(addressesIn));
  return [...new Set(addresses.map(hostAt))].sort();
}

function addressesIn(text: string): string[] {
  return [...text.matchAll(SENT_TO)].map(([, address]) => address ?? '');
}

function hostAt(address: string): string {
  return HOSTS.find((host) => tunnelAddress(host) === address) ?? address;
}

/** Two hosts have tunnels to each other. */
export function areJoined(world: ScaleInAcceptanceWorld, one: string, other: string): boolean {
  return tunnels(world, one).includes(other) && tunnels(world, other).includes(one);
}

/** A switch sends only to hosts that it has a tunnel to, and its flows use only existing groups. */
function danglingReferencesOf(world: ScaleInAcceptanceWorld, host: string): string[] {
  const { flows, groups, tunnels: all } = world.switchOf(host).contents;
  const known = new Set(all.map(({ address }) => address));
  const ids = new Set(groups.map(({ id }) => String(id)));
  const texts = [...flows.map(({ actions }) => actions), ...groups.flatMap(({ buckets }) => buckets)];
  return texts.flatMap((text) => [
    ...addressesIn(text).filter((address) => !known.has(address)),
    ...[...text.matchAll(/group:(\d+)/g)].flatMap(([, id = '']) => (ids.has(id) ? [] : [`group ${id}`])),
  ]);
}

/**
 * Watches all switches at each of their changes: none ever sends to where it has no tunnel, and from now on these services are served at every
 * moment.
 */
export function watchSwitches(
  world: ScaleInAcceptanceWorld,
  ...services: readonly string[]
): { readonly stop: () => void } {
  const stop = world.onSwitchChange((host) => {
    for (const what of danglingReferencesOf(world, host))
      world.violations.push(`the switch of ${host} points at nothing: ${what}`);
    for (const service of services) {
      if (connectedHostsServing(world, service).length === 0) world.violations.push(`${service} is not served`);
    }
  });
  return { stop };
}

/** At rest: the switches of hosts in the fleet match the journal, and none names a removed host. */
export function expectSound(world: ScaleInAcceptanceWorld): void {
  const all = world.all(HOST).filter(({ doc }) => doc.connection.state === 'up' && doc.quarantined === undefined);
  const removedOnes = world.all(HOST).filter(({ doc }) => doc.state === 'removed');
  for (const { id, doc } of all) {
    expect(danglingReferencesOf(world, id)).toEqual([]);
    expect(isMarked(world, id)).toBe(['draining', 'drained', 'finalizing'].includes(doc.state));
    for (const removed of removedOnes) expect(traces(world, id, removed.id)).toEqual([]);
  }
}
