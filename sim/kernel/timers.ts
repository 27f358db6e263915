// Tasks that are due later, the earliest first: a binary heap. Equal times come out in the order they went in.

export interface TimerTask {
  /** Virtual time at which it may run. */
  dueMs: number;
  /** Orders equal times, so that the heap itself makes no choice. */
  order: number;
  cancelled: boolean;
}

export class Timers<T extends TimerTask> {
  readonly #heap: T[] = [];

  get size(): number {
    return this.#heap.length;
  }

  get earliestMs(): number | undefined {
    return this.#heap[0]?.dueMs;
  }

  push(task: T): void {
    const heap = this.#heap;
    let at = heap.push(task) - 1;
    while (at > 0) {
      const parent = (at - 1) >>> 1;
      if (!earlier(task, heap[parent] as T)) break;
      heap[at] = heap[parent] as T;
      at = parent;
    }
    heap[at] = task;
  }

  pop(): T | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && earlier(heap[child + 1] as T, heap[child] as T)) child += 1;
      if (!earlier(heap[child] as T, last)) break;
      heap[at] = heap[child] as T;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

function earlier(one: TimerTask, other: TimerTask): boolean {
  return one.dueMs < other.dueMs || (one.dueMs === other.dueMs && one.order < other.order);
}
