export { NetworkEventsController } from './event-controller.ts';
export { NETWORK_EVENT_VIEW, networkEventRoutes } from './event-routes.ts';
export { NetworkDriver } from './network-driver.ts';
export { networkRoutes } from './routes.ts';
export { SIMULATED_BACK_ENDS, simulatedBackEnds } from './simulated-back-ends.ts';
export { SimulatedNetwork } from './simulated-network-driver.ts';
export { simulatedNetworkRoutes } from './simulated-routes.ts';
export { TunnelKeysController } from './tunnel-key-controller.ts';
export {
  FLOATING_ADDRESS_VIEW,
  NETWORK_VIEW,
  PORT_VIEW,
  QUOTA_VIEW,
  ROUTER_VIEW,
  SEGMENT_VIEW,
  SUBNET_VIEW,
  TRANSPORT_ZONE_VIEW,
} from './views.ts';
