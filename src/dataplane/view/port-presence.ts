// Where the change of a port concerns other hosts: only the first and the last port of a network or a subnet on a host does.
import type { AppliedChange, FleetReader } from '../../fleet/index.ts';
import { PORT, PORTS_BY_HOST, type Port } from '../../network/index.ts';
import type { PresenceScope } from './related-hosts.ts';

export interface PresenceChange {
  readonly host: string;
  /** Not empty. */
  readonly scope: PresenceScope;
}

/** The hosts that have just become present in these places, or have just left them. */
export function presenceChanges(fleet: FleetReader, { kind, before, after }: AppliedChange): PresenceChange[] {
  if (kind !== PORT.name) return [];
  return [before, after].flatMap((side) => {
    const port = side?.doc as Port | undefined;
    const host = port?.binding?.host;
    if (port === undefined || host === undefined) return [];
    const other = (side === before ? after : before)?.doc as Port | undefined;
    const within = findChangedScope(port, other?.binding?.host === host ? other : undefined);
    const scope = excludeStillPresent(fleet, within, { id: side?.id ?? '', host, revision: after?.revision });
    return scope.networks.length + scope.subnets.length === 0 ? [] : [{ host, scope }];
  });
}

/** Where a port is, except where it is on the other side of the change as well. */
function findChangedScope(port: Port, other: Port | undefined): PresenceScope {
  const subnets = new Set(port.addresses.map(({ subnet }) => subnet));
  for (const { subnet } of other?.addresses ?? []) subnets.delete(subnet);
  return { networks: port.network === other?.network ? [] : [port.network], subnets: [...subnets] };
}

/**
 * The places where this port is, or was, the only one of its host. Ports changed in the same commit or later are not counted: of several
 * that are added together, each may be the first.
 */
function excludeStillPresent(
  fleet: FleetReader,
  { networks, subnets }: PresenceScope,
  of: { readonly id: string; readonly host: string; readonly revision: number | undefined },
): PresenceScope {
  if (networks.length + subnets.length === 0) return { networks, subnets };
  const others = [...fleet.find(PORTS_BY_HOST, of.host)].filter(
    (port) => port.id !== of.id && (of.revision === undefined || port.revision < of.revision),
  );
  return {
    networks: networks.filter((network) => !others.some(({ doc }) => doc.network === network)),
    subnets: subnets.filter((subnet) => !others.some(({ doc }) => doc.addresses.some((one) => one.subnet === subnet))),
  };
}
