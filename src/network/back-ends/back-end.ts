// Network back ends: what each can do, and the port to those that live outside the journal. A back end carries out orders
// and never decides: which host, which pool, which serial and which addresses go are in the order.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import type { IpVersion } from '../addresses/ip.ts';
import { NETWORK, type BackEndName, type Port, type Subnet } from '../model.ts';
import type { PoolKey } from '../ports/nic-requirements.ts';

export interface Capabilities {
  /** Decided in the journal: there is no call, and so nothing to wait for. */
  readonly inline: boolean;
  /** Says by an event when a host has connected a port. */
  readonly events: boolean;
  /**
   * A port can have a second, inactive binding at another host, so that a move is sure of its target before anything leaves the
   * source. One that cannot is bound at the target before the hand-over, and at the source again if the move comes to nothing.
   */
  readonly multipleBindings: boolean;
  /** Is reached with credentials that the server must have been given. */
  readonly needsCredentials: boolean;
}

/** A Neutron back end would read as `simulated` does. */
export const CAPABILITIES: Readonly<Record<BackEndName, Capabilities>> = {
  embedded: {
    inline: true,
    events: false,
    multipleBindings: true,
    needsCredentials: false,
  },
  'host-local': {
    inline: true,
    events: false,
    multipleBindings: true,
    needsCredentials: false,
  },
  simulated: {
    inline: false,
    events: true,
    multipleBindings: true,
    needsCredentials: true,
  },
  // The same network, for trials of back ends that hold one binding per port.
  'simulated-single': {
    inline: false,
    events: true,
    multipleBindings: false,
    needsCredentials: false,
  },
};

/** What looks after a network's ports can do. Nothing has to be asked about those of a network that is gone. */
export function capabilitiesOf(fleet: FleetReader, network: string): Capabilities {
  return CAPABILITIES[fleet.get(NETWORK, idOf(NETWORK, network))?.doc.backEnd ?? 'embedded'];
}

export const PORT_OUTCOMES = [
  'ok',
  'binding-failed',
  'pool-empty',
  'mapping-gone',
  'address-not-carried',
  'not-found',
  'taken',
  'quota',
  'forbidden',
  'unavailable',
] as const;
export type PortOutcome = (typeof PORT_OUTCOMES)[number];

export interface SubnetAddress {
  readonly ip: string;
  readonly subnet: string;
}

/** A subnet that a port may have an address of. */
export interface OrderPool {
  readonly subnet: string;
  readonly version: IpVersion;
  readonly ranges: Subnet['pools'];
  /** Not to be picked, though the ranges may hold it: the gateway. */
  readonly reserved?: readonly string[];
  readonly cidr?: string;
}

/** One port of an order. */
interface OrderPort {
  /** Who looks after it, when that is another than the order names: an instance may have ports on several. */
  readonly backEnd?: BackEndName;
}

export interface PortToCreate extends OrderPort {
  /** Chosen by Muster before the call: a resumed build finds its port by it. */
  readonly port: string;
  readonly network: string;
  readonly mac: string;
  /** The highest that was given out for the port: an order from before it was last let go of is late, and stale. */
  readonly serial: number;
  readonly nic: number;
  readonly project: string;
  readonly createdBy: Port['createdBy'];
  readonly fixedIps: readonly SubnetAddress[];
  /** One address of each version is picked now; else none is, until the port is bound. */
  readonly pick: boolean;
  readonly pools: readonly OrderPool[];
}

export interface PortToBind extends OrderPort {
  readonly port: string;
  readonly serial: number;
  readonly nic: number;
  readonly pool: PoolKey;
  readonly segment?: string;
  /** The versions of which the port gets a new address. */
  readonly takes: readonly IpVersion[];
  /** Addresses that it loses. */
  readonly drops: readonly string[];
  /** What the journal knows it to keep. An address beyond these came with an answer that was lost. */
  readonly keeps: readonly string[];
  readonly pools: readonly OrderPool[];
}

export interface PortToRelease extends OrderPort {
  readonly port: string;
  readonly serial: number;
  readonly nic: number;
  readonly createdBy: Port['createdBy'];
  /** Addresses that a port loses which stays. */
  readonly drops?: readonly string[];
  /** What the journal knows it to keep; when it is said, an address that came with an answer which was lost goes as well. */
  readonly keeps?: readonly string[];
  /** For `release`: what Muster made is deleted and what a user made is kept, unless this says otherwise. */
  readonly end?: 'delete' | 'keep';
}

interface OrderHeader {
  readonly backEnd: BackEndName;
  readonly instance: string;
}
export type CreateOrder = OrderHeader & { readonly op: 'create'; readonly ports: readonly PortToCreate[] };
export type BindOrder = OrderHeader & {
  readonly op: 'bind' | 'add-binding' | 'activate-binding';
  readonly host: string;
  readonly ports: readonly PortToBind[];
};
export type ReleaseOrder = OrderHeader & {
  readonly op: 'unbind' | 'release';
  readonly ports: readonly PortToRelease[];
};
export type DeleteBindingOrder = OrderHeader & {
  readonly op: 'delete-binding';
  readonly host: string;
  readonly ports: readonly InactiveBinding[];
};

/** A binding at a host that is not the active one. A newer one there, under a higher serial, is another. */
export interface InactiveBinding extends OrderPort {
  readonly port: string;
  readonly nic: number;
  readonly serial: number;
}

/** What a driver action of the driver `network` carries as its args. */
export type NetworkOrder = CreateOrder | BindOrder | ReleaseOrder | DeleteBindingOrder;

/** What became of one port. The answer to a bind holds all there is to know: nothing is read again. */
export interface PortAnswer {
  readonly port: string;
  readonly outcome: PortOutcome;
  readonly mac?: string;
  /** How the host connects it. */
  readonly type?: string;
  readonly addresses?: readonly SubnetAddress[];
  readonly text?: string;
}

export interface BackEndFence {
  /** A call under an older epoch than one that was seen is stale. */
  readonly leaseEpoch: number;
  /** Nothing is changed after it. */
  readonly deadlineAtMs: number;
}

/** `already`: every port was as ordered. `stale`: a newer epoch, or a higher serial of one of the ports, was seen. */
export type OrderResult =
  { readonly kind: 'applied' | 'already'; readonly ports: readonly PortAnswer[] } | { readonly kind: 'stale' };

/**
 * A back end outside the journal. Every call may be repeated: what is as ordered stays so and is answered again. Rejects
 * with `NetworkUnavailable` when it is not known what became of the call; everything else is an outcome of a port.
 *
 * What a Neutron implementation has to do:
 * - create: one bulk `POST /v2.0/ports` with the ids of the order and without `binding:host_id`. Ports that are there already
 *   (409, or found by id) are answered as they are. Bulk is all or none there: a fault is an outcome of every port.
 * - bind: per NIC one `PUT /v2.0/ports/{id}` with `binding:host_id`, all of them at once. Without `fixed_ips` a deferred port
 *   gets its address then. `drops` need `fixed_ips` in a call before: test that an emptied list leaves the port
 *   deferred and not `none`, which nobody has verified. `binding:vif_type` may be `binding_failed` in an answer with
 *   status 200: `replyOutcome` counts that as a failure.
 * - unbind: `binding:host_id` emptied; addresses stay. release: `DELETE`, or for a user's port `device_id`, `device_owner`,
 *   `binding:host_id` and `binding:profile` emptied and `dns_name` reset. 404 is success.
 * - add-binding: `POST /v2.0/ports/{id}/bindings` for the host. It is inactive; `binding_failed` in an answer with status 200 is a
 *   failure. activate-binding: `PUT …/bindings/{host}/activate`, which makes the other one inactive; 404 means that the binding was
 *   lost, and it is added again first. delete-binding: `DELETE …/bindings/{host}`; 404 is success.
 * - serial: kept in `binding:profile`, and written with `If-Match: revision_number=…`, which makes it a fence.
 */
export interface NetworkBackEnd {
  readonly name: BackEndName;
  /** Gets or makes the ports of an instance: one bulk call. */
  create(order: CreateOrder, fence: BackEndFence): Promise<OrderResult>;
  /** Binds every port of the order at once, each by its own call. */
  bind(order: BindOrder, fence: BackEndFence): Promise<OrderResult>;
  /**
   * Gives every port a second binding at a host, which is inactive: the port stays connected where it is. At most one is kept
   * beside the active one; one under a higher serial takes its place. Only where `multipleBindings` is declared.
   */
  addBinding(order: BindOrder, fence: BackEndFence): Promise<OrderResult>;
  /** Makes that binding the active one, and the one that was active inactive. One that was lost is made anew. */
  activateBinding(order: BindOrder, fence: BackEndFence): Promise<OrderResult>;
  /** Deletes the inactive binding at a host; the active one is never touched. One that is not there is deleted. */
  deleteBinding(order: DeleteBindingOrder, fence: BackEndFence): Promise<OrderResult>;
  /** Takes the host off, and an inactive binding with it; addresses stay. */
  unbind(order: ReleaseOrder, fence: BackEndFence): Promise<OrderResult>;
  /** Deletes own ports, hands back users'. A port that is not there is released. */
  release(order: ReleaseOrder, fence: BackEndFence): Promise<OrderResult>;
}

/** No answer, or one that says nothing of the call: it may have been carried out. Asking again is safe. */
export class NetworkUnavailable extends Error {
  readonly code = 'network-unavailable';
  readonly retryable = true;

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.name = 'NetworkUnavailable';
  }
}

/** A NIC as a host's task describes it. */
export interface HostNic {
  readonly port: string;
  readonly nic: number;
  readonly network: string;
  readonly mac: string;
  readonly serial: number;
  readonly createdBy: Port['createdBy'];
  /** What the port holds; of one that is released, what it keeps. */
  readonly addresses: readonly string[];
  readonly pool?: PoolKey;
  readonly segment?: string;
  /** When nothing is said: one of each version of the pool if it holds none. */
  readonly takes?: readonly IpVersion[];
}

export interface HostNetworkRequest {
  readonly instance: string;
  readonly host: string;
  readonly nics: readonly HostNic[];
}

/**
 * The host's side of a back end, for hosts that still make (`create`) or bind (`bind`) ports themselves. A port that is made
 * already is found, never made twice. Rejects with `NetworkUnavailable`. Hosts that get their ports bound never call it.
 */
export interface HostNetwork {
  create(ask: HostNetworkRequest): Promise<readonly PortAnswer[]>;
  bind(ask: HostNetworkRequest): Promise<readonly PortAnswer[]>;
  /** Deletes what Muster made, hands back what a user made. */
  release(ask: HostNetworkRequest): Promise<readonly PortAnswer[]>;
}
