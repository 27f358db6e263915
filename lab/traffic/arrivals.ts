// What arrived of a flow at one of its ends.

export interface ArrivalStats {
  readonly packets: number;
  readonly duplicates: number;
  /** Between two packets that arrived after each other. */
  readonly longestGapMs: number;
  /** Where they came from: `198.51.100.7:40001`. */
  readonly pairs: readonly string[];
}

export class Arrivals {
  readonly #sequences = new Set<number>();
  readonly #pairs = new Set<string>();
  #duplicates = 0;
  #longestGapMs = 0;
  #lastMs: number | undefined;

  add(sequence: number, nowMs: number): void {
    if (this.#sequences.has(sequence)) this.#duplicates += 1;
    this.#sequences.add(sequence);
    this.addTime(nowMs);
  }

  addTime(nowMs: number): void {
    if (this.#lastMs !== undefined) this.#longestGapMs = Math.max(this.#longestGapMs, nowMs - this.#lastMs);
    this.#lastMs = nowMs;
  }

  has(sequence: number): boolean {
    return this.#sequences.has(sequence);
  }

  addPair(pair: string): void {
    this.#pairs.add(pair);
  }

  get stats(): ArrivalStats {
    return {
      packets: this.#sequences.size,
      duplicates: this.#duplicates,
      longestGapMs: Math.round(this.#longestGapMs * 10) / 10,
      pairs: [...this.#pairs].sort(),
    };
  }
}

/** An address and a port as one word, of either version. */
export function pairOf(address: string, port: number): string {
  const plain = address.replace(/^::ffff:/, '');
  return plain.includes(':') ? `[${plain}]:${port}` : `${plain}:${port}`;
}
