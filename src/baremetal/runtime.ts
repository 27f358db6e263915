export { startManager } from './manager/start-manager.ts';
export type { RunningManager } from './manager/start-manager.ts';
export { IronicClient } from './drivers/ironic/ironic-client-driver.ts';
export { IronicMachines } from './drivers/ironic/machine-driver.ts';
