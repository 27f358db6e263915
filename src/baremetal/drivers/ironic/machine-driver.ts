// The machine port on Ironic: deploys, cleans and switches power, each until Ironic says that it is done. It looks before it acts, so that a step
// which another manager began is waited for and never begun twice.
import type {
  CallOptions,
  MachineCall,
  MachineDriver,
  MachineOutcome,
  MachineStatus,
  NodeFence,
} from '../inventory.ts';
import type { IronicClient } from './ironic-client-driver.ts';
import { machineStateOf, toRecord, type IronicNode } from './ironic-node.ts';
import { IronicNodes, isRefusedWith } from './ironic-nodes-driver.ts';

const LOOK_EVERY_MS = 500;
/** What Muster keeps on the node beside the claim's mark: goes with the next cleaning by Muster. */
const PORTS_MARK = 'muster_ports';
const REBOOT_MARK = 'muster_reboot';

const FAILURES: Readonly<Record<'deploy' | 'clean', readonly string[]>> = {
  deploy: ['deploy failed', 'error'],
  clean: ['clean failed', 'error'],
};

export class IronicMachines implements MachineDriver {
  readonly name = 'ironic';
  readonly #client: IronicClient;
  readonly #nodes: IronicNodes;

  constructor(client: IronicClient) {
    this.#client = client;
    this.#nodes = new IronicNodes(client);
  }

  async inspect({ node }: NodeFence, how: CallOptions): Promise<MachineStatus> {
    const found = await this.#nodes.find(node, how);
    // Whatever is asked of it fails, and says why.
    if (found === undefined) return { state: 'failed', power: 'unknown' };
    const mark = await this.#nodes.markOf(found, how);
    const instance = mark?.instance ?? found.instanceUuid;
    const state = machineStateOf(found);
    // What is claimed and was never deployed to is empty.
    const isEmpty = state === 'empty';
    return { state, power: found.power, ...(!isEmpty && instance !== undefined && { instance }) };
  }

  async carryOut(call: MachineCall, how: CallOptions): Promise<MachineOutcome> {
    how.signal.throwIfAborted();
    try {
      const node = await this.#nodes.get(call.node, how);
      const ownership = await this.#nodes.ownershipOf(node, call, how);
      if (ownership === 'free') return call.action === 'clean' ? { kind: 'already' } : { kind: 'stale' };
      if (ownership !== 'ours') return { kind: 'stale' };
      return await this.#carryOutOn(node, call, how);
    } catch (error) {
      // Whether it was done is not known where nothing was answered: whoever called looks at the machine, and calls again.
      if (isRefusedWith(error, 400, 403, 404, 406, 409)) return fail(error.code, error.message);
      throw error;
    }
  }

  #carryOutOn(node: IronicNode, call: MachineCall, how: CallOptions): Promise<MachineOutcome> {
    switch (call.action) {
      case 'deploy':
        return this.#deploy(node, call, how);
      case 'clean':
        return this.#clean(node, how);
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

  async #deploy(node: IronicNode, { args }: MachineCall, how: CallOptions): Promise<MachineOutcome> {
    const state = machineStateOf(node);
    if (state === 'deployed') return { kind: 'already' };
    if (state === 'cleaning') return fail('deploy-failed', `The node is ${node.provisionState}.`);
    let isBegunHere = false;
    if (state !== 'deploying') {
      await this.#patch(node, [{ op: 'replace', path: '/instance_info', value: composeInstanceInfo(args) }], how);
      isBegunHere = await this.#beginProvision(node, 'active', how);
    }
    const after = await this.#awaitNode(
      node.uuid,
      how,
      (now) => machineStateOf(now) !== 'deploying' && now.provisionState !== 'available',
    );
    if (machineStateOf(after) === 'deployed') return this.#finishDeploy(after, isBegunHere, how);
    return failOf('deploy', after);
  }

  /** An instance begins with its power on. */
  async #finishDeploy(node: IronicNode, isBegunHere: boolean, how: CallOptions): Promise<MachineOutcome> {
    if (isBegunHere && node.power !== 'on') await this.#switchPower(node, 'on', how);
    return { kind: isBegunHere ? 'applied' : 'already' };
  }

  async #clean(node: IronicNode, how: CallOptions): Promise<MachineOutcome> {
    switch (machineStateOf(node)) {
      case 'empty':
        return { kind: 'already' };
      case 'cleaning':
        break;
      case 'failed':
        if (node.provisionState === 'clean failed') await this.#beginCleaningAgain(node, how);
        else await this.#beginProvision(node, 'deleted', how);
        break;
      case 'deploying':
      case 'deployed':
        await this.#beginProvision(node, 'deleted', how);
    }
    const after = await this.#awaitNode(
      node.uuid,
      how,
      (now) => now.provisionState === 'available' || FAILURES.clean.includes(now.provisionState),
    );
    if (after.provisionState !== 'available') return failOf('clean', after);
    await this.#removeMarks(after, how);
    return { kind: 'applied' };
  }

  /** Ironic puts what could not be cleaned into maintenance; it goes through `manageable` to be cleaned again. */
  async #beginCleaningAgain(node: IronicNode, how: CallOptions): Promise<void> {
    const path = `/v1/nodes/${node.uuid}/maintenance`;
    if (node.isInMaintenance) await this.#nodes.sendToNode({ method: 'DELETE', path, ...how });
    await this.#beginProvision(node, 'manage', how);
    const manageable = await this.#awaitNode(node.uuid, how, (now) => now.provisionState !== 'clean failed');
    await this.#beginProvision(manageable, 'provide', how);
    await this.#awaitNode(node.uuid, how, (now) => now.provisionState !== 'manageable');
  }

  async #switchPower(node: IronicNode, wanted: 'on' | 'off', how: CallOptions): Promise<MachineOutcome> {
    if (node.power === wanted && !node.isPowerChanging) return { kind: 'already' };
    await this.#setPower(node, `power ${wanted}`, how);
    const after = await this.#awaitNode(node.uuid, how, (now) => !now.isPowerChanging);
    return after.power === wanted ? { kind: 'applied' } : failOf('power', after);
  }

  async #reboot(node: IronicNode, { args }: MachineCall, how: CallOptions): Promise<MachineOutcome> {
    const { task } = args;
    if (task !== undefined && node.extra[REBOOT_MARK] === task) return { kind: 'already' };
    await this.#setPower(node, 'rebooting', how);
    const after = await this.#awaitNode(node.uuid, how, (now) => !now.isPowerChanging);
    if (after.power !== 'on') return failOf('power', after);
    if (task !== undefined) await this.#patch(node, [{ op: 'add', path: `/extra/${REBOOT_MARK}`, value: task }], how);
    return { kind: 'applied' };
  }

  /** Attaches the ports where Ironic plugs them, and notes which: without a network service there is nothing to ask. */
  async #connect(node: IronicNode, { args }: MachineCall, how: CallOptions): Promise<MachineOutcome> {
    const ports = Array.isArray(args['ports']) ? (args['ports'] as readonly unknown[]) : [];
    if (JSON.stringify(node.extra[PORTS_MARK]) === JSON.stringify(ports)) return { kind: 'already' };
    for (const one of ports) await this.#attach(node, toRecord(one)['port'], how);
    await this.#patch(node, [{ op: 'add', path: `/extra/${PORTS_MARK}`, value: ports }], how);
    return { kind: 'applied' };
  }

  async #attach(node: IronicNode, port: unknown, how: CallOptions): Promise<void> {
    if (typeof port !== 'string') return;
    try {
      await this.#nodes.sendToNode({ method: 'POST', path: `/v1/nodes/${node.uuid}/vifs`, body: { id: port }, ...how });
    } catch (error) {
      // It is attached already.
      if (!isRefusedWith(error, 409)) throw error;
    }
  }

  async #disconnect(node: IronicNode, how: CallOptions): Promise<MachineOutcome> {
    const ports = node.extra[PORTS_MARK];
    if (!Array.isArray(ports)) return { kind: 'already' };
    for (const one of ports as readonly unknown[]) {
      const port = toRecord(one)['port'];
      if (typeof port === 'string') await this.#detach(node, port, how);
    }
    await this.#patch(node, [{ op: 'remove', path: `/extra/${PORTS_MARK}` }], how);
    return { kind: 'applied' };
  }

  async #detach(node: IronicNode, port: string, how: CallOptions): Promise<void> {
    const path = `/v1/nodes/${node.uuid}/vifs/${encodeURIComponent(port)}`;
    try {
      await this.#nodes.sendToNode({ method: 'DELETE', path, ...how });
    } catch (error) {
      if (!isRefusedWith(error, 400, 404)) throw error;
    }
  }

  async #removeMarks({ uuid, extra }: IronicNode, how: CallOptions): Promise<void> {
    const marks = ['muster', PORTS_MARK, REBOOT_MARK].filter((mark) => Object.hasOwn(extra, mark));
    if (marks.length === 0) return;
    const body = marks.map((mark) => ({ op: 'remove', path: `/extra/${mark}` }));
    await this.#nodes.sendToNode({ method: 'PATCH', path: `/v1/nodes/${uuid}`, body, ...how });
  }

  /** False when the node is on its way already: another caller began it. */
  async #beginProvision({ uuid }: IronicNode, target: string, how: CallOptions): Promise<boolean> {
    const path = `/v1/nodes/${uuid}/states/provision`;
    try {
      await this.#nodes.sendToNode({ method: 'PUT', path, body: { target }, ...how });
      return true;
    } catch (error) {
      // A transition that its state does not have: it is decided on what it becomes.
      if (isRefusedWith(error, 400, 409)) {
        const now = await this.#nodes.get(uuid, how);
        if (machineStateOf(now) !== 'empty') return false;
      }
      throw error;
    }
  }

  #setPower({ uuid }: IronicNode, target: string, how: CallOptions): Promise<unknown> {
    return this.#nodes.sendToNode({ method: 'PUT', path: `/v1/nodes/${uuid}/states/power`, body: { target }, ...how });
  }

  #patch({ uuid }: IronicNode, body: readonly object[], how: CallOptions): Promise<unknown> {
    return this.#nodes.sendToNode({ method: 'PATCH', path: `/v1/nodes/${uuid}`, body, ...how });
  }

  async #awaitNode(node: string, how: CallOptions, isSettled: (node: IronicNode) => boolean): Promise<IronicNode> {
    for (;;) {
      const now = await this.#nodes.get(node, how);
      if (isSettled(now)) return now;
      await this.#client.sleep(LOOK_EVERY_MS, how.signal);
      how.signal.throwIfAborted();
    }
  }
}

/** The image and what the image says of itself; the inventory reads from it what it needs. */
function composeInstanceInfo({
  image,
  imageProperties,
  rootGiB,
}: MachineCall['args']): Readonly<Record<string, unknown>> {
  return {
    ...toRecord(imageProperties),
    ...(typeof image === 'string' && { image_source: image }),
    ...(typeof rootGiB === 'number' && { root_gb: rootGiB }),
  };
}

function failOf(what: 'deploy' | 'clean' | 'power', { provisionState, lastError }: IronicNode): MachineOutcome {
  return fail(`${what}-failed`, lastError ?? `The node is "${provisionState}", and Ironic does not say why.`);
}

function fail(code: string, message: string): MachineOutcome {
  return { kind: 'failed', reason: { code, message } };
}
