export { SimulatedSwitch } from './simulated-switch-driver.ts';
