// Everything that networks bring to the program.
import { contribute, hideKind, provide, provideController, type Module } from '../composition/index.ts';
import { EVACUATORS } from '../hosts/index.ts';
import { backEndSentences } from './back-end-sentences.ts';
import { CLAIM } from './claim.ts';
import { CredentialsController } from './credentials-controller.ts';
import { NetworkEventsController } from './event-controller.ts';
import { NETWORK_EVENT_VIEW, networkEventRoutes } from './event-routes.ts';
import { networkEventsModel } from './event.ts';
import { NetworkDriver } from './network-driver.ts';
import { networkModel } from './network-model.ts';
import { orderPools } from './order-pools.ts';
import { portDelete, portSentences } from './port-delete.ts';
import { portEvacuator, portEvacuatorSentences } from './port-evacuator.ts';
import { networkRoutes } from './routes.ts';
import { BACK_END_CREDENTIALS, NETWORK_DRIVER, NETWORK_EVENTS, SIMULATED_NETWORK } from './service-keys.ts';
import { adoptPortsFirst } from './simulated-adoption-driver.ts';
import { simulatedBackEnds } from './simulated-back-ends.ts';
import { SimulatedNetwork } from './simulated-network-driver.ts';
import { simulatedNetworkRoutes } from './simulated-routes.ts';
import { TunnelKeysController } from './tunnel-key-controller.ts';
import { TUNNEL_KEY } from './tunnel-key.ts';
import {
  FLOATING_ADDRESS_VIEW,
  NETWORK_VIEW,
  PORT_VIEW,
  QUOTA_VIEW,
  ROUTER_VIEW,
  SEGMENT_VIEW,
  SUBNET_VIEW,
  TRANSPORT_ZONE_VIEW,
} from './views.ts';

export const networkModule: Module = {
  name: 'network',
  models: () => [networkModel, networkEventsModel],
  operationKinds: () => [portDelete],
  contributions: [contribute(EVACUATORS, portEvacuator)],
  sentences: [backEndSentences, portSentences, portEvacuatorSentences],
  representations: () => [
    NETWORK_VIEW,
    SEGMENT_VIEW,
    SUBNET_VIEW,
    PORT_VIEW,
    QUOTA_VIEW,
    ROUTER_VIEW,
    FLOATING_ADDRESS_VIEW,
    TRANSPORT_ZONE_VIEW,
    NETWORK_EVENT_VIEW,
  ],
  hiddenKinds: [hideKind(CLAIM), hideKind(TUNNEL_KEY)],
  services: [
    provideController(NETWORK_EVENTS, ({ environment }) => new NetworkEventsController(environment)),
    provide(SIMULATED_NETWORK, (runtime) => {
      const { clock, journal } = runtime.environment;
      const poolsOf: ConstructorParameters<typeof SimulatedNetwork>[0]['poolsOf'] = (pool) =>
        orderPools(journal.fleet, pool);
      return new SimulatedNetwork({ clock, emit: runtime.get(NETWORK_EVENTS).tell, poolsOf });
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
      return adoptPortsFirst(driver, simulated, journal);
    }),
  ],
  controllers: (runtime) => [
    new TunnelKeysController(runtime.environment),
    new CredentialsController({ ...runtime.environment, credentials: runtime.get(BACK_END_CREDENTIALS) }),
  ],
  drivers: (runtime) => ({ network: runtime.get(NETWORK_DRIVER) }),
  routes: (runtime) => [
    ...networkRoutes,
    ...networkEventRoutes,
    ...simulatedNetworkRoutes(runtime.get(SIMULATED_NETWORK)),
  ],
};
