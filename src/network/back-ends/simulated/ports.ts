// The ports of the simulated back end, and the effect of orders on them. Every order may come twice, late, or after a newer one: serials only
// grow, and a deleted port must stay deleted.
import type { PortToBind, PortToCreate, PortToRelease, InactiveBinding, SubnetAddress } from '../back-end.ts';
import type { BackEndReply } from '../reply.ts';
import type { Stored } from '../../../fleet/index.ts';
import type { Address, Port } from '../../model.ts';
import { SimulatedAddresses } from './addresses.ts';

/** As Neutron says that no mechanism could bind a port. */
export const BINDING_FAILED = 'binding_failed';

/** `given`: by the creator of the port. */
interface HeldAddress extends SubnetAddress {
  readonly origin: 'given' | 'create' | 'bind';
}

interface SimulatedBinding {
  readonly host: string;
  readonly serial: number;
  readonly type: string;
}

interface SimulatedPort {
  readonly mac: string;
  readonly instance: string | undefined;
  readonly addresses: readonly HeldAddress[];
  readonly binding: SimulatedBinding | undefined;
  /** A second binding, at a host where the port is not connected. */
  readonly inactive?: SimulatedBinding | undefined;
  /** The highest serial that was seen; a bind with it is over when no binding has it. */
  readonly serial: number;
}

/** The effect of an order, and the reply. */
export type OrderEffect =
  | { readonly kind: 'applied' | 'already'; readonly reply: BackEndReply; readonly port?: SimulatedPort }
  | { readonly kind: 'stale' };

/** Deleted ports that are remembered, so that a late create does not bring one back. */
const TOMBSTONES_MAX = 10_000;

function dropOldest(entries: Set<string> | Map<string, number>): void {
  const [oldest] = entries.keys();
  if (entries.size > TOMBSTONES_MAX && oldest !== undefined) entries.delete(oldest);
}

export interface BindDestination {
  readonly instance: string;
  readonly host: string;
  readonly type: string;
}

/** A binding that holds is not made again: a repetition that comes late, and could not bind, does not undo it. */
function isSettled(binding: SimulatedBinding | undefined, type: string): binding is SimulatedBinding {
  return binding !== undefined && (binding.type === type || binding.type !== BINDING_FAILED);
}

const OK: BackEndReply = { status: 200 };
const UNBOUND = { binding: undefined, inactive: undefined };

export class SimulatedPorts {
  readonly addresses = new SimulatedAddresses();
  readonly #ports = new Map<string, SimulatedPort>();
  readonly #tombstones = new Set<string>();
  /** Serials under which absent ports were released: orders from before come too late. */
  readonly #releasedSerials = new Map<string, number>();

  get(port: string): SimulatedPort | undefined {
    return this.#ports.get(port);
  }

  entries(): Iterable<readonly [id: string, port: SimulatedPort]> {
    return this.#ports;
  }

  /** Adopts a journal's state: all other ports are dropped, except addresses of strangers. */
  adopt(ports: Iterable<Stored<'port', Port>>): void {
    for (const { addresses } of this.#ports.values()) for (const one of addresses) this.addresses.give(one);
    this.#ports.clear();
    for (const { id, doc } of ports) {
      if (doc.state === 'wanted') continue;
      const held = doc.addresses.map((one) => ({
        ip: one.ip,
        subnet: one.subnet,
        origin: ORIGIN_BY_CHOICE[one.chosenBy],
      }));
      const addresses = held.filter((one) => this.addresses.take(one, id));
      const { mac, instance } = doc;
      const host = doc.binding?.host;
      const binding = doc.binding === undefined || host === undefined ? undefined : { ...doc.binding, host };
      // Without a binding the highest serial may be that of a bind which is still to come.
      const serial = doc.binding?.serial ?? Math.max(0, doc.serial - 1);
      this.#ports.set(id, { mac, instance, addresses, binding, serial });
    }
  }

  create(order: PortToCreate, instance: string): OrderEffect {
    const { port, mac, serial } = order;
    const known = this.#ports.get(port);
    const releasedSerial = known === undefined ? (this.#releasedSerials.get(port) ?? 0) : known.serial;
    const picks = order.pick && (known?.addresses.length ?? 0) === 0;
    if (known?.instance === instance && !picks) return { kind: 'already', reply: OK, port: known };
    if (this.#tombstones.has(port)) return composeRefusedReply(404);
    if (known?.instance !== instance && serial < releasedSerial) return { kind: 'stale' };
    if (known?.instance !== undefined && known.instance !== instance) return composeRefusedReply(409, 'PortInUse');
    const taken = this.#takeAddresses(order, { isNew: known === undefined, picks });
    if ('code' in taken) return composeRefusedReply(409, taken.code);
    const made = known ?? { mac, addresses: [], binding: undefined, serial: releasedSerial };
    return this.#put(port, { ...made, instance, addresses: [...made.addresses, ...taken.addresses] });
  }

  /** The addresses that a port gets when it is created; nothing has changed when there is a code. */
  #takeAddresses(
    { port, fixedIps, pools }: PortToCreate,
    what: { readonly isNew: boolean; readonly picks: boolean },
  ): { readonly addresses: readonly HeldAddress[] } | { readonly code: string } {
    const taken: HeldAddress[] = [];
    const fail = (code: string): { readonly code: string } => {
      for (const address of taken) this.addresses.give(address);
      return { code };
    };
    for (const { ip, subnet } of what.isNew ? fixedIps : []) {
      if (!this.addresses.take({ ip, subnet }, port)) return fail('IpAddressInUse');
      taken.push({ ip, subnet, origin: 'given' });
    }
    for (const version of what.picks ? new Set(pools.map((pool) => pool.version)) : []) {
      const address = this.addresses.pick(pools, version, port);
      if (address === undefined) return fail('IpAddressGenerationFailure');
      taken.push({ ...address, origin: 'create' });
    }
    return { addresses: taken };
  }

  bind(order: PortToBind, { instance, host, type }: BindDestination): OrderEffect {
    const port = this.#ports.get(order.port);
    if (port === undefined) return composeRefusedReply(404);
    if (port.instance !== undefined && port.instance !== instance) return composeRefusedReply(409, 'PortInUse');
    const same = port.binding?.serial === order.serial && port.binding.host === host ? port.binding : undefined;
    if (isSettled(same, type)) return { kind: 'already', reply: { ...OK, type: same.type }, port };
    if (same === undefined && order.serial <= port.serial) return { kind: 'stale' };
    const placed = this.#placeAddresses(order, port.addresses);
    if ('code' in placed) return composeRefusedReply(409, placed.code);
    const { serial } = order;
    const binding = { host, serial, type };
    const bound = { ...port, instance, addresses: placed.addresses, serial, binding, inactive: undefined };
    return { ...this.#put(order.port, bound), reply: { ...OK, type } };
  }

  /** The port stays where it is, and is bound at another host as well. */
  addBinding(order: PortToBind, { instance, host, type }: BindDestination): OrderEffect {
    const port = this.#ports.get(order.port);
    if (port === undefined) return composeRefusedReply(404);
    if (port.instance !== undefined && port.instance !== instance) return composeRefusedReply(409, 'PortInUse');
    const { serial } = order;
    const same = [port.inactive, port.binding].find((one) => one?.serial === serial && one.host === host);
    if (isSettled(same, type)) return { kind: 'already', reply: { ...OK, type: same.type }, port };
    if (same === undefined && serial <= port.serial) return { kind: 'stale' };
    const placed = this.#placeAddresses(order, port.addresses);
    if ('code' in placed) return composeRefusedReply(409, placed.code);
    const bound = { ...port, instance, addresses: placed.addresses, serial, inactive: { host, serial, type } };
    return { ...this.#put(order.port, bound), reply: { ...OK, type } };
  }

  /** The reverse: the active binding becomes the second one. */
  activateBinding(order: PortToBind, to: BindDestination): OrderEffect {
    const port = this.#ports.get(order.port);
    const { inactive } = port ?? {};
    const isThere = inactive?.serial === order.serial && inactive.host === to.host;
    if (port === undefined || !isThere) return this.bind(order, to);
    const turned = { ...port, binding: { ...inactive, type: to.type }, inactive: port.binding };
    return { ...this.#put(order.port, turned), reply: { ...OK, type: to.type } };
  }

  deleteBinding({ port: id, serial }: InactiveBinding, host: string): OrderEffect {
    const port = this.#ports.get(id);
    const isThere = port?.inactive?.host === host && port.inactive.serial <= serial;
    if (port === undefined || !isThere) return { kind: 'already', reply: OK, ...(port !== undefined && { port }) };
    return this.#put(id, { ...port, inactive: undefined });
  }

  /** The addresses that a port has after a bind; nothing has changed when there is a code. */
  #placeAddresses(
    { port, takes, drops, keeps, pools }: PortToBind,
    held: readonly HeldAddress[],
  ): { readonly addresses: readonly HeldAddress[] } | { readonly code: string } {
    const subnets = new Set(pools.map((pool) => pool.subnet));
    const isCarried = ({ subnet }: HeldAddress): boolean => subnets.has(subnet);
    // An address of an earlier bind whose answer was lost: no document has it.
    const isOrphaned = (one: HeldAddress): boolean =>
      one.origin === 'bind' && !keeps.includes(one.ip) && !isCarried(one);
    const isDropped = (one: HeldAddress): boolean => drops.includes(one.ip) || isOrphaned(one);
    const stays = held.filter((one) => !isDropped(one));
    if (!stays.every(isCarried)) return { code: 'HostNotCompatibleWithFixedIps' };
    const has = new Set(stays.map(({ subnet }) => pools.find((pool) => pool.subnet === subnet)?.version));
    const picked: HeldAddress[] = [];
    for (const version of takes) {
      if (has.has(version)) continue;
      const address = this.addresses.pick(pools, version, port);
      if (address === undefined) {
        for (const one of picked) this.addresses.give(one);
        return { code: 'IpAddressGenerationFailure' };
      }
      picked.push({ ...address, origin: 'bind' });
    }
    for (const one of held.filter(isDropped)) this.addresses.give(one);
    return { addresses: [...stays, ...picked] };
  }

  unbind(order: PortToRelease, instance: string): OrderEffect {
    const { port: id, serial } = order;
    const port = this.#ports.get(id);
    if (port === undefined) return this.#recordAbsent(order);
    if (isStaleOrder(port, serial, instance)) return { kind: 'stale' };
    return this.#putDetached(id, { ...this.#dropAddresses(port, order), ...UNBOUND, serial });
  }

  release(order: PortToRelease, instance: string): OrderEffect {
    const { port: id, serial, createdBy, end = createdBy === 'user' ? 'keep' : 'delete' } = order;
    const port = this.#ports.get(id);
    if (port === undefined) {
      if (end === 'delete') this.#addTombstone(id);
      return this.#recordAbsent(order);
    }
    if (isStaleOrder(port, serial, instance)) return { kind: 'stale' };
    if (end === 'keep') {
      return this.#putDetached(id, { ...this.#dropAddresses(port, order), ...UNBOUND, instance: undefined, serial });
    }
    this.remove(id);
    return { kind: 'applied', reply: OK };
  }

  #recordAbsent({ port, serial }: PortToRelease): OrderEffect {
    this.#releasedSerials.set(port, Math.max(serial, this.#releasedSerials.get(port) ?? 0));
    dropOldest(this.#releasedSerials);
    return { kind: 'already', reply: { status: 404 } };
  }

  #putDetached(id: string, port: SimulatedPort): OrderEffect {
    const same = JSON.stringify(this.#ports.get(id)) === JSON.stringify(port);
    return { ...this.#put(id, port), kind: same ? 'already' : 'applied' };
  }

  /** Deletes the port and its addresses, whoever the caller is. */
  remove(id: string): void {
    for (const address of this.#ports.get(id)?.addresses ?? []) this.addresses.give(address);
    this.#ports.delete(id);
    this.#addTombstone(id);
  }

  #addTombstone(id: string): void {
    this.#tombstones.add(id);
    dropOldest(this.#tombstones);
  }

  #dropAddresses(port: SimulatedPort, { drops = [], keeps }: PortToRelease): SimulatedPort {
    const isOrphaned = ({ ip, origin }: HeldAddress): boolean => origin !== 'given' && keeps?.includes(ip) === false;
    const dropped = port.addresses.filter((one) => drops.includes(one.ip) || isOrphaned(one));
    for (const address of dropped) this.addresses.give(address);
    return { ...port, addresses: port.addresses.filter((one) => !dropped.includes(one)) };
  }

  #put(id: string, port: SimulatedPort): OrderEffect & { readonly kind: 'applied' } {
    this.#ports.set(id, port);
    return { kind: 'applied', reply: OK, port };
  }
}

const ORIGIN_BY_CHOICE: Readonly<Record<Address['chosenBy'], HeldAddress['origin']>> = {
  user: 'given',
  create: 'create',
  bind: 'bind',
};

/** An outdated order: the port was bound again since, or belongs to another instance by now. */
function isStaleOrder(port: SimulatedPort, serial: number, instance: string): boolean {
  return serial < port.serial || (port.instance !== undefined && port.instance !== instance);
}

function composeRefusedReply(status: number, code?: string): OrderEffect {
  return { kind: 'applied', reply: { status, ...(code !== undefined && { code }) } };
}
