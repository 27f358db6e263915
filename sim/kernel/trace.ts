// Every event in order: every choice of the scheduler, every port call, fault and outcome. Two runs of one seed are the same run exactly
// when their traces have the same hash.

/** What a failing seed prints: enough to see the last exchange of every server. */
const LAST_LINES = 60;

export class Trace {
  readonly #print: ((line: string) => void) | undefined;
  readonly #last: (readonly [atMs: number, who: string, what: string])[] = [];
  #count = 0;
  #high = 0x811c9dc5;
  #low = 0xc2b2ae35;

  constructor(print?: (line: string) => void) {
    this.#print = print;
  }

  add(atMs: number, who: string, what: string): void {
    this.#mix(atMs);
    this.#mixText(who);
    this.#mixText(what);
    this.#last[this.#count % LAST_LINES] = [atMs, who, what];
    this.#count += 1;
    this.#print?.(lineOf(atMs, who, what));
  }

  get hash(): string {
    return [this.#high, this.#low].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
  }

  get lines(): number {
    return this.#count;
  }

  lastLines(): string[] {
    const start = Math.max(0, this.#count - LAST_LINES);
    return Array.from({ length: this.#count - start }, (_, at) => {
      const [atMs, who, what] = this.#last[(start + at) % LAST_LINES] as readonly [number, string, string];
      return lineOf(atMs, who, what);
    });
  }

  #mixText(text: string): void {
    for (let at = 0; at < text.length; at += 1) this.#mix(text.charCodeAt(at));
    this.#mix(text.length);
  }

  /** FNV-1a and a multiply-rotate beside it: 64 bits, no allocation. */
  #mix(value: number): void {
    this.#high = Math.imul(this.#high ^ value, 0x01000193);
    this.#low = Math.imul((this.#low << 13) | (this.#low >>> 19), 5) ^ Math.imul(value, 0x1b873593);
  }
}

function lineOf(atMs: number, who: string, what: string): string {
  return `${(atMs / 1000).toFixed(3).padStart(9)} ${who.padEnd(12)} ${what}`;
}
