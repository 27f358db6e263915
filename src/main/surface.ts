// The HTTP surface of all rooms: their routes, and how their kinds are shown to watchers and in the history.
import { TOKEN_VIEW, type Route, type View } from '../access/index.ts';
import { tokenRoutes } from '../access/runtime.ts';
import {
  agentRoutes,
  certificateRoutes,
  dataplaneRoutes,
  type CertificateIssuer,
  type CertificateOf,
  type Desk,
} from '../agent/runtime.ts';
import { ALARM, type Alarm } from '../alarms/index.ts';
import { alarmRoutes, alarmView } from '../alarms/runtime.ts';
import { restconfRoutes, type Tally } from '../api/runtime.ts';
import { touchedBy } from '../dataplane/index.ts';
import { SERVICE, unreadyServices, type Service } from '../election/index.ts';
import { SERVICE_VIEW, serviceRoutes } from '../election/runtime.ts';
import { byAnyId, HOST, type Host } from '../hosts/index.ts';
import { HOST_VIEW, hostRoutes, scaleInRoutes } from '../hosts/runtime.ts';
import { INSTANCE, type Instance } from '../instances/index.ts';
import {
  FLAVOR_VIEW,
  flavorRoutes,
  GROUP_VIEW,
  groupRoutes,
  INSTANCE_VIEW,
  instanceRoutes,
  tenantRoutes,
} from '../instances/runtime.ts';
import {
  FLOATING_ADDRESS_VIEW,
  NETWORK_EVENT_VIEW,
  NETWORK_VIEW,
  networkEventRoutes,
  networkRoutes,
  PORT_VIEW,
  QUOTA_VIEW,
  ROUTER_VIEW,
  SEGMENT_VIEW,
  simulatedNetworkRoutes,
  SUBNET_VIEW,
  TRANSPORT_ZONE_VIEW,
} from '../network/runtime.ts';
import { OPERATION, type Operation } from '../operations/index.ts';
import { operationRoutes, operationViews } from '../operations/runtime.ts';
import { SITE } from '../sites/index.ts';
import { SITE_VIEW, siteRoutes } from '../sites/runtime.ts';
import type { Networks } from './networks.ts';
import { EVACUATORS, explain, OPERATION_KINDS, SITE_USES, VIEW_PARTS } from './rooms.ts';

export interface Surface {
  readonly routes: readonly Route[];
  readonly views: readonly View<string, never>[];
  readonly tallies: readonly Tally<never>[];
}

/** Absent where agents get no certificates. */
export interface SurfaceOfCertificates {
  readonly issuer?: CertificateIssuer | undefined;
  readonly certificateOf?: CertificateOf | undefined;
}

export function surfaceOf(
  desk: Desk,
  networks: Networks,
  { issuer, certificateOf }: SurfaceOfCertificates = {},
): Surface {
  const alarms = alarmView(explain);
  const operations = operationViews(explain);
  return {
    routes: withHostIds([
      ...tokenRoutes({ site: SITE, host: HOST }),
      ...siteRoutes(SITE_USES),
      ...hostRoutes({ unreadyServices }),
      ...scaleInRoutes({ evacuators: EVACUATORS, touchedBy, explain }),
      ...operationRoutes({ views: operations, kinds: OPERATION_KINDS }),
      ...alarmRoutes(alarms),
      ...agentRoutes(desk, issuer),
      ...dataplaneRoutes(VIEW_PARTS),
      ...certificateRoutes(certificateOf),
      ...restconfRoutes({ evacuators: EVACUATORS, explain }),
      ...networkRoutes,
      ...serviceRoutes,
      ...networkEventRoutes,
      ...simulatedNetworkRoutes(networks.simulated),
      ...flavorRoutes,
      ...groupRoutes,
      ...instanceRoutes(networks),
      ...tenantRoutes({ evacuators: EVACUATORS, explain }),
    ]),
    views: [
      TOKEN_VIEW,
      SITE_VIEW,
      HOST_VIEW,
      operations.operation,
      operations.item,
      alarms,
      NETWORK_VIEW,
      SEGMENT_VIEW,
      SUBNET_VIEW,
      PORT_VIEW,
      QUOTA_VIEW,
      ROUTER_VIEW,
      FLOATING_ADDRESS_VIEW,
      TRANSPORT_ZONE_VIEW,
      NETWORK_EVENT_VIEW,
      SERVICE_VIEW,
      FLAVOR_VIEW,
      GROUP_VIEW,
      INSTANCE_VIEW,
    ],
    tallies: [HOSTS, OPERATIONS, INSTANCES, SERVICES, ALARMS],
  };
}

/** Whoever names a host may do so by any of its ids. */
function withHostIds(routes: readonly Route[]): readonly Route[] {
  return routes.map(byAnyId);
}

const HOSTS: Tally<Host> = {
  name: 'muster_hosts',
  help: 'Hosts by state and connection',
  kind: HOST,
  labels: ['state', 'connection'],
  of: (doc) => [doc.state, doc.connection.state],
};

const OPERATIONS: Tally<Operation> = {
  name: 'muster_operations',
  help: 'Operations by kind and state',
  kind: OPERATION,
  labels: ['kind', 'state'],
  of: (doc) => [doc.kind, doc.state],
};

const INSTANCES: Tally<Instance> = {
  name: 'muster_instances',
  help: 'Instances by state',
  kind: INSTANCE,
  labels: ['state'],
  of: (doc) => [doc.state],
};

const SERVICES: Tally<Service> = {
  name: 'muster_services',
  help: 'Services by type, and whether a host does them',
  kind: SERVICE,
  labels: ['type', 'state'],
  of: ({ type, designated, handOver }) => [
    type,
    handOver !== undefined
      ? 'handed-over'
      : designated === undefined
        ? 'nobody'
        : designated.degraded === true
          ? 'degraded'
          : 'served',
  ],
};

const ALARMS: Tally<Alarm> = {
  name: 'muster_alarms',
  help: 'Open alarms by code and severity',
  kind: ALARM,
  labels: ['code', 'severity'],
  of: ({ reason, severity }) => [reason.code, severity],
};
