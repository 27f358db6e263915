// Ports have numbers on the wire and names in texts. A name is quoted, a reserved port is a keyword, and a number without a known name is
// shown as it is.
import { BadFlowText, UnknownPort } from './errors.ts';

/** Looks up the interfaces of the bridge. Called each time: interfaces come and go. */
export interface PortNames {
  number(name: string): number | undefined;
  name(number: number): string | undefined;
}

const RESERVED = new Map([
  ['IN_PORT', 0xfffffff8],
  ['TABLE', 0xfffffff9],
  ['NORMAL', 0xfffffffa],
  ['FLOOD', 0xfffffffb],
  ['ALL', 0xfffffffc],
  ['CONTROLLER', 0xfffffffd],
  ['LOCAL', 0xfffffffe],
  ['ANY', 0xffffffff],
]);
const WORDS = new Map([...RESERVED].map(([word, number]) => [number, word]));

export const CONTROLLER = 0xfffffffd;
export const ANY = 0xffffffff;

/** In older actions and in the database, numbers have 16 bits and are reserved from here on. */
const SHORT_RESERVED = 0xff00;

export function isReserved(word: string): boolean {
  return RESERVED.has(word);
}

export function portNumber(text: string, names: PortNames): number {
  const reserved = RESERVED.get(text);
  if (reserved !== undefined) return reserved;
  if (text.length > 2 && text.startsWith('"') && text.endsWith('"')) {
    const name = text.slice(1, -1);
    const number = names.number(name);
    if (number === undefined) throw new UnknownPort(name);
    return longPort(number);
  }
  const number = Number(text);
  if (text === '' || !Number.isInteger(number) || number < 0 || number >= SHORT_RESERVED) {
    throw new BadFlowText(`"${text}" is not a port: a name in quotes, a reserved word or a number`);
  }
  return number;
}

export function portText(number: number, names: PortNames): string {
  const word = WORDS.get(number);
  if (word !== undefined) return word;
  const name = names.name(number);
  // A name with a quote or a backslash could not be parsed again.
  return name === undefined || /["\\]/.test(name) ? `${number}` : `"${name}"`;
}

/** In 16 bits, for older actions. */
export function shortPort(number: number): number {
  return number >= 0xffff0000 + SHORT_RESERVED ? number - 0xffff0000 : number;
}

export function longPort(short: number): number {
  return short >= SHORT_RESERVED ? short + 0xffff0000 : short;
}

/** From the port list of a switch. */
export function portNamesOf(ports: Iterable<{ readonly name: string; readonly number: number }>): PortNames {
  const all = [...ports];
  const numbers = new Map(all.map(({ name, number }) => [name, number]));
  const names = new Map(all.map(({ name, number }) => [number, name]));
  return { number: (name) => numbers.get(name), name: (number) => names.get(number) };
}
