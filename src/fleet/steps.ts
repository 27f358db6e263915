// Work that grows with the fleet, as a generator: its runner decides when to yield to the event loop. A step is some hundred
// microseconds of work. Run to its end in one go it answers the same.

export type Steps<T> = Generator<undefined, T>;

/** Documents processed in one step. */
const THINGS_PER_STEP = 128;
/** A list of this length is sorted in one step. */
const SORTED_PER_STEP = 1024;

export function finish<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** Does something with each of them. */
export function* eachInSteps<T>(things: Iterable<T>, act: (thing: T) => void): Steps<void> {
  let left = THINGS_PER_STEP;
  for (const thing of things) {
    act(thing);
    left -= 1;
    if (left > 0) continue;
    yield;
    left = THINGS_PER_STEP;
  }
}

export function* mapInSteps<T, R>(things: Iterable<T>, of: (thing: T) => R): Steps<R[]> {
  const made: R[] = [];
  yield* eachInSteps(things, (thing) => made.push(of(thing)));
  return made;
}

export function* filterInSteps<T>(things: Iterable<T>, isWanted: (thing: T) => boolean): Steps<T[]> {
  const found: T[] = [];
  yield* eachInSteps(things, (thing) => {
    if (isWanted(thing)) found.push(thing);
  });
  return found;
}

/** A sorted copy; things that are equal keep their order. */
export function* sortInSteps<T>(things: readonly T[], compare: (one: T, other: T) => number): Steps<T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < things.length; at += SORTED_PER_STEP) {
    runs.push(things.slice(at, at + SORTED_PER_STEP).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) merged.push(yield* merge(runs[at] ?? [], runs[at + 1] ?? [], compare));
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merge<T>(one: T[], other: T[], compare: (one: T, other: T) => number): Steps<T[]> {
  if (other.length === 0) return one;
  const merged: T[] = [];
  let [at, otherAt] = [0, 0];
  while (at < one.length || otherAt < other.length) {
    const isFirst = otherAt >= other.length || (at < one.length && compare(one[at] as T, other[otherAt] as T) <= 0);
    merged.push(isFirst ? (one[at++] as T) : (other[otherAt++] as T));
    if (merged.length % SORTED_PER_STEP === 0) yield;
  }
  return merged;
}
