// The Module value of networks: everything that they contribute to the program.
import { noProject, wholeFleet } from '../access/index.ts';
import { contribute, hideKind, provide, provideController, type Module } from '../composition/index.ts';
import { EVACUATORS } from '../hosts/index.ts';
import { backEndSentences } from './back-ends/sentences.ts';
import { CredentialsController } from './credentials-controller.ts';
import { NetworkEventsController } from './ports/event-controller.ts';
import { NETWORK_EVENT_REPRESENTATION, networkEventRoutes } from './ports/event-routes.ts';
import { networkEventsModel } from './ports/event.ts';
import { NetworkDriver } from './back-ends/driver.ts';
import { networkModel } from './fleet-model.ts';
import { composeOrderPools } from './back-ends/order-pools.ts';
import { portDelete, portSentences } from './ports/delete.ts';
import { portEvacuator, portEvacuatorSentences } from './ports/evacuator.ts';
import { NETWORK_REASON_CODES } from './reason-codes.ts';
import { networkRoutes } from './routes.ts';
import { BACK_END_CREDENTIALS, NETWORK_DRIVER, NETWORK_EVENTS, SIMULATED_NETWORK } from './service-keys.ts';
import { createAdoptingDriver } from './back-ends/simulated/adopting-driver.ts';
import { simulatedBackEnds } from './back-ends/simulated/back-ends.ts';
import { SimulatedNetwork } from './back-ends/simulated/network.ts';
import { simulatedNetworkRoutes } from './back-ends/simulated/routes.ts';
import { TunnelKeyController } from './tunnels/key-controller.ts';
import { TUNNEL_KEY } from './tunnels/keys.ts';
import {
  FLOATING_ADDRESS_REPRESENTATION,
  NETWORK_REPRESENTATION,
  PORT_REPRESENTATION,
  QUOTA_REPRESENTATION,
  ROUTER_REPRESENTATION,
  SEGMENT_REPRESENTATION,
  SUBNET_REPRESENTATION,
  TRANSPORT_ZONE_REPRESENTATION,
} from './representations.ts';

export const networkModule: Module = {
  name: 'network',
  models: () => [networkModel, networkEventsModel],
  operationKinds: () => [portDelete],
  contributions: [contribute(EVACUATORS, portEvacuator)],
  reasonCodes: NETWORK_REASON_CODES,
  sentences: [backEndSentences, portSentences, portEvacuatorSentences],
  representations: () => [
    NETWORK_REPRESENTATION,
    SEGMENT_REPRESENTATION,
    SUBNET_REPRESENTATION,
    PORT_REPRESENTATION,
    QUOTA_REPRESENTATION,
    ROUTER_REPRESENTATION,
    FLOATING_ADDRESS_REPRESENTATION,
    TRANSPORT_ZONE_REPRESENTATION,
    NETWORK_EVENT_REPRESENTATION,
  ],
  // Claims are hidden by instances, which know the project of each.
  hiddenKinds: [hideKind(TUNNEL_KEY, { siteOf: wholeFleet, projectOf: noProject })],
  requires: [BACK_END_CREDENTIALS],
  services: [
    provideController(NETWORK_EVENTS, ({ environment }) => new NetworkEventsController(environment)),
    provide(SIMULATED_NETWORK, (runtime) => {
      const { clock, journal } = runtime.environment;
      const poolsOf: ConstructorParameters<typeof SimulatedNetwork>[0]['poolsOf'] = (pool) =>
        composeOrderPools(journal.fleet, pool);
      return new SimulatedNetwork({ clock, emit: runtime.get(NETWORK_EVENTS).enqueue, poolsOf });
    }),
    provide(NETWORK_DRIVER, (runtime) => {
      const { clock, journal } = runtime.environment;
      const simulated = runtime.get(SIMULATED_NETWORK);
      const credentials = runtime.get(BACK_END_CREDENTIALS);
      const driver = new NetworkDriver({
        clock,
        backEnds: simulatedBackEnds(simulated),
        hasCredentials: (backEnd) => credentials.has(backEnd),
      });
      return createAdoptingDriver(driver, simulated, journal);
    }),
  ],
  controllers: (runtime) => [
    new TunnelKeyController(runtime.environment),
    new CredentialsController({ ...runtime.environment, credentials: runtime.get(BACK_END_CREDENTIALS) }),
  ],
  drivers: (runtime) => ({ network: runtime.get(NETWORK_DRIVER) }),
  routes: (runtime) => [
    ...networkRoutes,
    ...networkEventRoutes,
    ...simulatedNetworkRoutes(runtime.get(SIMULATED_NETWORK)),
  ],
};
