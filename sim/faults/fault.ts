// What a fault is: something that goes wrong now and is mended later. To add one, write its file and add it to
// `faults.ts`.
import type { World } from '../world/world.ts';

export interface Fault {
  readonly name: string;
  /** How often it is drawn, against the others. */
  readonly weight: number;
  /** It takes most of the time of trouble to show: where its time is chosen, it begins with it. */
  readonly takesLong?: true;
  /** Does it and plans its end. Answers what was done, or undefined when it cannot be done now. */
  readonly strike: (world: World) => string | undefined;
}
