// Coverage marks: a guard says that it was hit. The simulation counts them; a guard that no seed ever hits is a guard
// that nothing tests. Outside the simulation there is no listener and a mark costs one comparison.

let listener: ((name: string) => void) | undefined;

export function mark(name: string): void {
  listener?.(name);
}

/** For the simulation and its tests only. */
export function listenToMarks(listen: ((name: string) => void) | undefined): void {
  listener = listen;
}
