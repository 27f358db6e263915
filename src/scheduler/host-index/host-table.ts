// The figures of hosts by slot, in typed arrays: the search reads these instead of documents. All of them are whole numbers, so that adding and
// subtracting leaves no trace.
import { findExclusion, type Host } from '../../hosts/index.ts';
import { BAY, BAY_BLOCKS, Bits, BLOCK } from './bits.ts';
import type { NetworkReach } from './bay-groups.ts';
import type { Claim } from '../../network/index.ts';
import type { HostUsage } from './usage-ledger.ts';

/** The offsets of the figures in a host's row. */
export const MEMORY = 0;
export const VCPUS = 1;
export const DISK = 2;
export const INSTANCES = 3;
export const FAILURES = 4;
export const FIGURES = 5;

/** Why a host is not schedulable; the first that applies. */
export const AVAILABILITIES = [
  'schedulable',
  'forced-down',
  'disabled',
  'not-up',
  'degraded',
  'quarantined',
  'joining',
  'leaving',
  'recovering',
] as const;
export type Availability = (typeof AVAILABILITIES)[number];

export function availabilityOf(host: Host): Availability {
  const { state, connection, disabled, forcedDown, quarantined } = host;
  if (forcedDown !== undefined) return 'forced-down';
  if (disabled !== undefined) return 'disabled';
  if (connection.state !== 'up') return 'not-up';
  if (findExclusion(host, 'instances') !== undefined) return 'degraded';
  if (quarantined !== undefined) return 'quarantined';
  if (state === 'active') return 'schedulable';
  return state === 'joining' || state === 'recovering' ? state : 'leaving';
}

/** So that 100 times 1.15 is 115: the product of a decimal ratio may be slightly below the whole number that it stands for. */
const ROUNDING_TOLERANCE = 2 ** -51;

/** The schedulable amount of a total at an overcommit ratio, in whole units. */
export function allocatable(total: number, ratio: number): number {
  return Math.floor(total * ratio * (1 + ROUNDING_TOLERANCE));
}

/** The free amounts of one further resource class, in pages that exist only where some host has it. */
class FigureColumn {
  readonly #pages: (Float64Array | undefined)[] = [];

  copy(): FigureColumn {
    const copy = new FigureColumn();
    for (const page of this.#pages) copy.#pages.push(page === undefined ? undefined : new Float64Array(page));
    return copy;
  }

  at(slot: number): number {
    return this.#pages[Math.floor(slot / BLOCK)]?.[slot % BLOCK] ?? 0;
  }

  set(slot: number, left: number): void {
    const at = Math.floor(slot / BLOCK);
    if (left === 0 && this.#pages[at] === undefined) return;
    while (this.#pages.length <= at) this.#pages.push(undefined);
    (this.#pages[at] ??= new Float64Array(BLOCK))[slot % BLOCK] = left;
  }
}
export type { FigureColumn };

export class HostTable {
  ids: string[] = [];
  hosts: (Host | undefined)[] = [];
  reaches: (NetworkReach | undefined)[] = [];
  /** FIGURES per slot. Memory, vcpus and disk are free amounts; below 0 when a host's capacity was lowered. */
  figures = new Float64Array(0);
  /** The reciprocals of the schedulable memory and vcpus: for computing a host's free shares. */
  inverseTotals = new Float64Array(0);
  availabilities = new Uint8Array(0);
  schedulable = new Bits();
  /** Grow whenever anything of a block changes, or of a bay. */
  blockVersions = new Uint32Array(0);
  bayVersions = new Uint32Array(0);
  readonly #columns = new Map<string, FigureColumn>();
  #changed: number[] = [];
  #isChanged = new Uint8Array(0);
  /** By bay. */
  #isOutOfOrder = new Uint8Array(0);
  /** By bay: no slot from here on was ever used. */
  #ends = new Uint32Array(0);

  /** With every block marked as changed: the copy has not been read yet. */
  copy(): HostTable {
    const copy = new HostTable();
    copy.ids = this.ids.slice();
    copy.hosts = this.hosts.slice();
    copy.reaches = this.reaches.slice();
    copy.figures = this.figures.slice();
    copy.inverseTotals = this.inverseTotals.slice();
    copy.availabilities = this.availabilities.slice();
    copy.schedulable = this.schedulable.copy();
    copy.blockVersions = this.blockVersions.slice();
    copy.bayVersions = this.bayVersions.slice();
    for (const [resource, column] of this.#columns) copy.#columns.set(resource, column.copy());
    copy.#isChanged = new Uint8Array(this.blocks).fill(1);
    copy.#changed = Array.from({ length: this.blocks }, (_, block) => block);
    copy.#isOutOfOrder = this.#isOutOfOrder.slice();
    copy.#ends = this.#ends.slice();
    return copy;
  }

  get blocks(): number {
    return this.blockVersions.length;
  }

  get bays(): number {
    return this.bayVersions.length;
  }

  column(resource: string): FigureColumn {
    let column = this.#columns.get(resource);
    if (column === undefined) this.#columns.set(resource, (column = new FigureColumn()));
    return column;
  }

  /** The free amount of a further resource class on a host. */
  leftOf(resource: string, slot: number): number {
    return this.#columns.get(resource)?.at(slot) ?? 0;
  }

  /** Puts a host into a slot, or replaces its document. */
  put(slot: number, host: { readonly id: string; readonly doc: Host; readonly reach: NetworkReach }): void {
    this.#reserve(slot);
    this.#clearResources(slot);
    if (this.ids[slot] !== host.id) this.#checkOrder(slot, host.id);
    this.ids[slot] = host.id;
    this.hosts[slot] = host.doc;
    this.reaches[slot] = host.reach;
    const { capacity } = host.doc;
    this.inverseTotals[slot * 2] = inverse(allocatable(capacity.memoryMiB, capacity.ratios.memory));
    this.inverseTotals[slot * 2 + 1] = inverse(allocatable(capacity.vcpus, capacity.ratios.vcpus));
    const standing = availabilityOf(host.doc);
    this.availabilities[slot] = AVAILABILITIES.indexOf(standing);
    if (standing === 'schedulable') this.schedulable.add(slot);
    else this.schedulable.delete(slot);
  }

  /** Whether the ids of a bay's hosts are in the order of their slots. */
  isInOrder(bay: number): boolean {
    return this.#isOutOfOrder[bay] === 0;
  }

  /** Hosts mostly join in the order of their ids. A bay with one out of order counts as unordered from then on. */
  #checkOrder(slot: number, id: string): void {
    const bay = Math.floor(slot / BAY);
    const end = this.#ends[bay] as number;
    let before = slot - 1;
    while (before >= bay * BAY && this.hosts[before] === undefined) before -= 1;
    let after = slot + 1;
    while (after < end && this.hosts[after] === undefined) after += 1;
    const follows = before < bay * BAY || (this.ids[before] as string) < id;
    const precedes = after >= end || id < (this.ids[after] as string);
    if (slot >= end) this.#ends[bay] = slot + 1;
    if (!follows || !precedes) this.#isOutOfOrder[bay] = 1;
  }

  /** Adds or subtracts a claim on a host. */
  countClaim(slot: number, { memoryMiB, vcpus, diskGiB }: Claim, by: 1 | -1): void {
    const { figures } = this;
    const at = slot * FIGURES;
    figures[at + MEMORY] = (figures[at + MEMORY] as number) - by * memoryMiB;
    figures[at + VCPUS] = (figures[at + VCPUS] as number) - by * vcpus;
    figures[at + DISK] = (figures[at + DISK] as number) - by * diskGiB;
    figures[at + INSTANCES] = (figures[at + INSTANCES] as number) + by;
    this.#touch(slot);
  }

  /** Computes the free amounts of a host. */
  count(slot: number, taken: Readonly<HostUsage>): void {
    const host = this.hosts[slot] as Host;
    const { memoryMiB, vcpus, diskGiB, ratios } = host.capacity;
    const at = slot * FIGURES;
    this.figures[at + MEMORY] = allocatable(memoryMiB, ratios.memory) - taken.memoryMiB;
    this.figures[at + VCPUS] = allocatable(vcpus, ratios.vcpus) - taken.vcpus;
    this.figures[at + DISK] = allocatable(diskGiB, ratios.disk) - taken.diskGiB;
    this.figures[at + INSTANCES] = taken.instances;
    this.figures[at + FAILURES] = taken.failures;
    this.#touch(slot);
  }

  /** Computes the free amount of one further resource class. */
  countResource(slot: number, resource: string, taken: Readonly<HostUsage>): void {
    const total = this.hosts[slot]?.resources?.[resource] ?? 0;
    this.column(resource).set(slot, total - (taken.resources?.get(resource) ?? 0));
  }

  /** Empties a slot. */
  remove(slot: number, taken: Readonly<HostUsage>): void {
    this.#clearResources(slot);
    for (const resource of taken.resources?.keys() ?? []) this.column(resource).set(slot, 0);
    this.ids[slot] = '';
    this.hosts[slot] = undefined;
    this.reaches[slot] = undefined;
    this.schedulable.delete(slot);
    this.#touch(slot);
  }

  #clearResources(slot: number): void {
    for (const resource in this.hosts[slot]?.resources) this.column(resource).set(slot, 0);
  }

  #touch(slot: number): void {
    const block = Math.floor(slot / BLOCK);
    const bay = Math.floor(block / BAY_BLOCKS);
    this.blockVersions[block] = (this.blockVersions[block] as number) + 1;
    this.bayVersions[bay] = (this.bayVersions[bay] as number) + 1;
    if (this.#isChanged[block] === 1) return;
    this.#isChanged[block] = 1;
    this.#changed.push(block);
  }

  /** The blocks that changed since the last call. */
  takeChangedBlocks(): readonly number[] {
    const changed = this.#changed;
    for (const block of changed) this.#isChanged[block] = 0;
    this.#changed = [];
    return changed;
  }

  #reserve(slot: number): void {
    if (slot < this.blocks * BLOCK) return;
    const bays = Math.max(4, Math.floor(slot / BLOCK / BAY_BLOCKS) + 1, this.bays * 2);
    const blocks = bays * BAY_BLOCKS;
    // Lists are filled up: a sparse one would be kept as a dictionary.
    while (this.ids.length < blocks * BLOCK) {
      this.ids.push('');
      this.hosts.push(undefined);
      this.reaches.push(undefined);
    }
    this.figures = copyInto(this.figures, new Float64Array(blocks * BLOCK * FIGURES));
    this.inverseTotals = copyInto(this.inverseTotals, new Float64Array(blocks * BLOCK * 2));
    this.availabilities = copyInto(this.availabilities, new Uint8Array(blocks * BLOCK));
    this.blockVersions = copyInto(this.blockVersions, new Uint32Array(blocks));
    this.bayVersions = copyInto(this.bayVersions, new Uint32Array(bays));
    this.#isChanged = copyInto(this.#isChanged, new Uint8Array(blocks));
    this.#isOutOfOrder = copyInto(this.#isOutOfOrder, new Uint8Array(bays));
    this.#ends = copyInto(this.#ends, new Uint32Array(bays));
  }
}

function inverse(whole: number): number {
  return whole > 0 ? 1 / whole : 0;
}

function copyInto<A extends Float64Array | Uint8Array | Uint32Array>(from: A, to: A): A {
  to.set(from);
  return to;
}
