// What a pure file may not touch: clocks, chance, timers, the network, the process. A reference counts only when it
// means the global: a parameter called `fetch` is exactly what it should have.
import type { Place } from './place.ts';

const EFFECT_GLOBALS = new Set([
  'Date',
  'EventSource',
  'WebSocket',
  'console',
  'crypto',
  'fetch',
  'global',
  'globalThis',
  'performance',
  'process',
  'queueMicrotask',
  'require',
  'setImmediate',
  'setInterval',
  'setTimeout',
]);

/** Globals of which only some members have effects. */
const EFFECT_MEMBERS = new Map([
  ['Math', new Set(['random'])],
  ['AbortSignal', new Set(['timeout'])],
  ['Atomics', new Set(['wait', 'waitAsync'])],
]);

/** Members of the globals above that only compute. */
const PURE_MEMBERS = new Map([['Date', new Set(['UTC'])]]);

/** The simulation owns its event loop, so it may wait for a turn of it; time and chance come from the seed alone. */
const SIMULATION_MAY_USE = new Set(['setImmediate', 'queueMicrotask']);

export function isHeldToPurity(place: Place): boolean {
  return place.role === 'pure' || place.role === 'runtime' || isSimulation(place);
}

/** `member` is what is read of the global: undefined when that cannot be determined, as in `const { random } = Math`. */
export function globalProblem(place: Place, global: string, member: string | undefined): string | undefined {
  const members = EFFECT_MEMBERS.get(global);
  if (members !== undefined) {
    if (member !== undefined && !members.has(member)) return undefined;
    return `${place.path} is pure and may not use ${global}.${member ?? '*'}. Take its result as a parameter.`;
  }
  if (!EFFECT_GLOBALS.has(global)) return undefined;
  if (member !== undefined && PURE_MEMBERS.get(global)?.has(member)) return undefined;
  if (isSimulation(place) && SIMULATION_MAY_USE.has(global)) return undefined;
  return `${place.path} is pure and may not use ${global}. Take its result as a parameter.`;
}

/** The command line of the simulation, the hunt that it starts and the tests are not part of the simulated world. */
function isSimulation(place: Place): boolean {
  const isAround = place.path === 'sim/run.ts' || place.path.startsWith('sim/hunt/');
  return place.area === 'sim' && !isAround && !place.name.endsWith('.test');
}
