// Faults of the operation `spawn` that are armed at the simulated network back end, applied to simulated machines: so one place arms every
// fault of a build.
import type { SimulatedRuntimeOptions, InjectedTaskFault } from '../node/instances/simulated-runtime.ts';

/** The armed outcome of a host's next spawn. */
export interface SpawnFaultSource {
  spawnFault(host: string): { readonly outcome: string; readonly delayMs: number } | undefined;
}

/** Longer than any build waits: there is no answer any more. */
const HANG_MS = 24 * 3600 * 1000;

export function spawnFaults(faults: SpawnFaultSource): NonNullable<SimulatedRuntimeOptions['faultFor']> {
  return ({ task, host }): InjectedTaskFault | undefined => {
    const struck = task === 'build' ? faults.spawnFault(host) : undefined;
    if (struck === undefined) return undefined;
    const { outcome, delayMs } = struck;
    if (outcome === 'ok') return { delayMs };
    if (outcome === 'hang') return { delayMs: HANG_MS, fault: 'spawn-failed', problem: 'the machine hung' };
    return { delayMs, fault: outcome, problem: `${outcome}, as armed` };
  };
}
