export { NetworkEventsController } from './ports/event-controller.ts';
export { NetworkDriver } from './back-ends/driver.ts';
export { simulatedBackEnds } from './back-ends/simulated/back-ends.ts';
export { SimulatedNetwork } from './back-ends/simulated/network.ts';
