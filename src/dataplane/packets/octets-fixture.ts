// Octets for tests: written as hexadecimal text, random, cut short, changed, and amid others in memory.
import * as fc from 'fast-check';

/** Spaces and line ends mean nothing. */
export function hex(text: string): Uint8Array {
  return Uint8Array.from(text.replaceAll(/\s/g, '').match(/../g) ?? [], (octet) => Number.parseInt(octet, 16));
}

export function toHex(octets: Uint8Array): string {
  return Array.from(octets, (octet) => octet.toString(16).padStart(2, '0')).join('');
}

/** The same octets in the middle of a larger memory: who reads beyond them reads something else. */
export function amid(octets: Uint8Array, filler: number): Uint8Array {
  const memory = new Uint8Array(octets.length + 128).fill(filler);
  memory.set(octets, 64);
  return memory.subarray(64, 64 + octets.length);
}

/** Random ones, and good ones cut short, made longer, and changed here and there. */
export function fuzzOctets(good: readonly Uint8Array[]): fc.Arbitrary<Uint8Array> {
  const one = fc.constantFrom(...good);
  return fc.oneof(
    fc.uint8Array({ maxLength: 1600 }),
    fc.tuple(one, fc.nat()).map(([octets, cut]) => octets.slice(0, cut % (octets.length + 1))),
    fc.tuple(one, fc.uint8Array({ maxLength: 2000 })).map(([octets, more]) => Uint8Array.from([...octets, ...more])),
    fc.tuple(one, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 })).map(([octets, changes]) => {
      const changed = Uint8Array.from(octets);
      for (const [at, value] of changes) changed[at % octets.length] = value;
      return changed;
    }),
  );
}

export const anyPort: fc.Arbitrary<number> = fc.nat(0xffff);
export const anyNumber: fc.Arbitrary<number> = fc.nat(0xffff_ffff);
const octet = fc.nat(255);

/** Unicast. */
export const anyMac: fc.Arbitrary<string> = fc
  .tuple(octet, octet, octet, octet, octet, octet)
  .map(([first, ...rest]) => [first & 0xfe, ...rest].map((each) => each.toString(16).padStart(2, '0')).join(':'));

export const anyIpv4: fc.Arbitrary<string> = fc
  .tuple(fc.integer({ min: 1, max: 223 }), octet, octet, octet)
  .map((octets) => octets.join('.'));

const anyIpv6Groups = fc.array(fc.constantFrom('0', '0', '1', 'ab', 'ffff', '8000'), { minLength: 7, maxLength: 7 });

/** Canonical, by a reader that is not ours. */
export const anyIpv6: fc.Arbitrary<string> = anyIpv6Groups.map((groups) =>
  new URL(`http://[2001:${groups.join(':')}]`).hostname.slice(1, -1),
);

export const anyPayload: fc.Arbitrary<Uint8Array> = fc.uint8Array({ maxLength: 64 });
