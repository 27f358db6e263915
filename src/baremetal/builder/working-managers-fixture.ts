// Managers for tests: each acquires what it is offered and carries out its tasks in one go, on simulated machines. They survive a server beside them.
import { idOf, valueOf, type FleetReader, type Refusal } from '../../fleet/index.ts';
import type { Decision, Journal, Outcome } from '../../journal/index.ts';
import { OPERATION, type OperationKind, type TaskAnswer } from '../../operations/index.ts';
import { actOnMachine, readMachine } from '../drivers/simulated/act.ts';
import { SIMULATED_INVENTORY } from '../drivers/simulated/settings.ts';
import { MACHINE_NOT_OURS, type MachineAction } from '../drivers/inventory.ts';
import { isDone } from '../manager/machine-task.ts';
import { acquireNodes } from '../managers/acquire.ts';
import { decideAnswer } from '../managers/answer.ts';
import { denyUnlessAwaited } from '../managers/awaited-call.ts';
import type { ManagerTask } from '../managers/messages.ts';
import { denyUnlessManages } from '../managers/right.ts';
import { listTasks } from '../managers/task-list.ts';
import { canonicalRequest, parseReservationBody, type ReservationBody } from '../matching/request.ts';
import { MANAGER, type Manager } from '../model.ts';
import { reserveNode, type ReserveAnswer } from '../reservations/reserve.ts';

type Kinds = ReadonlyMap<string, OperationKind>;
export type TestTaskResult = Omit<TaskAnswer, 'task'>;

interface WorkOn {
  readonly name: string;
  readonly task: ManagerTask;
  readonly nowMs: number;
}

interface NodeRequestOf extends Pick<WorkOn, 'name' | 'nowMs'> {
  readonly body: ReservationBody;
  readonly project?: string;
}

export class WorkingManagers {
  /** Those whose process runs. */
  readonly running = new Set<string>();
  /** So many requests for nodes find the endpoint overloaded. */
  overloads = 0;
  readonly #kinds: Kinds;
  #notes = 0;

  constructor(kinds: Kinds) {
    this.#kinds = kinds;
  }

  async work(journal: Journal, name: string, nowMs: number): Promise<void> {
    const { holder, leaseEpoch } = findManager(journal.fleet, name);
    const context = { kinds: this.#kinds, isLeaseLive: () => true, ownOnly: false };
    const acquisition = { ...context, manager: name, holder, leaseEpoch, by: name, nowMs };
    await journal.submit({ by: name, decide: (fleet) => acquireNodes(fleet, acquisition) });
    for (const task of listTasks(journal.fleet, this.#kinds, name)) {
      const on = { name, task, nowMs };
      const result = await (task.kind === 'reserve' ? this.#reserve(journal, on) : this.#callMachine(journal, on));
      if (result !== undefined) await this.answer(journal, on, result);
    }
  }

  async answer(journal: Journal, { name, task, nowMs }: WorkOn, result: TestTaskResult): Promise<void> {
    const { holder, leaseEpoch } = findManager(journal.fleet, name);
    const { id, node, nodeEpoch, instance } = task;
    const answer = {
      ...{ manager: name, holder, leaseEpoch, task: id, isLeaseLive: () => true, nowMs },
      ...(node !== undefined && { node }),
      ...(nodeEpoch !== undefined && { nodeEpoch }),
      ...(instance !== undefined && { instance }),
      ...result,
    };
    await journal.submit({ by: name, decide: (fleet) => decideAnswer(fleet, this.#kinds, answer) });
  }

  async #reserve(journal: Journal, on: WorkOn): Promise<TestTaskResult | undefined> {
    if (this.overloads > 0) {
      this.overloads -= 1;
      return undefined;
    }
    const outcome = await this.requestNode(journal, on);
    if (outcome.kind === 'refused') return failWith(outcome.refusal, outcome.refusal.code);
    const { answer } = outcome;
    if (answer.kind === 'no-match') return failWith(answer.refusal, 'no-match');
    return answer.kind === 'allocating' ? undefined : { outcome: 'done' };
  }

  requestNode(journal: Journal, { name, task, nowMs }: WorkOn): Promise<Outcome<ReserveAnswer>> {
    const body = { ...(task.args['request'] as ReservationBody), manager: name };
    return this.reserve(journal, { name, body, nowMs });
  }

  async reserve(journal: Journal, { name, body, nowMs, project }: NodeRequestOf): Promise<Outcome<ReserveAnswer>> {
    const request = parseReservationBody(body);
    if (!('requirements' in request)) throw new Error('the request is malformed');
    const operation = idOf(OPERATION, `claim-${journal.fleet.revision}`);
    return journal.submit<ReserveAnswer>({
      by: name,
      decide: (fleet): Decision<ReserveAnswer> =>
        reserveNode(fleet, {
          ...{ request, body, digest: canonicalRequest(body), operation, by: name, nowMs },
          ...(project !== undefined && { project }),
          isVisible: () => true,
          claimModeOf: () => valueOf(fleet, SIMULATED_INVENTORY).claims,
          isLeaseLive: (manager, epoch) =>
            this.running.has(manager) && findManager(fleet, manager).leaseEpoch === epoch,
        }),
    });
  }

  async #callMachine(journal: Journal, { name, task, nowMs }: WorkOn): Promise<TestTaskResult | undefined> {
    const { id, node = '', nodeEpoch = 0, instance = '', args } = task;
    const action = task.kind as MachineAction;
    const status = readMachine(journal.fleet, node, nowMs);
    if (isDone(action, status, instance)) return { outcome: 'done' };
    if (status.state === { deploy: 'deploying', clean: 'cleaning' }[action as string]) return undefined;
    const call = { node, nodeEpoch, instance, action, manager: name, args: { ...args, task: id } };
    const command = { call, note: `call-${String((this.#notes += 1)).padStart(6, '0')}`, nowMs };
    const deny = (fleet: FleetReader): Refusal | undefined =>
      denyUnlessManages(fleet, { ...call, isLeaseLive: () => this.running.has(name) }) ??
      denyUnlessAwaited(fleet, this.#kinds, call);
    const outcome = await journal.submit({ by: name, decide: (fleet) => actOnMachine(fleet, command, deny) });
    if (outcome.kind !== 'accepted' || outcome.answer.kind !== 'outcome') return undefined;
    const made = outcome.answer.outcome;
    if (made.kind === 'stale')
      return failWith({ message: `The machine of ${node} has another instance.` }, MACHINE_NOT_OURS);
    if (made.kind === 'failed') return { outcome: 'failed', problems: [made.reason.code] };
    if (action !== 'deploy' && action !== 'clean') return { outcome: 'done' };
    const after = readMachine(journal.fleet, node, nowMs);
    if (after.state === 'failed') return { outcome: 'failed', problems: [`${action}-failed`] };
    return after.state === 'deploying' || after.state === 'cleaning' ? undefined : { outcome: 'done' };
  }
}

function failWith({ message }: Pick<Refusal, 'message'>, code: string): TestTaskResult {
  return { outcome: 'failed', problems: [message], facts: { reason: { code } } };
}

function findManager(fleet: FleetReader, name: string): Manager {
  const found = fleet.get(MANAGER, idOf(MANAGER, name));
  if (found === undefined) throw new Error(`there is no manager ${name}`);
  return found.doc;
}
