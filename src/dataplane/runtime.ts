export { parseAddress } from './ovs/transport/address.ts';
export { BadAddress } from './ovs/transport/failures.ts';
export { SimulatedSwitch } from './switch/simulated-driver.ts';
export { OvsSwitch } from './ovs/switch-driver.ts';
