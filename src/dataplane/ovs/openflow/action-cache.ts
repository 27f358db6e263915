// Actions that were written lately. Thousands of flows do the same for different packets; only the numbers of ports may have changed
// since, so these are asked for again.
import { putActions } from './actions-to-wire.ts';
import type { BytesWriter } from './bytes-writer.ts';
import type { PortNames } from './ports.ts';

interface CachedActions {
  readonly bytes: Uint8Array;
  /** The ports that the text names, with the numbers that were written for them. */
  readonly ports: readonly (readonly [string, number])[];
}

/** More different texts than that in a row are not worth remembering. */
const TEXTS_MAX = 4096;

export class ActionCache {
  #written = new Map<string, CachedActions>();

  put(writer: BytesWriter, text: string, names: PortNames): void {
    const known = this.#written.get(text);
    if (known !== undefined && known.ports.every(([name, number]) => names.number(name) === number)) {
      writer.put(known.bytes);
      return;
    }
    const start = writer.length;
    const ports: [string, number][] = [];
    putActions(writer, text, recordLookups(names, ports));
    if (this.#written.size >= TEXTS_MAX) this.#written = new Map();
    this.#written.set(text, { bytes: writer.copy(start), ports });
  }
}

/** Answers as `names` does, and writes down what was asked. */
function recordLookups(names: PortNames, ports: [string, number][]): PortNames {
  return {
    number: (name) => {
      const number = names.number(name);
      if (number !== undefined) ports.push([name, number]);
      return number;
    },
    name: (number) => names.name(number),
  };
}
