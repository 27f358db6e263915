export { NetworkEventsController } from './event-controller.ts';
export { NetworkDriver } from './network-driver.ts';
export { simulatedBackEnds } from './simulated-back-ends.ts';
export { SimulatedNetwork } from './simulated-network-driver.ts';
