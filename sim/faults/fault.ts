// A fault: something that goes wrong now and is repaired later. To add one, write its file and add it to `faults.ts`.
import type { World } from '../world/world.ts';

export interface Fault {
  readonly name: string;
  /** The weight with which it is drawn. */
  readonly weight: number;
  /** It takes most of the time of trouble to show: where its time can be chosen, it comes first. */
  readonly takesLong?: true;
  /** Injects it and schedules its end. Returns what was done, or undefined when it cannot be done now. */
  readonly strike: (world: World) => string | undefined;
}
