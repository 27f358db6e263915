// The provision states of Ironic: what each shows of a machine, and what has to happen in it before the node is clean. Only `available` says that nothing of
// an instance is on a machine; a state that is not named here, such as one that a later version brings, says nothing of that.
import type { MachineStatus } from '../inventory.ts';

/**
 * `wait`: Ironic is at work, and continues by itself. `tear-down`: an instance, or something of one, is there. `manage`, then `provide`: it is to be cleaned
 * once more. `operator`: its operator decides what becomes of it.
 */
export type CleaningNeed = 'nothing' | 'wait' | 'tear-down' | 'manage' | 'provide' | 'operator';

interface ProvisionState {
  readonly shows: MachineStatus['state'];
  readonly needs: CleaningNeed;
}

const BEING_DEPLOYED: ProvisionState = { shows: 'deploying', needs: 'wait' };
/** A deploy that waits for something can be ended. */
const DEPLOY_WAITS: ProvisionState = { shows: 'deploying', needs: 'tear-down' };
const IN_USE: ProvisionState = { shows: 'deployed', needs: 'tear-down' };
const IN_USE_AT_WORK: ProvisionState = { shows: 'deployed', needs: 'wait' };
const FAILED: ProvisionState = { shows: 'failed', needs: 'tear-down' };
const BEING_CLEANED: ProvisionState = { shows: 'cleaning', needs: 'wait' };
/** Its data, if there is any, is still there: nodes come here from a cleaning that failed as well. */
const BEING_LOOKED_AT: ProvisionState = { shows: 'failed', needs: 'wait' };
const NOT_KNOWN: ProvisionState = { shows: 'failed', needs: 'operator' };

const STATES: Readonly<Record<string, ProvisionState>> = {
  available: { shows: 'empty', needs: 'nothing' },
  deploying: BEING_DEPLOYED,
  rebuild: BEING_DEPLOYED,
  'wait call-back': DEPLOY_WAITS,
  'deploy hold': DEPLOY_WAITS,
  'deploy failed': FAILED,
  error: FAILED,
  active: IN_USE,
  rescue: IN_USE,
  'rescue wait': IN_USE,
  'rescue failed': IN_USE,
  'unrescue failed': IN_USE,
  'service wait': IN_USE,
  'service hold': IN_USE,
  'service failed': IN_USE,
  rescuing: IN_USE_AT_WORK,
  unrescuing: IN_USE_AT_WORK,
  servicing: IN_USE_AT_WORK,
  adopting: IN_USE_AT_WORK,
  deleting: BEING_CLEANED,
  deleted: BEING_CLEANED,
  cleaning: BEING_CLEANED,
  'clean wait': BEING_CLEANED,
  'clean hold': BEING_CLEANED,
  'clean failed': { shows: 'failed', needs: 'manage' },
  manageable: { shows: 'failed', needs: 'provide' },
  verifying: BEING_LOOKED_AT,
  inspecting: BEING_LOOKED_AT,
  'inspect wait': BEING_LOOKED_AT,
};

interface Provisioned {
  readonly provisionState: string;
}

function stateOf({ provisionState }: Provisioned): ProvisionState {
  return Object.hasOwn(STATES, provisionState) ? (STATES[provisionState] ?? NOT_KNOWN) : NOT_KNOWN;
}

export function machineStateOf(node: Provisioned): MachineStatus['state'] {
  return stateOf(node).shows;
}

export function cleaningNeedOf(node: Provisioned): CleaningNeed {
  return stateOf(node).needs;
}
