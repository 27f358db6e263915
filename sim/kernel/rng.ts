// The only source of randomness in the simulation: xoshiro128**, seeded by splitmix32. Same seed, same numbers, on every machine; nothing
// here may use Math.random.

export class Rng {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: number) {
    const next = splitmix32(seed);
    this.#a = next();
    this.#b = next();
    this.#c = next();
    this.#d = next();
  }

  /** A stream of its own: what one part draws does not shift what another part gets. */
  fork(): Rng {
    return new Rng(this.uint32());
  }

  uint32(): number {
    const result = Math.imul(rotateLeft(Math.imul(this.#b, 5), 7), 9) >>> 0;
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = rotateLeft(this.#d, 11);
    return result;
  }

  /** A whole number from 0 to `bound` - 1. */
  below(bound: number): number {
    return Math.floor((this.uint32() / 2 ** 32) * bound);
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.uint32() < probability * 2 ** 32;
  }

  pick<T>(things: readonly T[]): T {
    if (things.length === 0) throw new Error('nothing to pick from');
    return things[this.below(things.length)] as T;
  }

  /** Picks by weight; items with weight 0 are never picked. */
  pickWeighted<T extends { readonly weight: number }>(things: readonly T[]): T {
    let left = this.below(things.reduce((sum, thing) => sum + thing.weight, 0));
    for (const thing of things) {
      left -= thing.weight;
      if (left < 0) return thing;
    }
    throw new Error('nothing to pick from');
  }
}

function rotateLeft(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}

function splitmix32(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return mixed ^ (mixed >>> 15);
  };
}
