export { NetworkEventsController } from './event-controller.ts';
export { NETWORK_EVENT_VIEW, networkEventRoutes } from './event-routes.ts';
export { NetworkDriver } from './network-driver.ts';
export { networkRoutes, networkViews } from './routes.ts';
export { SimulatedNetwork } from './simulated-network-driver.ts';
export { simulatedNetworkRoutes } from './simulated-routes.ts';
