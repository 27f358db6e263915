// Network back ends: the capabilities of each, and the port to those outside the journal. A back end carries out orders and must never decide:
// host, pool, serial and the addresses to drop are in the order.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import type { IpVersion } from '../addresses/ip.ts';
import { NETWORK, type BackEndName, type Port, type Subnet } from '../model.ts';
import type { PoolKey } from '../ports/nic-requirements.ts';

export interface Capabilities {
  /** Decided in the journal: there is no call, and so no wait. */
  readonly inline: boolean;
  /** Says by an event when a host has connected a port. */
  readonly events: boolean;
  /**
   * A port can have a second, inactive binding at another host, so that a move has its target bound before anything leaves the source. Without
   * this it is bound at the target before the migration, and at the source again if the move fails.
   */
  readonly multipleBindings: boolean;
  /** Requires credentials, which the server must have been given. */
  readonly needsCredentials: boolean;
}

/** A Neutron back end would have the same capabilities as `simulated`. */
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

/** The capabilities of a network's back end. For a deleted network the defaults apply. */
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
  /** Not to be picked, although the ranges may contain it: the gateway. */
  readonly reserved?: readonly string[];
  readonly cidr?: string;
}

/** One port of an order. */
interface OrderPort {
  /** Its back end, when it differs from the order's: an instance may have ports on several. */
  readonly backEnd?: BackEndName;
}

export interface PortToCreate extends OrderPort {
  /** Chosen by Muster before the call: a resumed build finds its port by it. */
  readonly port: string;
  readonly network: string;
  readonly mac: string;
  /** The highest serial that was given out for the port: an order from before its last release is late, and stale. */
  readonly serial: number;
  readonly nic: number;
  readonly project: string;
  readonly createdBy: Port['createdBy'];
  readonly fixedIps: readonly SubnetAddress[];
  /** One address of each version is picked now; otherwise none, until the port is bound. */
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
  /** Addresses to drop. */
  readonly drops: readonly string[];
  /** The addresses that the journal knows. Others on the port came with an answer that was lost. */
  readonly keeps: readonly string[];
  readonly pools: readonly OrderPool[];
}

export interface PortToRelease extends OrderPort {
  readonly port: string;
  readonly serial: number;
  readonly nic: number;
  readonly createdBy: Port['createdBy'];
  /** Addresses to drop from a port that stays. */
  readonly drops?: readonly string[];
  /** The addresses that the journal knows; when given, an address from a lost answer is dropped as well. */
  readonly keeps?: readonly string[];
  /** For `release`: ports that Muster created are deleted and users' ports kept, unless this says otherwise. */
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

/** An inactive binding at a host. A later one there has a higher serial. */
export interface InactiveBinding extends OrderPort {
  readonly port: string;
  readonly nic: number;
  readonly serial: number;
}

/** The args of an action of the driver `network`. */
export type NetworkOrder = CreateOrder | BindOrder | ReleaseOrder | DeleteBindingOrder;

/** The outcome of one port. The answer to a bind is complete: nothing is read again. */
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
  /** Nothing is changed, nor sent, once it is aborted: whoever called does not wait any more. */
  readonly signal: AbortSignal;
}

/** `already`: every port was as ordered. `stale`: a newer epoch, or a higher serial of one of the ports, was seen. */
export type OrderResult =
  { readonly kind: 'applied' | 'already'; readonly ports: readonly PortAnswer[] } | { readonly kind: 'stale' };

/**
 * A back end outside the journal. Every call may be repeated: a port that is as ordered stays so and is answered again. Rejects with
 * `NetworkUnavailable` when the result of the call is unknown; everything else is an outcome of a port.
 *
 * What a Neutron implementation has to do:
 * - create: one bulk `POST /v2.0/ports` with the ids of the order and without `binding:host_id`. Ports that are there already
 *   (409, or found by id) are answered as they are. Bulk is all or none there: a fault is an outcome of every port.
 * - bind: per NIC one `PUT /v2.0/ports/{id}` with `binding:host_id`, all of them at once. Without `fixed_ips` a deferred port
 *   gets its address then. `drops` need `fixed_ips` in a call before: test that an emptied list leaves the port
 *   deferred and not `none`, which is not verified. `binding:vif_type` may be `binding_failed` in an answer with
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
  /** Finds or creates the ports of an instance: one bulk call. */
  create(order: CreateOrder, fence: BackEndFence): Promise<OrderResult>;
  /** Binds every port of the order at once, each by its own call. */
  bind(order: BindOrder, fence: BackEndFence): Promise<OrderResult>;
  /**
   * Gives every port a second, inactive binding at a host: the port stays connected where it is. At most one is kept beside the active one; one
   * under a higher serial replaces it. Only where `multipleBindings` is declared.
   */
  addBinding(order: BindOrder, fence: BackEndFence): Promise<OrderResult>;
  /** Makes that binding the active one, and the active one inactive. A lost binding is created again. */
  activateBinding(order: BindOrder, fence: BackEndFence): Promise<OrderResult>;
  /** Deletes the inactive binding at a host; the active one is never touched. A missing one counts as deleted. */
  deleteBinding(order: DeleteBindingOrder, fence: BackEndFence): Promise<OrderResult>;
  /** Removes the host, and an inactive binding with it; addresses stay. */
  unbind(order: ReleaseOrder, fence: BackEndFence): Promise<OrderResult>;
  /** Deletes own ports, hands back users' ports. A missing port counts as released. */
  release(order: ReleaseOrder, fence: BackEndFence): Promise<OrderResult>;
}

/** No answer, or one that does not say the result: the call may have been carried out. Repeating it is safe. */
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
  /** The addresses of the port; for a released port, those that it keeps. */
  readonly addresses: readonly string[];
  readonly pool?: PoolKey;
  readonly segment?: string;
  /** Default: one of each version of the pool if it holds none. */
  readonly takes?: readonly IpVersion[];
}

export interface HostNetworkRequest {
  readonly instance: string;
  readonly host: string;
  readonly nics: readonly HostNic[];
}

/**
 * The host's side of a back end, for hosts that still create (`create`) or bind (`bind`) ports themselves. An existing port is found, never
 * created twice. Rejects with `NetworkUnavailable`. Hosts that get bound ports never call it.
 */
export interface HostNetwork {
  create(request: HostNetworkRequest): Promise<readonly PortAnswer[]>;
  bind(request: HostNetworkRequest): Promise<readonly PortAnswer[]>;
  /** Deletes ports that Muster created, hands back users' ports. */
  release(request: HostNetworkRequest): Promise<readonly PortAnswer[]>;
}
