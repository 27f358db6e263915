// What an instance takes of a host, as people write and read it.
import type { Instance } from '../client/representations.ts';
import { usage } from '../exit-code.ts';
import { gib } from './size.ts';

/** `2 vcpus, 4 GiB memory, 20 GiB disk, 1 gpu`. */
export function amountsText({ vcpus, memoryMiB, diskGiB, resources }: Instance['amounts']): string {
  const sizes = `${vcpus} vcpus, ${gib(memoryMiB / 1024)} memory, ${gib(diskGiB)} disk`;
  const rest = resourcesText(resources);
  return rest === undefined ? sizes : `${sizes}, ${rest}`;
}

export function resourcesText(resources: Readonly<Record<string, number>> = {}): string | undefined {
  const parts = Object.entries(resources).map(([name, count]) => `${count} ${name}`);
  return parts.length === 0 ? undefined : parts.join(', ');
}

/** `gpu=1`, repeated: counts by name. The name itself may hold a colon, not an equals sign. */
export function resourceCounts(text: string, before: Readonly<Record<string, number>> = {}): Record<string, number> {
  const [, name, count] = /^([^=]+)=(\d{1,15})$/.exec(text) ?? [];
  if (name === undefined) throw usage(`"${text}" is not of the form name=count, such as gpu=1.`);
  return { ...before, [name]: Number(count) };
}
