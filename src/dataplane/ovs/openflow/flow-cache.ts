// Cache of recently decoded flows. A switch is read before a change, after it, and in periodic checks: nearly all flows have the same bytes
// as the last time, except for their counters. Port names may have changed since, so they are looked up again.
import type { Flow } from '../../switch/switch.ts';
import type { BytesReader } from './bytes-reader.ts';
import { readFlow } from './flow-codec.ts';
import type { PortNames } from './ports.ts';

interface CachedFlow {
  readonly flow: Flow;
  /** The port numbers in it, with the names that were used for them. */
  readonly ports: readonly (readonly [number, string | undefined])[];
}

/** The offsets in an entry: table, priority, cookie, and everything behind the counters. */
const TABLE_AT = 2;
const PRIORITY_AT = 12;
const COOKIE_AT = 24;
const COUNTED_AT = 32;
const REST_AT = 48;
/** Above this many, caching does not pay. */
const FLOWS_MAX = 20_000;

export class FlowCache {
  #before: ReadonlyMap<string, CachedFlow> = new Map();

  /** Reads one list of flows. Entries that were not in it are dropped at the end. */
  list(names: PortNames): { readonly read: (reader: BytesReader) => Flow; readonly finish: () => void } {
    const before = this.#before;
    const seen = new Map<string, CachedFlow>();
    return {
      read: (reader) => {
        const key = keyOf(reader);
        const known = before.get(key);
        const isSame = known !== undefined && known.ports.every(([number, name]) => names.name(number) === name);
        const read = isSame ? reuseCached(reader, known) : readAndRecord(reader, names);
        if (seen.size < FLOWS_MAX) seen.set(key, read);
        return read.flow;
      },
      finish: () => {
        this.#before = seen.size < FLOWS_MAX ? seen : new Map();
      },
    };
  }
}

/** The bytes of an entry without its age and counters. A malformed length is reported by the decoder. */
function keyOf(reader: BytesReader): string {
  const { bytes, at, left } = reader;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + at, Math.min(left, lengthOf(reader)));
  const [table, priority, cookie] = [
    text.toString('latin1', TABLE_AT, TABLE_AT + 1),
    text.toString('latin1', PRIORITY_AT, PRIORITY_AT + 2),
    text.toString('latin1', COOKIE_AT, COUNTED_AT),
  ];
  return `${table}${priority}${cookie}${text.toString('latin1', REST_AT)}`;
}

function lengthOf({ bytes, at }: BytesReader): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

function reuseCached(reader: BytesReader, known: CachedFlow): CachedFlow {
  reader.skip(lengthOf(reader));
  return known;
}

function readAndRecord(reader: BytesReader, names: PortNames): CachedFlow {
  const ports: [number, string | undefined][] = [];
  const noted: PortNames = {
    number: (name) => names.number(name),
    name: (number) => {
      const name = names.name(number);
      ports.push([number, name]);
      return name;
    },
  };
  return { flow: readFlow(reader, noted), ports };
}
