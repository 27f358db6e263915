export { PauseGate } from './manager/pause-gate.ts';
export { startManager } from './manager/start-manager.ts';
export type { RunningManager } from './manager/start-manager.ts';
export { parseIronicCredentials } from './drivers/ironic/credentials.ts';
export type { IronicCredentials } from './drivers/ironic/credentials.ts';
export { IronicInventory } from './drivers/ironic/inventory-driver.ts';
export { IronicClient } from './drivers/ironic/ironic-client-driver.ts';
export { IronicMachines } from './drivers/ironic/machine-driver.ts';
