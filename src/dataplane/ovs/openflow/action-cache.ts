// Cache of recently encoded actions. Thousands of flows have the same actions for different packets; only port numbers may have changed
// since, so they are looked up again.
import { putActions } from './actions-to-wire.ts';
import type { BytesWriter } from './bytes-writer.ts';
import type { PortNames } from './ports.ts';

interface CachedActions {
  readonly bytes: Uint8Array;
  /** The ports that the text names, with the numbers that were encoded. */
  readonly ports: readonly (readonly [string, number])[];
}

/** Above this many different texts in a row, caching does not pay. */
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

/** Answers like `names`, and records the lookups. */
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
