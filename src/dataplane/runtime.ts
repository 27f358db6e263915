// Running parts of the data plane, for composition roots, tests and benchmarks. Other modules must not import them.
export { parseAddress } from './ovs/transport/address.ts';
export { BadAddress } from './ovs/transport/failures.ts';
export { SimulatedSwitch } from './switch/simulated-driver.ts';
export { OvsSwitch } from './ovs/switch-driver.ts';
