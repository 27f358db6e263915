// The API representations of networks, segments, subnets, ports, quotas, routers, floating addresses and transport zones. Ports have no secrets.
import { Type } from 'typebox';
import { defineRepresentation, noProject, wholeFleet, type Redactor } from '../access/index.ts';
import { siteOfHost } from '../hosts/index.ts';
import {
  NETWORK,
  NETWORK_SCHEMA,
  PORT,
  PORT_SCHEMA,
  SEGMENT,
  SEGMENT_SCHEMA,
  SUBNET,
  SUBNET_SCHEMA,
  type Network,
  type Port,
  type Segment,
  type Subnet,
} from './model.ts';
import { findNetwork } from './networks/topology.ts';
import { QUOTA, QUOTA_SCHEMA, type Quota } from './quotas/quota.ts';
import {
  FLOATING_ADDRESS,
  FLOATING_ADDRESS_SCHEMA,
  ROUTER,
  ROUTER_SCHEMA,
  type FloatingAddress,
  type Router,
} from './routers/model.ts';
import { TRANSPORT_ZONE, TRANSPORT_ZONE_SCHEMA, type TransportZone } from './tunnels/transport-zone.ts';

/** These belong to the whole fleet: site-bound callers do not see them. */
export const NETWORK_REPRESENTATION = defineRepresentation<'network', Network>({
  kind: NETWORK,
  siteOf: wholeFleet,
  projectOf: ({ shared, project }) => (shared ? true : project),
  fields: NETWORK_SCHEMA.properties,
});
export const SEGMENT_REPRESENTATION = defineRepresentation<'segment', Segment>({
  kind: SEGMENT,
  siteOf: wholeFleet,
  projectOf: noProject,
  fields: SEGMENT_SCHEMA.properties,
});
export const SUBNET_REPRESENTATION = defineRepresentation<'subnet', Subnet>({
  kind: SUBNET,
  siteOf: wholeFleet,
  projectOf: (doc, fleet) => {
    const network = findNetwork(fleet, doc.network)?.doc;
    return network?.shared === true ? true : network?.project;
  },
  fields: SUBNET_SCHEMA.properties,
});
export const QUOTA_REPRESENTATION = defineRepresentation<'quota', Quota>({
  kind: QUOTA,
  siteOf: wholeFleet,
  projectOf: (doc) => doc.project,
  fields: QUOTA_SCHEMA.properties,
});

/** An administrator may have connected another project's network or subnet to a router. */
function redactRouter(doc: Router, sight: Redactor): Router {
  const { subnets, externalNetwork } = doc;
  return {
    ...doc,
    subnets: subnets.map((subnet) => sight.redactText(subnet)),
    ...(externalNetwork !== undefined && { externalNetwork: sight.redactText(externalNetwork) }),
  };
}

export const ROUTER_REPRESENTATION = defineRepresentation<'router', Router>({
  kind: ROUTER,
  siteOf: wholeFleet,
  projectOf: (doc) => doc.project,
  redact: redactRouter,
  fields: ROUTER_SCHEMA.properties,
});

/** Its router may belong to another project, on a shared network. */
function redactFloatingAddress(doc: FloatingAddress, sight: Redactor): FloatingAddress {
  const { inside } = doc;
  return {
    ...doc,
    network: sight.redactText(doc.network),
    ...(inside !== undefined && { inside: { ...inside, router: sight.redactText(inside.router) } }),
  };
}

export const FLOATING_ADDRESS_REPRESENTATION = defineRepresentation<'floating-address', FloatingAddress>({
  kind: FLOATING_ADDRESS,
  siteOf: wholeFleet,
  projectOf: (doc) => doc.project,
  redact: redactFloatingAddress,
  fields: FLOATING_ADDRESS_SCHEMA.properties,
});
export const TRANSPORT_ZONE_REPRESENTATION = defineRepresentation<'transport-zone', TransportZone>({
  kind: TRANSPORT_ZONE,
  siteOf: wholeFleet,
  projectOf: noProject,
  fields: TRANSPORT_ZONE_SCHEMA.properties,
});

/** The host of a port is shown to callers who may see the host. */
function redactPort(doc: Port, sight: Redactor): Port {
  const { binding } = doc;
  if (binding === undefined) return doc;
  const { host, node } = binding;
  const place = {
    ...(host !== undefined && { host: sight.redactText(host) }),
    ...(node !== undefined && { node: sight.redactText(node) }),
  };
  return { ...doc, binding: { ...binding, ...place } };
}

/** A port belongs to the site of the host that it is bound to, otherwise to the whole fleet. */
export const PORT_REPRESENTATION = defineRepresentation<'port', Port>({
  kind: PORT,
  siteOf: (doc, fleet) => siteOfHost(fleet, doc.binding?.host),
  projectOf: (doc) => doc.project,
  redact: redactPort,
  toJson: (doc) => ({ ...doc, attached: doc.instance !== undefined }),
  fields: {
    ...PORT_SCHEMA.properties,
    attached: Type.Boolean({ description: 'an instance has it' }),
  },
});
