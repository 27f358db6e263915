// Decides which services a change may affect. Events only make the controller reconcile sooner: the periodic scan finds what is missed here.
// It must stay cheap: it runs for every commit.
import { idOf, SETTING, type AppliedChange, type FleetReader } from '../fleet/index.ts';
import { HOST, isOutOfControl, type Host } from '../hosts/index.ts';
import {
  NETWORK,
  PORT,
  presenceOf,
  ROUTER,
  ROUTERS_BY_EXTERNAL_NETWORK,
  SEGMENT,
  SUBNET,
  TRANSPORT_ZONE,
  type Port,
  type Router,
  type Segment,
} from '../network/index.ts';
import { SERVICE, SERVICES_TOUCHING_HOST, serviceId, type ServiceId } from './model.ts';
import { ELECTION } from './settings.ts';
import { servicesOfRouter, servicesOfSubnet } from './desired-services.ts';

/** `all`: too many to name. */
export type Affected = 'all' | readonly ServiceId[];

const NONE: readonly ServiceId[] = [];

export function findAffectedServices(fleet: FleetReader, change: AppliedChange): Affected {
  const { kind, before, after } = change;
  const id = (after ?? before)?.id;
  if (id === undefined) return NONE;
  switch (kind) {
    case SERVICE.name:
      return [idOf(SERVICE, id)];
    case HOST.name:
      return servicesAffectedByHost(fleet, id, change);
    case PORT.name:
      return servicesAffectedByPort(fleet, before?.doc as Port | undefined, after?.doc as Port | undefined);
    case ROUTER.name:
      return servicesAffectedByRouter(id, before?.doc as Router | undefined, after?.doc as Router | undefined);
    case SUBNET.name:
      return servicesOfSubnet(fleet, id);
    case NETWORK.name:
      return servicesAffectedByNetwork(fleet, id);
    case SEGMENT.name:
      return servicesAffectedByNetwork(fleet, ((after ?? before)?.doc as Segment | undefined)?.network ?? '');
    case TRANSPORT_ZONE.name:
      return 'all';
    case SETTING.name:
      return id === ELECTION.name ? 'all' : NONE;
    default:
      return NONE;
  }
}

/** The services of a host and those that it is a candidate for; only changes of fields that elections read count. */
function servicesAffectedByHost(fleet: FleetReader, id: string, { before, after }: AppliedChange): ServiceId[] {
  const [was, is] = [before?.doc as Host | undefined, after?.doc as Host | undefined];
  if (was !== undefined && is !== undefined && isSameForElections(was, is)) return [];
  return servicesInvolvingHost(fleet, id);
}

/** The services that it serves, and those that it could. */
export function servicesInvolvingHost(fleet: FleetReader, id: string): ServiceId[] {
  const touching = [...fleet.find(SERVICES_TOUCHING_HOST, id)].map((service) => service.id);
  return [
    ...touching,
    ...presenceOf(fleet)
      .subnetsOn(id)
      .flatMap((subnet) => servicesOfSubnet(fleet, subnet)),
  ];
}

function isSameForElections(was: Host, is: Host): boolean {
  return (
    was.state === is.state &&
    was.connection.state === is.connection.state &&
    (was.forcedDown === undefined) === (is.forcedDown === undefined) &&
    isOutOfControl(was) === isOutOfControl(is) &&
    (was.quarantined === undefined) === (is.quarantined === undefined) &&
    was.switch?.datapathId === is.switch?.datapathId &&
    was.tunnelAddress === is.tunnelAddress &&
    was.transportZone === is.transportZone &&
    was.serviceVersion === is.serviceVersion &&
    String(was.physicalNetworks) === String(is.physicalNetworks)
  );
}

/** The subnets where the port was and where it is now; most changes of a port change neither. */
function servicesAffectedByPort(fleet: FleetReader, was: Port | undefined, is: Port | undefined): ServiceId[] {
  const [from, to] = [was?.binding?.host, is?.binding?.host];
  if (from === undefined && to === undefined) return [];
  if (from === to && was?.addresses === is?.addresses) return [];
  const subnets = new Set([...(was?.addresses ?? []), ...(is?.addresses ?? [])].map(({ subnet }) => subnet));
  return [...subnets].flatMap((subnet) => servicesOfSubnet(fleet, subnet));
}

function servicesAffectedByRouter(id: string, was: Router | undefined, is: Router | undefined): ServiceId[] {
  return servicesOfRouter(id, [...new Set([...(was?.subnets ?? []), ...(is?.subnets ?? [])])]);
}

function servicesAffectedByNetwork(fleet: FleetReader, network: string): ServiceId[] {
  return [...fleet.find(ROUTERS_BY_EXTERNAL_NETWORK, network)].map(({ id }) => serviceId('nat', id));
}
