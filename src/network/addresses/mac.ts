// MAC addresses of ports that Muster creates: locally administered, made of the revision of the decision and a counter within it, so that none is
// ever given out twice. Users may not choose addresses of this form.
import {
  AscendingMap,
  type AppliedChange,
  type FleetReader,
  type ProjectionState,
  type Projection,
} from '../../fleet/index.ts';
import { PORT, type Port, type PortId } from '../model.ts';

const REVISIONS = 2 ** 34;
/** The most ports that one commit may create. */
const COUNTERS = 2 ** 12;
/** The address without its first octet. */
const TAIL = 2 ** 40;
const OCTETS = Array.from({ length: 256 }, (_, octet) => octet.toString(16).padStart(2, '0'));

/**
 * 46 bits around the two that say "local, unicast": for the first thousand million commits the first octet is one of
 * 02, 06, 0a and 0e.
 */
export function encodeMac(revision: number, nth: number): string {
  const number = (revision % REVISIONS) * COUNTERS + (nth % COUNTERS);
  const octet = Math.floor(number / TAIL) * 4 + 2;
  // The second octet, and the remaining four: 32-bit integers are fast to take apart.
  const second = Math.floor((number % TAIL) / 2 ** 32);
  const rest = number % 2 ** 32;
  return `${OCTETS[octet]}:${OCTETS[second]}:${OCTETS[rest >>> 24]}:${OCTETS[(rest >>> 16) & 255]}:${OCTETS[(rest >>> 8) & 255]}:${OCTETS[rest & 255]}`;
}

const RESERVED = /^0[26ae]:/;

/** Whether Muster may give out an address itself. */
export function isReservedMac(mac: string): boolean {
  return RESERVED.test(mac);
}

/** The ports by their MAC address: it names one port of a network. */
class Macs implements ProjectionState {
  readonly #ports = new AscendingMap<readonly string[] | string>();

  apply({ before, after }: AppliedChange): void {
    const was = (before?.doc as Port | undefined)?.mac;
    const is = (after?.doc as Port | undefined)?.mac;
    if (was === is) return;
    if (was !== undefined) this.#drop(was, before?.id ?? '');
    if (is !== undefined) this.#add(is, after?.id ?? '');
  }

  #add(mac: string, port: string): void {
    const ports = this.#ports.get(mac);
    this.#ports.set(mac, ports === undefined ? port : [...this.portsWith(mac), port]);
  }

  #drop(mac: string, port: string): void {
    const left = this.portsWith(mac).filter((one) => one !== port);
    if (left.length === 0) this.#ports.delete(mac);
    else this.#ports.set(mac, left);
  }

  has(mac: string): boolean {
    return this.#ports.has(mac);
  }

  portsWith(mac: string): readonly string[] {
    const ports = this.#ports.get(mac);
    return ports === undefined ? [] : typeof ports === 'string' ? [ports] : ports;
  }
}

export const MACS: Projection<Macs> = { name: 'macs', kinds: [PORT.name], create: () => new Macs() };

/** The ports of a network that have a MAC address: never more than one. */
export function portsWithMac(fleet: FleetReader, network: string, mac: string): string[] {
  const ports = fleet.projection(MACS).portsWith(mac);
  return ports.filter((id) => fleet.get(PORT, id as PortId)?.doc.network === network);
}
