export { idOf, isId, put, remove } from './document.ts';
export type { AnyDoc, Change, Id, Kind, Reason, Refusal, Stored } from './document.ts';
export { Fleet } from './fleet.ts';
export { listOf } from './reader.ts';
export type { FleetReader } from './reader.ts';
export { Registry } from './registry.ts';
export type { Applied, Index, Invariant, Model, Projected, Projection } from './registry.ts';
export { Stage } from './stage.ts';
