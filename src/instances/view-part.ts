// The view part of instances: those that are on the host and those that are arriving, each with the ports that are bound to that host. An agent must
// never read an absent instance as an order to destroy it.
import type { AppliedChange, FleetReader, Stored } from '../fleet/index.ts';
import { findHost, type Host, type SmallViewPart } from '../hosts/index.ts';
import {
  CLAIM,
  claimId,
  CLAIMS_BY_HOST,
  PORT,
  PORTS_BY_INSTANCE,
  type Claim,
  type Port,
  type StoredPort,
} from '../network/index.ts';
import { INSTANCE, INSTANCES_BY_HOST, type Instance, type InstanceId, type InstanceState } from './model.ts';
import { bindModeOn } from './build/placement.ts';

export interface ViewPort {
  readonly id: string;
  readonly mac: string;
  readonly network: string;
  /** None on a network that every host reaches. */
  readonly segment?: string;
  readonly addresses: readonly string[];
  /** Of the binding to this host: an event of another one does not count. */
  readonly serial: number;
}

export interface ViewInstance {
  readonly id: string;
  /** `home`: it is there, or is being built there. `incoming`: it arrives there and runs elsewhere. */
  readonly role: 'home' | 'incoming';
  readonly state: InstanceState;
  readonly amounts: Instance['amounts'];
  /** In the order of its NICs; only those that are bound to this host. */
  readonly ports: readonly ViewPort[];
}

/** The instances of the host, sorted by id. An empty list is sent, too: then every instance there is a stray. */
export const instancesPart: SmallViewPart = {
  name: 'instances',
  build: (fleet, host): readonly ViewInstance[] | undefined => {
    const at = findHost(fleet, host)?.doc;
    if (at === undefined) return undefined;
    const here = [...fleet.find(INSTANCES_BY_HOST, host)]
      .map((instance) => ({ instance, shown: composeViewInstance(fleet, instance, host, 'home') }))
      .filter(({ instance, shown }) => isDue(instance.doc, shown, at))
      .map(({ shown }) => shown);
    const coming = findIncomingInstances(fleet, host).map((instance) =>
      composeViewInstance(fleet, instance, host, 'incoming'),
    );
    return coming.length === 0 ? here : [...here, ...coming].sort((one, other) => (one.id < other.id ? -1 : 1));
  },
  affects: ({ kind, before, after }, fleet) => {
    switch (kind) {
      case INSTANCE.name:
        return hostsOfInstance(fleet, before, after);
      case PORT.name:
        return definedHosts([
          (before?.doc as Port | undefined)?.binding?.host,
          (after?.doc as Port | undefined)?.binding?.host,
        ]);
      case CLAIM.name:
        return definedHosts([targetOf(before), targetOf(after)]);
      default:
        return [];
    }
  },
};

/** A NIC is sent once it is complete, unless the host itself has to complete it. */
function isDue(instance: Instance, { ports }: ViewInstance, host: Host): boolean {
  const beingBuilt = instance.state === 'building' || instance.state === 'rebuilding';
  return !beingBuilt || bindModeOn(host, instance) !== 'ready' || ports.length === instance.nics.length;
}

function findIncomingInstances(fleet: FleetReader, host: string): Stored<'instance', Instance>[] {
  return [...fleet.find(CLAIMS_BY_HOST, host)].flatMap(({ doc }) => {
    if (doc.role !== 'move') return [];
    const instance = fleet.get(INSTANCE, doc.instance as InstanceId);
    return instance === undefined || instance.doc.host === host ? [] : [instance];
  });
}

function composeViewInstance(
  fleet: FleetReader,
  { id, doc }: Stored<'instance', Instance>,
  host: string,
  role: ViewInstance['role'],
): ViewInstance {
  const bound = [...fleet.find(PORTS_BY_INSTANCE, id)].filter((port) => port.doc.binding?.host === host);
  bound.sort(compareByNic);
  return { id, role, state: doc.state, amounts: doc.amounts, ports: bound.map(composeViewPort) };
}

function compareByNic(one: StoredPort, other: StoredPort): number {
  return (one.doc.nic ?? 0) - (other.doc.nic ?? 0) || (one.id < other.id ? -1 : 1);
}

function composeViewPort({ id, doc }: StoredPort): ViewPort {
  const { mac, network, binding } = doc;
  return {
    id,
    mac,
    network,
    ...(binding?.segment !== undefined && { segment: binding.segment }),
    addresses: doc.addresses.map(({ ip }) => ip),
    serial: binding?.serial ?? doc.serial,
  };
}

/** Its old, present and next host: the view of each contains its state. */
function hostsOfInstance(
  fleet: FleetReader,
  before: AppliedChange['before'],
  after: AppliedChange['after'],
): readonly string[] {
  const id = (after ?? before)?.id ?? '';
  return definedHosts([hostOf(before), hostOf(after), fleet.get(CLAIM, claimId(id, 'move'))?.doc.host]);
}

function hostOf(side: AppliedChange['before']): string | undefined {
  return (side?.doc as Instance | undefined)?.host;
}

function targetOf(side: AppliedChange['before']): string | undefined {
  const claim = side?.doc as Claim | undefined;
  return claim?.role === 'move' ? claim.host : undefined;
}

function definedHosts(hosts: readonly (string | undefined)[]): readonly string[] {
  return [...new Set(hosts)].filter((host) => host !== undefined);
}
