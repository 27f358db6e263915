// The network back ends of one server: those outside the journal with their credentials, the driver that takes orders to
// them, and what writes down their news. The simulated one lives in this process and finds its ports in the journal.
import { readFileSync } from 'node:fs';
import type { FleetReader, Stored } from '../fleet/index.ts';
import type { Journal } from '../journal/index.ts';
import {
  hasCredentials,
  NETWORK,
  orderPools,
  parseCredentials,
  PORTS_BY_NETWORK,
  type BackEndName,
  type Credentials,
  type Port,
} from '../network/index.ts';
import {
  NetworkDriver,
  NetworkEventsController,
  SIMULATED_BACK_ENDS,
  simulatedBackEnds,
  SimulatedNetwork,
} from '../network/runtime.ts';
import type { Driver, Log } from '../operations/index.ts';
import { realClock } from './clock.ts';
import { CannotStart } from './start-failure.ts';

export interface Networks {
  readonly simulated: SimulatedNetwork;
  readonly drivers: ReadonlyMap<string, Driver>;
  readonly news: NetworkEventsController;
  /** Whether this server has the credentials of every back end that needs some. */
  readonly credentials: () => boolean;
}

export function startNetworks(journal: Journal, credentialsFile: string | undefined, log: Log): Networks {
  const credentials = readCredentials(credentialsFile);
  const news = new NetworkEventsController({ journal, clock: realClock, log });
  const simulated = new SimulatedNetwork({
    clock: realClock,
    emit: news.tell,
    poolsOf: (pool) => orderPools(journal.fleet, pool),
  });
  const driver = new NetworkDriver({
    clock: realClock,
    backEnds: simulatedBackEnds(simulated),
    hasCredentials: (backEnd) => credentials.has(backEnd),
  });
  const drivers = new Map([['network', remembering(driver, simulated, journal)]]);
  return { simulated, news, drivers, credentials: () => hasCredentials(credentials) };
}

/** What the simulated network holds outlives the process, as a network does: under a new lease it is told of its ports. */
function remembering(driver: Driver, simulated: SimulatedNetwork, { fleet }: Journal): Driver {
  let epoch = 0;
  return {
    carryOut: (action, fence) => {
      if (fence.leaseEpoch !== epoch) {
        epoch = fence.leaseEpoch;
        simulated.adopt(portsOn(fleet, SIMULATED_BACK_ENDS));
      }
      return driver.carryOut(action, fence);
    },
  };
}

function* portsOn(fleet: FleetReader, backEnds: readonly BackEndName[]): Iterable<Stored<'port', Port>> {
  for (const { id, doc } of fleet.all(NETWORK))
    if (backEnds.includes(doc.backEnd)) yield* fleet.find(PORTS_BY_NETWORK, id);
}

function readCredentials(path: string | undefined): Credentials {
  if (path === undefined) return new Map();
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new CannotStart(`--network-credentials ${path} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const read = parseCredentials(text);
  if ('problems' in read) throw new CannotStart(`--network-credentials ${path}: ${read.problems.join('; ')}.`);
  return read;
}
