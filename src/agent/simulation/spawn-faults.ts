// Faults of the operation `spawn` that are armed at the simulated network back end, as trouble of simulated machines: so one
// place arms everything that can go wrong with a build.
import type { SimulatedHypervisorOptions, InjectedTaskFault } from '../node/instances/simulated-hypervisor.ts';

/** The armed outcome of a host's next spawn. */
export interface SpawnFaultSource {
  spawnFault(host: string): { readonly outcome: string; readonly delayMs: number } | undefined;
}

/** Longer than any build waits: there is no answer any more. */
const HANG_MS = 24 * 3600 * 1000;

export function spawnFaults(faults: SpawnFaultSource): NonNullable<SimulatedHypervisorOptions['faultFor']> {
  return ({ task, host }): InjectedTaskFault | undefined => {
    const struck = task === 'build' ? faults.spawnFault(host) : undefined;
    if (struck === undefined) return undefined;
    const { outcome, delayMs } = struck;
    if (outcome === 'ok') return { delayMs };
    if (outcome === 'hang') return { delayMs: HANG_MS, fault: 'spawn-failed', problem: 'the machine hung' };
    return { delayMs, fault: outcome, problem: `${outcome}, as armed` };
  };
}
