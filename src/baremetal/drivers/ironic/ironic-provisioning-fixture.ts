// What the small Ironic does with machines: it deploys, tears down, cleans and switches power, as the real one does, step by step. A step is over once the node was
// looked at, so that whoever waits sees each of them; `hold` keeps a node where it is.

export interface ProvisionedNode {
  readonly uuid: string;
  provision_state: string;
  power_state: string | null;
  target_power_state: string | null;
  maintenance: boolean;
  instance_uuid: string | null;
  instance_info: Record<string, unknown>;
  last_error: string | null;
  extra: Record<string, unknown>;
}

export interface IronicAnswer {
  readonly status: number;
  readonly body?: object;
}

interface ProvisioningRequest {
  readonly method: string;
  /** Behind the id of the node. */
  readonly path: string;
  readonly body: Record<string, unknown>;
}

/** Its fault is JSON text within JSON. */
export function fail(status: number, faultstring: string): IronicAnswer {
  return { status, body: { error_message: JSON.stringify({ faultstring }) } };
}

/** By state, what may be requested, and the state that the answer finds it in (ironic/common/states.py). */
const DELETABLE = ['active', 'wait call-back', 'deploy failed', 'error', 'rescue', 'rescue wait', 'rescue failed'];
const TRANSITIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ...Object.fromEntries([...DELETABLE, 'unrescue failed'].map((state) => [state, { deleted: 'deleting' }])),
  available: { active: 'deploying', manage: 'manageable' },
  manageable: { provide: 'cleaning' },
  'clean failed': { manage: 'manageable' },
};

/** While it is there by itself; a node is not written then. */
const AT_WORK = ['deploying', 'wait call-back', 'cleaning', 'clean wait', 'deleting', 'rescuing', 'unrescuing'];

type Step = (node: ProvisionedNode) => void;

export class Provisioning {
  /** Nodes that stay in the state that they are in. */
  readonly held = new Set<string>();
  /** Called for each change of the provision state that it accepts. */
  onProvision: (node: string, target: string) => void = () => undefined;
  readonly #ahead = new Map<string, Step[]>();
  readonly #failing = new Set<'deploy' | 'clean' | 'tear-down'>();
  readonly #endAllocation: (uuid: string) => void;

  constructor(endAllocation: (uuid: string) => void) {
    this.#endAllocation = endAllocation;
  }

  failNext(what: 'deploy' | 'clean' | 'tear-down'): void {
    this.#failing.add(what);
  }

  /** It was looked at: what it was doing is done. */
  advance(node: ProvisionedNode): void {
    if (!this.held.has(node.uuid)) this.#ahead.get(node.uuid)?.shift()?.(node);
  }

  /** Its conductor has died, and was started again: what it was doing has failed. */
  restart(node: ProvisionedNode): void {
    const failed = { deploying: 'deploy failed', cleaning: 'clean failed', deleting: 'error' };
    const state = (failed as Readonly<Record<string, string>>)[node.provision_state];
    if (state === undefined) return;
    this.#ahead.delete(node.uuid);
    Object.assign(node, { provision_state: state, last_error: 'Operation was aborted due to conductor take over' });
  }

  denyPatch({ uuid, provision_state: state, maintenance }: ProvisionedNode): IronicAnswer | undefined {
    if (maintenance || !AT_WORK.includes(state)) return undefined;
    return fail(409, `Node ${uuid} can not be updated while a state transition is in progress.`);
  }

  /** Undefined for what is no request to the machine. */
  answer(node: ProvisionedNode, { method, path, body }: ProvisioningRequest): IronicAnswer | undefined {
    switch (`${method} ${path.replace(/^(vifs)\/.*/, '$1')}`) {
      case 'PUT states/provision':
        return this.#provision(node, String(body['target']));
      case 'PUT states/power':
        return this.#switchPower(node, String(body['target']));
      case 'PUT maintenance':
      case 'DELETE maintenance':
        node.maintenance = method === 'PUT';
        return { status: 202 };
      case 'POST vifs':
      case 'DELETE vifs':
        return { status: 204 };
      default:
        return undefined;
    }
  }

  #provision(node: ProvisionedNode, target: string): IronicAnswer {
    const state = TRANSITIONS[node.provision_state]?.[target];
    const what = `The requested action "${target}" can not be performed on node "${node.uuid}" while it is in state "${node.provision_state}".`;
    if (state === undefined) return fail(400, what);
    if (target === 'active' && node.maintenance) return fail(400, `The node ${node.uuid} is in maintenance mode.`);
    this.onProvision(node.uuid, target);
    Object.assign(node, { provision_state: state, last_error: null });
    if (state === 'deploying') this.#ahead.set(node.uuid, [(at) => this.#endDeploy(at)]);
    if (state === 'deleting') this.#ahead.set(node.uuid, [(at) => this.#tearDown(at), (at) => this.#endClean(at)]);
    if (state === 'cleaning') this.#ahead.set(node.uuid, [(at) => this.#endClean(at)]);
    return { status: 202 };
  }

  #endDeploy(node: ProvisionedNode): void {
    const isFailed = this.#failing.delete('deploy');
    if (isFailed)
      Object.assign(node, { provision_state: 'deploy failed', last_error: 'The image could not be written.' });
    else Object.assign(node, { provision_state: 'active', power_state: 'power on' });
  }

  /** It ends the claim as well, whether it fails or not, before the node is cleaned. */
  #tearDown(node: ProvisionedNode): void {
    if (node.instance_uuid !== null) this.#endAllocation(node.instance_uuid);
    Object.assign(node, { provision_state: 'cleaning', instance_uuid: null, instance_info: {} });
    if (!this.#failing.delete('tear-down')) return;
    this.#ahead.delete(node.uuid);
    Object.assign(node, { provision_state: 'error', last_error: 'Failed to tear down: no answer from the machine.' });
  }

  #endClean(node: ProvisionedNode): void {
    const isFailed = this.#failing.delete('clean') || node.maintenance;
    if (!isFailed) Object.assign(node, { provision_state: 'available', power_state: 'power off' });
    else
      Object.assign(node, { provision_state: 'clean failed', maintenance: true, last_error: 'A disk was not erased.' });
  }

  #switchPower(node: ProvisionedNode, target: string): IronicAnswer {
    if (['cleaning', 'clean wait'].includes(node.provision_state))
      return fail(400, `The requested action "${target}" can not be performed on node "${node.uuid}".`);
    node.target_power_state = target === 'rebooting' ? 'power on' : target;
    const ahead = this.#ahead.get(node.uuid) ?? [];
    ahead.push((at) => {
      Object.assign(at, { power_state: at.target_power_state, target_power_state: null });
    });
    this.#ahead.set(node.uuid, ahead);
    return { status: 202 };
  }
}
