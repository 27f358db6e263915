// Service keys of networks: running parts that other modules use, and those that a server provides.
import { serviceKey } from '../composition/index.ts';
import type { Driver } from '../operations/index.ts';
import type { NetworkEventsController } from './ports/event-controller.ts';
import type { BackEndName } from './model.ts';
import type { SimulatedNetwork } from './back-ends/simulated/network.ts';

export const NETWORK_EVENTS = serviceKey<NetworkEventsController>('network-events');
export const SIMULATED_NETWORK = serviceKey<SimulatedNetwork>('simulated-network');
/** Passes orders to back ends outside the journal. */
export const NETWORK_DRIVER = serviceKey<Driver>('network-driver');
/** For which back ends this server has credentials. */
export const BACK_END_CREDENTIALS = serviceKey<{ has(backEnd: BackEndName): boolean }>('back-end-credentials');
