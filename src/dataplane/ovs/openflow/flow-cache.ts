// Flows that were read lately. A switch is read before it is changed and after, and again and again to see that nothing has changed:
// nearly all of its flows are the very bytes that they were the last time, but for what they counted. The names of ports may be
// others since, so these are asked for again.
import type { Flow } from '../../switch/switch.ts';
import type { BytesReader } from './bytes-reader.ts';
import { readFlow } from './flow-codec.ts';
import type { PortNames } from './ports.ts';

interface CachedFlow {
  readonly flow: Flow;
  /** The numbers of ports in it, with the names that were shown for them. */
  readonly ports: readonly (readonly [number, string | undefined])[];
}

/** Where the parts of an entry are: its table, its priority, its cookie, and all that comes behind what it counted. */
const TABLE_AT = 2;
const PRIORITY_AT = 12;
const COOKIE_AT = 24;
const COUNTED_AT = 32;
const REST_AT = 48;
/** More than that are not worth remembering. */
const FLOWS_MAX = 20_000;

export class FlowCache {
  #before: ReadonlyMap<string, CachedFlow> = new Map();

  /** Reads one list of flows. What is not in it is forgotten when it is over. */
  list(names: PortNames): { readonly read: (reader: BytesReader) => Flow; readonly over: () => void } {
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
      over: () => {
        this.#before = seen.size < FLOWS_MAX ? seen : new Map();
      },
    };
  }
}

/** All of an entry but for how old it is and what it counted. One that does not end where it should is told by whoever reads it. */
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
