// Routers and floating addresses. Every address that one of them has belongs to a port: an address must never have two owners, whoever uses it.
import { Type, type Static } from 'typebox';
import { schemaKind, type Index, type Stored } from '../../fleet/index.ts';
import { NAME } from '../../sites/index.ts';
import { IP, PROJECT } from '../model.ts';

const CLOSED = { additionalProperties: false };
const CHANGED = { changedBy: Type.String(), changedAtMs: Type.Integer() };

/** More subnets behind one router than this should be two routers. */
export const SUBNETS_MAX = 64;

/** The external address of a router or a floating address: a port of its own on the external network. */
const EXTERNAL_ADDRESS = Type.Object({ port: Type.String(), ip: IP }, CLOSED);
export type ExternalAddress = Static<typeof EXTERNAL_ADDRESS>;

export const ROUTER_SCHEMA = Type.Object(
  {
    name: NAME,
    project: PROJECT,
    /** No two of them overlap, and a subnet is behind one router at most. */
    subnets: Type.Array(Type.String(), { maxItems: SUBNETS_MAX, uniqueItems: true }),
    /** With one, its subnets reach it from one address, by source NAT at one host. */
    externalNetwork: Type.Optional(Type.String()),
    nat: Type.Optional(EXTERNAL_ADDRESS),
    ...CHANGED,
  },
  CLOSED,
);
export type Router = Static<typeof ROUTER_SCHEMA>;
export type StoredRouter = Stored<'router', Router>;
export const ROUTER = schemaKind('router', ROUTER_SCHEMA);

export const FLOATING_ADDRESS_SCHEMA = Type.Object(
  {
    project: PROJECT,
    /** The external network that it is on. */
    network: Type.String(),
    outside: EXTERNAL_ADDRESS,
    /** The associated port, and which of its addresses; absent while it has none. */
    inside: Type.Optional(Type.Object({ port: Type.String(), ip: IP, router: Type.String() }, CLOSED)),
    ...CHANGED,
  },
  CLOSED,
);
export type FloatingAddress = Static<typeof FLOATING_ADDRESS_SCHEMA>;
export type StoredFloatingAddress = Stored<'floating-address', FloatingAddress>;
export const FLOATING_ADDRESS = schemaKind('floating-address', FLOATING_ADDRESS_SCHEMA);

export const ROUTERS_BY_SUBNET: Index<'router', Router> = {
  name: 'routers-by-subnet',
  kind: ROUTER,
  keysOf: (doc) => doc.subnets,
};

export const ROUTERS_BY_EXTERNAL_NETWORK: Index<'router', Router> = {
  name: 'routers-by-external-network',
  kind: ROUTER,
  keysOf: ({ externalNetwork }) => (externalNetwork === undefined ? [] : [externalNetwork]),
};

export const FLOATING_ADDRESSES_BY_PORT: Index<'floating-address', FloatingAddress> = {
  name: 'floating-addresses-by-port',
  kind: FLOATING_ADDRESS,
  keysOf: ({ inside, outside }) => (inside === undefined ? [outside.port] : [outside.port, inside.port]),
};

/** Those that are associated through a router. */
export const FLOATING_ADDRESSES_BY_ROUTER: Index<'floating-address', FloatingAddress> = {
  name: 'floating-addresses-by-router',
  kind: FLOATING_ADDRESS,
  keysOf: ({ inside }) => (inside === undefined ? [] : [inside.router]),
};

export const FLOATING_ADDRESSES_BY_NETWORK: Index<'floating-address', FloatingAddress> = {
  name: 'floating-addresses-by-network',
  kind: FLOATING_ADDRESS,
  keysOf: (doc) => [doc.network],
};
