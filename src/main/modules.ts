// Every module of this program. A new one is added here and nowhere else.
import { accessModule } from '../access/module.ts';
import { agentModule } from '../agent/module.ts';
import { alarmsModule } from '../alarms/module.ts';
import { apiModule } from '../api/module.ts';
import { baremetalModule } from '../baremetal/module.ts';
import { compose, type Module } from '../composition/index.ts';
import { dataplaneModule } from '../dataplane/module.ts';
import { electionModule } from '../election/module.ts';
import { fleetModule } from '../fleet/module.ts';
import { hostsModule } from '../hosts/module.ts';
import { instancesModule } from '../instances/module.ts';
import { journalModule } from '../journal/module.ts';
import { kubernetesModule } from '../kubernetes/module.ts';
import { keysModule } from '../keys/module.ts';
import { networkModule } from '../network/module.ts';
import { operationsModule } from '../operations/module.ts';
import { schedulerModule } from '../scheduler/module.ts';
import { sitesModule } from '../sites/module.ts';

/** In the order of `scripts/lint/module-order.ts`: retention forgets documents in it, those that others depend on first. */
export const MODULES: readonly Module[] = [
  fleetModule,
  journalModule,
  accessModule,
  operationsModule,
  alarmsModule,
  sitesModule,
  keysModule,
  hostsModule,
  networkModule,
  electionModule,
  dataplaneModule,
  schedulerModule,
  instancesModule,
  baremetalModule,
  kubernetesModule,
  apiModule,
  agentModule,
];

export const PROGRAM = compose(MODULES);
