export { BUILDERS, Builders } from './builder.ts';
export type {
  Builder,
  CreatedInstances,
  DeleteInstances,
  NodeStatus,
  PowerAction,
  Preview,
  SwitchPower,
} from './builder.ts';
export { beginInstanceOperation } from './instance-operation.ts';
export { hostBuilder } from './host-builder.ts';
export { createInstances, previewInstances } from './build/create.ts';
export type { CreateInstances } from './build/create.ts';
export { releaseHoldings } from './build/failure.ts';
export { decideInParts, requestedInstanceAt } from './build/parts.ts';
export { composeInstance, composePorts } from './build/request.ts';
export type { RequestedInstance, StageChanges, ValidatedRequest } from './build/request.ts';
export { degradedPorts, openReplugItem } from './degraded/degraded.ts';
export { deleteInstances } from './delete/request.ts';
export { copyOf, roleOfCopy } from './delete/clean.ts';
export { instanceEvacuator } from './evacuation/evacuator.ts';
export { FAULTS } from './faults.ts';
export { gatesOf } from './gates.ts';
export { FLAVOR, GROUP, INSTANCE } from './model.ts';
export type { Attempt, Flavor, Instance } from './model.ts';
export { portsOf } from './build/placement.ts';
export type { StoredInstance } from './build/placement.ts';
export { moveInstances } from './move/move.ts';
export { rebuildInstances } from './shelve-rebuild/rebuild.ts';
export { shelveInstance, unshelveInstance } from './shelve-rebuild/shelve.ts';
