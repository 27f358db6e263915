// The default topology of a project that requests `auto` and has no network: one network of its own with one subnet.
import { idOf, put, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { cidrOf } from '../addresses/allocation.ts';
import { parseIp } from '../addresses/ip.ts';
import { NETWORK, SUBNET, type Network, type NetworkId, type Subnet } from '../model.ts';
import { conflict } from '../refusal.ts';
import { defaultGateway, defaultPools } from './subnet-form.ts';
import { findNetwork } from './topology.ts';
import { allocateTunnelKey } from '../tunnels/keys.ts';

/** Networks are isolated: every project's may look the same. */
const DEFAULT_CIDR = '10.0.0.0/16';
const NAME_LENGTH_MAX = 63;

export interface DefaultTopology {
  readonly network: NetworkId;
  readonly changes: readonly Change[];
}

export function composeDefaultTopology(
  fleet: FleetReader,
  of: { readonly project: string; readonly by: string; readonly nowMs: number },
): DefaultTopology | Refusal {
  const { project, by, nowMs } = of;
  const name = `default-${project}`.slice(0, NAME_LENGTH_MAX).replace(/[.-]+$/, '');
  const [network, subnet] = [idOf(NETWORK, name), idOf(SUBNET, name)];
  if (findNetwork(fleet, network) !== undefined || fleet.get(SUBNET, subnet) !== undefined) {
    const message = `Project "${project}" has no network that "auto" could use, and the name "${name}" for a new one is taken. Name a network in the request.`;
    return conflict('default-name-taken', message, { field: '/networks', facts: { project, network: name } });
  }
  const changed = { changedBy: by, changedAtMs: nowMs };
  const made: Network = {
    name,
    project,
    backEnd: 'embedded',
    shared: false,
    external: false,
    portSecurity: true,
    ...changed,
  };
  return {
    network,
    changes: [
      put(NETWORK, network, made),
      allocateTunnelKey(fleet, { for: 'network', id: network }),
      put(SUBNET, subnet, { name, network, ...defaultSubnetForm(), ...changed }),
    ],
  };
}

function defaultSubnetForm(): Pick<Subnet, 'cidr' | 'version' | 'gateway' | 'pools'> {
  const cidr = cidrOf(DEFAULT_CIDR);
  const gateway = defaultGateway(cidr);
  const pools = defaultPools(cidr, gateway === undefined ? undefined : parseIp(gateway)?.value);
  return { cidr: DEFAULT_CIDR, version: cidr.version, pools, ...(gateway !== undefined && { gateway }) };
}
