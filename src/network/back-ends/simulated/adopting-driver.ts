// The simulated network outlives the process, as a network does: under a new lease it adopts the journal's ports.
import type { FleetReader, Stored } from '../../../fleet/index.ts';
import type { Journal } from '../../../journal/index.ts';
import type { Driver } from '../../../operations/index.ts';
import { NETWORK, PORTS_BY_NETWORK, type Port } from '../../model.ts';
import { SIMULATED_BACK_ENDS } from './back-ends.ts';
import type { SimulatedNetwork } from './network.ts';

export function createAdoptingDriver(driver: Driver, simulated: SimulatedNetwork, { fleet }: Journal): Driver {
  let epoch = 0;
  return {
    carryOut: (action, fence) => {
      if (fence.leaseEpoch !== epoch) {
        epoch = fence.leaseEpoch;
        simulated.adopt(simulatedPorts(fleet));
      }
      return driver.carryOut(action, fence);
    },
  };
}

function* simulatedPorts(fleet: FleetReader): Iterable<Stored<'port', Port>> {
  const names: readonly string[] = SIMULATED_BACK_ENDS;
  for (const { id, doc } of fleet.all(NETWORK))
    if (names.includes(doc.backEnd)) yield* fleet.find(PORTS_BY_NETWORK, id);
}
