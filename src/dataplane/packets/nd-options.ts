// The options of neighbour discovery, in sequence. Options that are not used here (name servers, nonces, routes) are skipped.
import { malformedError, type Malformed } from './malformed.ts';

export const OPTION = { sourceMac: 1, targetMac: 2, prefix: 3, mtu: 5 } as const;

export interface NdOption {
  readonly type: number;
  /** Without type and length. */
  readonly octets: Uint8Array;
}

/** Lengths are counted in these. */
const UNIT = 8;

export function decodeOptions(octets: Uint8Array): readonly NdOption[] | Malformed {
  const options: NdOption[] = [];
  let at = 0;
  while (at < octets.length) {
    const [type, units] = octets.subarray(at, at + 2);
    // Without this check a length of zero would loop for ever.
    if (type === undefined || units === undefined || units === 0) return malformedError('bad-option');
    const end = at + units * UNIT;
    if (end > octets.length) return malformedError('bad-option');
    options.push({ type, octets: octets.subarray(at + 2, end) });
    at = end;
  }
  return options;
}
