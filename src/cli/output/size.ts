// How large a machine is, as people write and read it: 64GiB, 2TiB, or a number alone in the unit that the API counts in.
import { usage } from '../exit-code.ts';
import { omitUndefined } from '../input/defined-fields.ts';

type Unit = 'MiB' | 'GiB' | 'TiB';

const MIB_IN: Readonly<Record<Unit, number>> = { MiB: 1, GiB: 1024, TiB: 1024 * 1024 };
const UNITS = Object.keys(MIB_IN) as Unit[];

export function memoryMiB(text: string): number {
  return parseSize('MiB', text);
}

export function diskGiB(text: string): number {
  return parseSize('GiB', text);
}

/** Only these units: GB and G mean 1000 to some and 1024 to others. */
function parseSize(unit: Unit, text: string): number {
  const [, count, written = unit] = /^(\d{1,15}(?:\.\d{1,9})?) ?([A-Za-z]+)?$/.exec(text) ?? [];
  const found = UNITS.find((one) => one.toLowerCase() === written.toLowerCase());
  if (count === undefined || found === undefined) {
    throw usage(`"${text}" is not a size. Write it in MiB, GiB or TiB, such as 64GiB; a number alone is in ${unit}.`);
  }
  const size = (Number(count) * MIB_IN[found]) / MIB_IN[unit];
  if (!Number.isSafeInteger(size)) throw usage(`"${text}" is not a whole number of ${unit}.`);
  return size;
}

export function gib(size: number): string {
  return `${Number.isInteger(size) ? size : size.toFixed(1)} GiB`;
}

export interface SizeOptions {
  readonly vcpus?: number;
  readonly memory?: number;
  readonly disk?: number;
}

/** The part of a capacity that was said. */
export function sizesOf({ vcpus, memory, disk }: SizeOptions): object {
  return omitUndefined({ vcpus, memoryMiB: memory, diskGiB: disk });
}
