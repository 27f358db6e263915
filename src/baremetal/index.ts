export { MANAGER, NODE, RESERVATION } from './model.ts';
export { isPaused } from './managers/pause.ts';
export type { Manager, Node, Reservation } from './model.ts';
export { MANAGER_CERTIFICATES, OUTSIDE_INVENTORIES } from './service-keys.ts';
