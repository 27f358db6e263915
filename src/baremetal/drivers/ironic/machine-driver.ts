// The machine port on Ironic: deploys, cleans and switches power, each until Ironic says that it is done. It looks before it acts, so that a step
// which another manager began is waited for and never begun twice.
import type {
  InventoryCallOptions,
  MachineAction,
  MachineCall,
  MachineDriver,
  MachineOutcome,
  MachineStatus,
  NodeFence,
} from '../inventory.ts';
import { CLAIM_MARK, composeDeployMark, DEPLOY_MARK, readDeployMark } from './claim-mark.ts';
import type { IronicClient } from './ironic-client-driver.ts';
import { composeInstanceInfo } from './instance-info.ts';
import { toRecord, type IronicNode } from './ironic-node.ts';
import { IronicNodes, isRefusedWith } from './ironic-nodes-driver.ts';
import { claimGone, hasOtherInstance, planCleaning, type ClaimState } from './plan-cleaning.ts';
import { machineStateOf } from './provision-states.ts';

const LOOK_EVERY_MS = 500;
/** What Muster keeps on the node beside the claim's mark: goes with the next cleaning by Muster. */
const PORTS_MARK = 'muster_ports';
const REBOOT_MARK = 'muster_reboot';

export class IronicMachines implements MachineDriver {
  readonly name = 'ironic';
  readonly #client: IronicClient;
  readonly #nodes: IronicNodes;

  constructor(client: IronicClient) {
    this.#client = client;
    this.#nodes = new IronicNodes(client);
  }

  async inspect({ node }: NodeFence, how: InventoryCallOptions): Promise<MachineStatus> {
    const found = await this.#nodes.find(node, how);
    // Every call fails, and says why.
    if (found === undefined) return { state: 'failed', power: 'unknown' };
    const mark = await this.#nodes.markOf(found, how);
    const instance = mark?.instance ?? found.instanceUuid;
    const state = machineStateOf(found);
    // What is claimed and was never deployed to is empty.
    const isEmpty = state === 'empty';
    return { state, power: found.power, ...(!isEmpty && instance !== undefined && { instance }) };
  }

  async carryOut(call: MachineCall, how: InventoryCallOptions): Promise<MachineOutcome> {
    how.signal.throwIfAborted();
    try {
      const node = await this.#nodes.get(call.node, how);
      if (call.action === 'clean') return await this.#clean(node, call, how);
      const ownership = await this.#nodes.ownershipOf(node, call, how);
      if (ownership === 'free') return { kind: 'stale', reason: claimGone(call) };
      if (ownership !== 'ours') return { kind: 'stale', reason: hasOtherInstance(call) };
      return await this.#carryOutOn(node, { ...call, action: call.action }, how);
    } catch (error) {
      // Whether it was done is not known where nothing was answered: whoever called looks at the machine, and calls again.
      if (isRefusedWith(error, 400, 403, 404, 406, 409)) return fail(error.code, error.message);
      throw error;
    }
  }

  #carryOutOn(
    node: IronicNode,
    call: MachineCall & { readonly action: Exclude<MachineAction, 'clean'> },
    how: InventoryCallOptions,
  ): Promise<MachineOutcome> {
    switch (call.action) {
      case 'deploy':
        return this.#deploy(node, call, how);
      case 'power-on':
      case 'power-off':
        return this.#switchPower(node, call.action === 'power-on' ? 'on' : 'off', how);
      case 'reboot':
        return this.#reboot(node, call, how);
      case 'connect':
        return this.#connect(node, call, how);
      case 'disconnect':
        return this.#disconnect(node, how);
    }
  }

  async #deploy(node: IronicNode, call: MachineCall, how: InventoryCallOptions): Promise<MachineOutcome> {
    let isBegunHere = false;
    // One that failed is cleaned first.
    if (machineStateOf(node) === 'empty') {
      const marked = { op: 'add', path: `/extra/${DEPLOY_MARK}`, value: composeDeployMark(call) };
      const value = composeInstanceInfo(call.args);
      if (typeof value === 'string') return fail('deploy-failed', value);
      const info = { op: 'replace', path: '/instance_info', value };
      await this.#patch(node, [info, marked], how);
      isBegunHere = await this.#provision(node, 'active', how);
    }
    const after = await this.#awaitNode(node.uuid, how, (now) => machineStateOf(now) !== 'deploying');
    if (machineStateOf(after) === 'deployed') return this.#finishDeploy(after, isBegunHere, how);
    return failOf('deploy', after);
  }

  /** An instance begins with its power on. */
  async #finishDeploy(node: IronicNode, isBegunHere: boolean, how: InventoryCallOptions): Promise<MachineOutcome> {
    if (isBegunHere && node.power !== 'on') await this.#switchPower(node, 'on', how);
    return { kind: isBegunHere ? 'applied' : 'already' };
  }

  /** Until Ironic calls it available: what another manager began, and what Ironic does by itself, is waited for. */
  async #clean(first: IronicNode, call: MachineCall, how: InventoryCallOptions): Promise<MachineOutcome> {
    let hasBegun = false;
    for (let node = first; ; node = await this.#nodes.get(call.node, how)) {
      const step = planCleaning(node, { fence: call, claim: await this.#claimOf(node, call, how), hasBegun });
      switch (step.kind) {
        case 'clean':
          // A claim that is still there is given back later, and is known by its mark.
          if (node.instanceUuid === undefined) await this.#removeMarks(node, how);
          return { kind: hasBegun ? 'applied' : 'already' };
        case 'not-ours':
          return { kind: 'stale', reason: step.reason };
        case 'failed':
          return step;
        case 'wait':
          await this.#rest(how);
          break;
        case 'end-maintenance':
          await this.#nodes.sendToNode({ method: 'DELETE', path: `/v1/nodes/${node.uuid}/maintenance`, ...how });
          break;
        case 'provision':
          // To be managed is on the way to a cleaning only.
          if ((await this.#provision(node, step.target, how)) && step.target !== 'manage') hasBegun = true;
      }
    }
  }

  async #claimOf(node: IronicNode, fence: MachineCall, how: InventoryCallOptions): Promise<ClaimState> {
    const ownership = await this.#nodes.ownershipOf(node, fence, how);
    if (ownership === 'ours') return 'ours';
    if (ownership !== 'free') return 'other';
    const mark = readDeployMark(node.extra);
    return mark?.instance === fence.instance && mark.nodeEpoch <= fence.nodeEpoch ? 'ended' : 'gone';
  }

  async #switchPower(node: IronicNode, wanted: 'on' | 'off', how: InventoryCallOptions): Promise<MachineOutcome> {
    if (node.power === wanted && !node.isPowerChanging) return { kind: 'already' };
    await this.#setPower(node, `power ${wanted}`, how);
    const after = await this.#awaitNode(node.uuid, how, (now) => !now.isPowerChanging);
    return after.power === wanted ? { kind: 'applied' } : failOf('power', after);
  }

  async #reboot(node: IronicNode, { args }: MachineCall, how: InventoryCallOptions): Promise<MachineOutcome> {
    const { task } = args;
    if (task !== undefined && node.extra[REBOOT_MARK] === task) return { kind: 'already' };
    await this.#setPower(node, 'rebooting', how);
    const after = await this.#awaitNode(node.uuid, how, (now) => !now.isPowerChanging);
    if (after.power !== 'on') return failOf('power', after);
    if (task !== undefined) await this.#patch(node, [{ op: 'add', path: `/extra/${REBOOT_MARK}`, value: task }], how);
    return { kind: 'applied' };
  }

  /** Attaches the ports where Ironic plugs them, and notes which: without a network service there is nothing to call. */
  async #connect(node: IronicNode, { args }: MachineCall, how: InventoryCallOptions): Promise<MachineOutcome> {
    const ports = Array.isArray(args['ports']) ? (args['ports'] as readonly unknown[]) : [];
    if (JSON.stringify(node.extra[PORTS_MARK]) === JSON.stringify(ports)) return { kind: 'already' };
    for (const one of ports) await this.#attach(node, toRecord(one)['port'], how);
    await this.#patch(node, [{ op: 'add', path: `/extra/${PORTS_MARK}`, value: ports }], how);
    return { kind: 'applied' };
  }

  async #attach(node: IronicNode, port: unknown, how: InventoryCallOptions): Promise<void> {
    if (typeof port !== 'string') return;
    try {
      await this.#nodes.sendToNode({ method: 'POST', path: `/v1/nodes/${node.uuid}/vifs`, body: { id: port }, ...how });
    } catch (error) {
      // It is attached already.
      if (!isRefusedWith(error, 409)) throw error;
    }
  }

  async #disconnect(node: IronicNode, how: InventoryCallOptions): Promise<MachineOutcome> {
    const ports = node.extra[PORTS_MARK];
    if (!Array.isArray(ports)) return { kind: 'already' };
    for (const one of ports as readonly unknown[]) {
      const port = toRecord(one)['port'];
      if (typeof port === 'string') await this.#detach(node, port, how);
    }
    await this.#patch(node, [{ op: 'remove', path: `/extra/${PORTS_MARK}` }], how);
    return { kind: 'applied' };
  }

  async #detach(node: IronicNode, port: string, how: InventoryCallOptions): Promise<void> {
    const path = `/v1/nodes/${node.uuid}/vifs/${encodeURIComponent(port)}`;
    try {
      await this.#nodes.sendToNode({ method: 'DELETE', path, ...how });
    } catch (error) {
      if (!isRefusedWith(error, 400, 404)) throw error;
    }
  }

  async #removeMarks({ uuid, extra }: IronicNode, how: InventoryCallOptions): Promise<void> {
    const marks = [CLAIM_MARK, DEPLOY_MARK, PORTS_MARK, REBOOT_MARK].filter((mark) => Object.hasOwn(extra, mark));
    if (marks.length === 0) return;
    const body = marks.map((mark) => ({ op: 'remove', path: `/extra/${mark}` }));
    await this.#nodes.sendToNode({ method: 'PATCH', path: `/v1/nodes/${uuid}`, body, ...how });
  }

  /** False when it is in another state by now: another caller was faster, and it is decided anew on what it has become. */
  async #provision({ uuid, provisionState }: IronicNode, target: string, how: InventoryCallOptions): Promise<boolean> {
    const path = `/v1/nodes/${uuid}/states/provision`;
    try {
      await this.#nodes.sendToNode({ method: 'PUT', path, body: { target }, ...how });
      return true;
    } catch (error) {
      if (!isRefusedWith(error, 400, 409)) throw error;
      const now = await this.#nodes.get(uuid, how);
      if (now.provisionState !== provisionState) return false;
      throw error;
    }
  }

  #setPower({ uuid }: IronicNode, target: string, how: InventoryCallOptions): Promise<unknown> {
    return this.#nodes.sendToNode({ method: 'PUT', path: `/v1/nodes/${uuid}/states/power`, body: { target }, ...how });
  }

  #patch({ uuid }: IronicNode, body: readonly object[], how: InventoryCallOptions): Promise<unknown> {
    return this.#nodes.sendToNode({ method: 'PATCH', path: `/v1/nodes/${uuid}`, body, ...how });
  }

  async #awaitNode(
    node: string,
    how: InventoryCallOptions,
    isSettled: (node: IronicNode) => boolean,
  ): Promise<IronicNode> {
    for (;;) {
      const now = await this.#nodes.get(node, how);
      if (isSettled(now)) return now;
      await this.#rest(how);
    }
  }

  async #rest({ signal }: InventoryCallOptions): Promise<void> {
    await this.#client.sleep(LOOK_EVERY_MS, signal);
    signal.throwIfAborted();
  }
}

function failOf(what: 'deploy' | 'power', { provisionState, lastError }: IronicNode): MachineOutcome {
  return fail(`${what}-failed`, lastError ?? `The node is "${provisionState}", and Ironic does not say why.`);
}

function fail(code: string, message: string): MachineOutcome {
  return { kind: 'failed', reason: { code, message } };
}
