// The sets of hosts that a search has still to visit, each with the upper bound of its best host.

export class BoundHeap {
  /** By set. */
  #bounds = new Float64Array(0);
  /** Once it is put in order it is a heap: no bound is higher than the first one's. */
  #heap = new Int32Array(0);
  #size = 0;

  /** Empties it, and reserves space for sets up to that number. */
  clear(sets: number): void {
    this.#size = 0;
    if (this.#bounds.length >= sets) return;
    this.#bounds = new Float64Array(sets);
    this.#heap = new Int32Array(sets);
  }

  get size(): number {
    return this.#size;
  }

  /** By set. Typed array for bulk writes: passing a number to a function would box it. */
  get bounds(): Float64Array {
    return this.#bounds;
  }

  at(place: number): number {
    return this.#heap[place] as number;
  }

  boundOf(set: number): number {
    return this.#bounds[set] as number;
  }

  setBound(set: number, bound: number): void {
    this.#bounds[set] = bound;
  }

  boundAt(place: number): number {
    return this.#bounds[this.#heap[place] as number] as number;
  }

  /** Adds a set at the end, in no order. Its bound is set before. */
  append(set: number): void {
    this.#heap[this.#size] = set;
    this.#size += 1;
  }

  heapify(): void {
    for (let place = (this.#size >>> 1) - 1; place >= 0; place -= 1) this.siftDown(place);
  }

  push(set: number, bound: number): void {
    this.#bounds[set] = bound;
    let place = this.#size;
    this.#size += 1;
    while (place > 0) {
      const parent = (place - 1) >>> 1;
      if (this.boundAt(parent) >= bound) break;
      this.#heap[place] = this.#heap[parent] as number;
      place = parent;
    }
    this.#heap[place] = set;
  }

  /** Takes the first one out. */
  pop(): void {
    this.#size -= 1;
    this.#heap[0] = this.#heap[this.#size] as number;
    this.siftDown(0);
  }

  /** Restores the heap order of a set whose bound decreased. */
  siftDown(from: number): void {
    const heap = this.#heap;
    let place = from;
    for (;;) {
      let most = place;
      for (let child = 2 * place + 1; child <= 2 * place + 2; child += 1) {
        if (child < this.#size && this.boundAt(child) > this.boundAt(most)) most = child;
      }
      if (most === place) return;
      const moved = heap[place] as number;
      heap[place] = heap[most] as number;
      heap[most] = moved;
      place = most;
    }
  }
}
