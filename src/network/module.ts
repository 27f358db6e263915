// Everything that networks bring to the program.
import { contribute, hideKind, provide, provideController, type Module } from '../composition/index.ts';
import { EVACUATORS } from '../hosts/index.ts';
import { backEndSentences } from './back-end-sentences.ts';
import { CLAIM } from './claim.ts';
import { CredentialsController } from './credentials-controller.ts';
import { NetworkEventsController } from './event-controller.ts';
import { NETWORK_EVENT_REPRESENTATION, networkEventRoutes } from './event-routes.ts';
import { networkEventsModel } from './event.ts';
import { NetworkDriver } from './network-driver.ts';
import { networkModel } from './network-model.ts';
import { composeOrderPools } from './order-pools.ts';
import { portDelete, portSentences } from './port-delete.ts';
import { portEvacuator, portEvacuatorSentences } from './port-evacuator.ts';
import { networkRoutes } from './routes.ts';
import { BACK_END_CREDENTIALS, NETWORK_DRIVER, NETWORK_EVENTS, SIMULATED_NETWORK } from './service-keys.ts';
import { createAdoptingDriver } from './simulated-adoption-driver.ts';
import { simulatedBackEnds } from './simulated-back-ends.ts';
import { SimulatedNetwork } from './simulated-network-driver.ts';
import { simulatedNetworkRoutes } from './simulated-routes.ts';
import { TunnelKeyController } from './tunnel-key-controller.ts';
import { TUNNEL_KEY } from './tunnel-key.ts';
import {
  FLOATING_ADDRESS_REPRESENTATION,
  NETWORK_REPRESENTATION,
  PORT_REPRESENTATION,
  QUOTA_REPRESENTATION,
  ROUTER_REPRESENTATION,
  SEGMENT_REPRESENTATION,
  SUBNET_REPRESENTATION,
  TRANSPORT_ZONE_REPRESENTATION,
} from './views.ts';

export const networkModule: Module = {
  name: 'network',
  models: () => [networkModel, networkEventsModel],
  operationKinds: () => [portDelete],
  contributions: [contribute(EVACUATORS, portEvacuator)],
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
  hiddenKinds: [hideKind(CLAIM), hideKind(TUNNEL_KEY)],
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
