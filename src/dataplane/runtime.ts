export { parseAddress } from './ovsdb/address.ts';
export { BadAddress } from './ovsdb/failures.ts';
export { SimulatedSwitch } from './simulated-switch-driver.ts';
export { OvsSwitch } from './ovs/ovs-switch-driver.ts';
