// A digest of a set of documents that can be updated incrementally: the sum of one hash per document. Two fleets with the same digest hold
// the same documents at the same revisions.
import type { Fleet } from '../../src/fleet/index.ts';

export function hashOf(kind: string, id: string, revision: number, body: string): number {
  let high = 0x811c9dc5 ^ revision;
  let low = 0x9747b28c + revision;
  for (const text of [kind, id, body]) {
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      high = Math.imul(high ^ code, 0x01000193);
      low = Math.imul((low << 5) | (low >>> 27), 0x5bd1e995) ^ code;
    }
  }
  // 53 bits: a sum of some thousand of them modulo 2^53 stays exact in `addDigests`.
  return (high >>> 0) * 2 ** 21 + ((low >>> 0) & 0x1fffff);
}

const LIMIT = 2 ** 53;

export function addDigests(one: number, other: number): number {
  const left = LIMIT - one;
  return other >= left ? other - left : one + other;
}

export function subtractDigest(sum: number, part: number): number {
  return sum >= part ? sum - part : LIMIT - part + sum;
}

export function digestOf(fleet: Fleet): number {
  let sum = 0;
  for (const kind of fleet.registry.kinds.values()) {
    for (const { id, revision, doc } of fleet.all(kind)) {
      sum = addDigests(sum, hashOf(kind.name, id, revision, JSON.stringify(doc)));
    }
  }
  return sum;
}
