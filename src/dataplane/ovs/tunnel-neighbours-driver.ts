// Makes a switch resolve the hardware addresses of peers before anything is sent to them: the user-space datapath drops the first packets
// to an unknown one.
import { isIpv6 } from '../packets/address.ts';
import type { Clock } from '../../journal/index.ts';
import type { PacketOut } from './openflow/mods.ts';
import type { SwitchChange, SwitchContents } from '../switch/switch.ts';
import { TUNNEL_PORT } from '../switch/tables.ts';
import type { UnixctlClient } from './unixctl/client-driver.ts';
import { formatActions, output, setField } from '../switch/flow-syntax.ts';

export interface NeighbourResolution {
  readonly clock: Clock;
  readonly control: Pick<UnixctlClient, 'neighbours'>;
  readonly send: (packets: readonly PacketOut[]) => Promise<void>;
}

/** A neighbour answers within a few milliseconds or is not there; peers behind a router never appear here. */
const LOOKS = 10;
const LOOK_MS = 30;

/** To an address that no host has, with an experimental Ethernet type, in tunnel 0: every receiver drops it. */
const FRAME = Uint8Array.from({ length: 60 }, (_, at) =>
  at < 6 ? 0xff : at === 6 ? 2 : at === 12 ? 0x88 : at === 13 ? 0xb5 : 0,
);

/**
 * Before these changes: the first packets to a peer whose hardware address is unknown would be lost. A neighbour entry expires after a quarter of
 * an hour without traffic: a host that is about to do more than before resolves all its peers again.
 */
export async function resolveNeighboursFor(
  changes: readonly SwitchChange[],
  tunnels: SwitchContents['tunnels'],
  warming: NeighbourResolution,
): Promise<void> {
  const fresh = new Set(changes.flatMap((change) => (change.kind === 'put-tunnel' ? [change.tunnel.address] : [])));
  const others = tunnels.flatMap(({ address }) => (fresh.has(address) ? [] : [address]));
  await probeNeighbours(others, warming);
  if (fresh.size > 0) await resolveNeighbours([...fresh], warming);
}

/** Resolves unknown neighbours without waiting: for a dead one every wait would be in vain. */
export async function probeNeighbours(addresses: readonly string[], warming: NeighbourResolution): Promise<void> {
  const unknown = addresses.length === 0 ? [] : await unknownOf(addresses, warming);
  if (unknown.length > 0) await warming.send(unknown.map(probe));
}

export async function resolveNeighbours(addresses: readonly string[], warming: NeighbourResolution): Promise<void> {
  let left = await unknownOf(addresses, warming);
  if (left.length === 0) return;
  await warming.send(left.map(probe));
  for (let looks = 0; looks < LOOKS && left.length > 0; looks += 1) {
    await warming.clock.sleep(LOOK_MS);
    left = await unknownOf(left, warming);
  }
}

async function unknownOf(addresses: readonly string[], { control }: NeighbourResolution): Promise<string[]> {
  const known = new Set((await control.neighbours()).map(({ address }) => address));
  return addresses.filter((address) => !known.has(address));
}

function probe(address: string): PacketOut {
  const to = isIpv6(address) ? 'tun_ipv6_dst' : 'tun_dst';
  return { actions: formatActions(setField('tun_id', '0'), setField(to, address), output(TUNNEL_PORT)), data: FRAME };
}
