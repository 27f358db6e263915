// Machines for tests of instances: what runs where, outside the journal, and tasks that fail on demand. They carry out the tasks of hosts' agents, one
// commit per answer, and survive a crash of the server beside them.
import { idOf, type FleetReader } from '../fleet/index.ts';
import type { Decision, Journal } from '../journal/index.ts';
import { findHost } from '../hosts/index.ts';
import { CAPABILITIES, type BackEndName, type HostNetwork, type HostNic, type PortAnswer } from '../network/index.ts';
import {
  isOpen,
  ITEM,
  OPERATION,
  recordStep,
  taskId,
  type OperationKind,
  type StoredItem,
  type Task,
  type TaskAnswer,
} from '../operations/index.ts';

export interface TaskFault {
  readonly task: string;
  readonly host?: string;
  readonly instance?: string;
  readonly times: number;
  /** The fault that the host reports; `spawn-failed` by default. */
  readonly fault?: string;
  /** It is carried out all the same. */
  readonly after?: boolean;
}

type InstanceTaskResult = Omit<TaskAnswer, 'task'>;

export class Machines {
  /** By `host/instance`. */
  readonly copies = new Map<string, 'prepared' | 'running'>();
  /** Every task that was carried out: `build web on h2`. */
  readonly log: string[] = [];
  /** The same by the ids of the tasks, with their hosts. */
  readonly taskIds: string[] = [];
  readonly #faults: TaskFault[] = [];
  readonly #sent = new Set<string>();
  /** Copies sent by a source, by `host/instance` of the target. */
  readonly #received = new Set<string>();
  readonly #network: HostNetwork | undefined;

  /** `network`: the hosts' own access to networks, for those that make or bind ports themselves. */
  constructor(network?: HostNetwork) {
    this.#network = network;
  }

  fail(fault: TaskFault): void {
    this.#faults.push(fault);
  }

  /** Nothing fails any more. */
  forgive(): void {
    this.#faults.length = 0;
  }

  /** The hosts with a running copy. */
  hostsRunning(instance: string): string[] {
    return this.hostsWith(instance, 'running');
  }

  hostsWith(instance: string, state?: 'prepared' | 'running'): string[] {
    return [...this.copies]
      .filter(([key, is]) => key.endsWith(`/${instance}`) && (state === undefined || state === is))
      .map(([key]) => key.slice(0, key.indexOf('/')))
      .sort();
  }

  perform(host: string, { kind, args }: Omit<Task, 'id'>): InstanceTaskResult {
    const instance = String(args['instance']);
    this.log.push(`${kind} ${instance} on ${host}`);
    const at = this.#faults.findIndex(
      (one) =>
        one.task === kind && one.times > 0 && (one.host ?? host) === host && (one.instance ?? instance) === instance,
    );
    const fault = this.#faults[at];
    if (fault !== undefined) this.#faults[at] = { ...fault, times: fault.times - 1 };
    const done = fault === undefined || fault.after === true ? this.#do(host, kind, args) : undefined;
    if (fault === undefined && done !== undefined) return done;
    const facts = { fault: fault?.fault ?? 'spawn-failed', runs: this.copies.get(`${host}/${instance}`) === 'running' };
    return { outcome: 'failed', problems: [`told to fail: ${kind}`], facts };
  }

  #do(host: string, kind: string, args: Task['args']): InstanceTaskResult {
    const key = `${host}/${String(args['instance'])}`;
    switch (kind) {
      case 'build':
        this.copies.set(key, 'running');
        return { outcome: 'done' };
      case 'prepare':
        this.copies.set(key, 'prepared');
        this.#received.delete(key);
        return { outcome: 'done' };
      case 'migrate':
        if (!this.copies.has(key) && !this.#sent.has(`${key}>${String(args['target'])}`))
          return missingAnswer('instance-gone');
        this.copies.delete(key);
        this.#sent.add(`${key}>${String(args['target'])}`);
        this.#received.add(`${String(args['target'])}/${String(args['instance'])}`);
        return { outcome: 'done' };
      case 'activate':
        if (!this.copies.has(key)) return missingAnswer('not-prepared');
        if (args['ifReceived'] === true && !this.#received.has(key)) return missingAnswer('nothing-received');
        this.copies.set(key, 'running');
        return { outcome: 'done' };
      case 'destroy':
        this.copies.delete(key);
        return { outcome: 'done' };
      default:
        return { outcome: 'failed', problems: [`this machine cannot do "${kind}"`] };
    }
  }

  /** A host that binds reports what it bound; one that gets bound ports reports nothing. */
  async #performAndBind(host: string, task: Omit<Task, 'id'>): Promise<InstanceTaskResult> {
    const performed = this.perform(host, task);
    const { network: mode = 'ready', nics = [], instance } = task.args;
    const outside = (nics as readonly (HostNic & { readonly backEnd: BackEndName })[]).filter(
      ({ backEnd }) => !CAPABILITIES[backEnd].inline,
    );
    if (performed.outcome === 'failed' || mode === 'ready' || outside.length === 0) return performed;
    const request = { host, instance: String(instance), nics: outside };
    if (mode !== 'bind') await this.#network?.create(request);
    const ports: readonly PortAnswer[] = (await this.#network?.bind(request)) ?? [];
    return { ...performed, facts: { ports } };
  }

  /** Carries out the present tasks of connected hosts, and answers them. */
  async answer(journal: Journal, kinds: ReadonlyMap<string, OperationKind>, nowMs: number): Promise<void> {
    for (const { id } of [...journal.fleet.all(ITEM)]) {
      const item = journal.fleet.get(ITEM, id);
      const kind = item && kindOf(journal.fleet, kinds, item);
      const task =
        item === undefined || !isConnected(journal.fleet, item)
          ? undefined
          : kind?.task?.(item, { fleet: journal.fleet });
      if (item === undefined || task === undefined) continue;
      this.taskIds.push(`${taskId(item)} on ${item.doc.host}`);
      const performed = await this.#performAndBind(item.doc.host ?? '', task);
      await journal.submit({
        by: `agent/${item.doc.host}`,
        decide: (fleet): Decision<unknown> => {
          const now = fleet.get(ITEM, id);
          const awaited = now?.revision === item.revision && kind?.task?.(item, { fleet }) !== undefined;
          const step = awaited
            ? kind.handleTaskAnswer?.(item, { task: taskId(item), ...performed }, { fleet, nowMs })
            : undefined;
          return step === undefined ? { kind: 'accept', changes: [], answer: 'stale' } : recordStep(fleet, step, nowMs);
        },
      });
    }
  }
}

function isConnected(fleet: FleetReader, { doc }: StoredItem): boolean {
  // The force-down of a host may be wrong: a connected agent carries out its tasks.
  return isOpen(doc) && findHost(fleet, doc.host ?? '')?.doc.connection.state === 'up';
}

function kindOf(
  fleet: FleetReader,
  kinds: ReadonlyMap<string, OperationKind>,
  { doc }: StoredItem,
): OperationKind | undefined {
  const operation = fleet.get(OPERATION, idOf(OPERATION, doc.operation))?.doc;
  return operation?.state === 'running' && operation.stopped !== true ? kinds.get(operation.kind) : undefined;
}

function missingAnswer(fault: string): InstanceTaskResult {
  return { outcome: 'failed', problems: [fault], facts: { fault, runs: false } };
}
