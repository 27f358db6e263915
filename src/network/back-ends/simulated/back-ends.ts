// The back-end names that the simulated network serves. It is one network: the names differ in their declared capabilities, so that orders for
// back ends of either kind can be tried.
import type { NetworkBackEnd } from '../back-end.ts';
import type { BackEndName } from '../../model.ts';

export const SIMULATED_BACK_ENDS = ['simulated', 'simulated-single'] as const satisfies readonly BackEndName[];

export function simulatedBackEnds(network: NetworkBackEnd): ReadonlyMap<BackEndName, NetworkBackEnd> {
  return new Map(SIMULATED_BACK_ENDS.map((name) => [name, network]));
}
