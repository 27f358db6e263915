// How faults of simulated machines and the notes of their calls are shown: to administrators alone.
import { defineRepresentation, noProject, wholeFleet } from '../../../access/index.ts';
import {
  CALL_SCHEMA,
  FAULT_SCHEMA,
  MACHINE_CALL,
  MACHINE_FAULT,
  type MachineCallNote,
  type MachineFault,
} from './model.ts';

export const FAULT_REPRESENTATION = defineRepresentation<'simulated-fault', MachineFault>({
  kind: MACHINE_FAULT,
  access: 'admin',
  siteOf: wholeFleet,
  projectOf: noProject,
  fields: FAULT_SCHEMA.properties,
});

export const CALL_REPRESENTATION = defineRepresentation<'simulated-call', MachineCallNote>({
  kind: MACHINE_CALL,
  access: 'admin',
  siteOf: wholeFleet,
  projectOf: noProject,
  fields: CALL_SCHEMA.properties,
});
