// The control plane's end of the link to managers: they register, renew and release their leases, acquire nodes, wait for tasks and answer them here.
// Leases are renewed at any server, everything else at the one that decides. It decides nothing itself, and keeps nothing that the next holder
// would miss.
import { idOf, mark, valueOf, type AppliedChange, type FleetReader, type Refusal } from '../../fleet/index.ts';
import {
  NotHolder,
  type Clock,
  type Decision,
  type Journal,
  type Lease,
  type LeaseAnswer,
  type Outcome,
  type Request,
} from '../../journal/index.ts';
import { findTroubleOf, TOKEN, type TokenId } from '../../access/index.ts';
import { ITEM, type Item, type OperationKind } from '../../operations/index.ts';
import { MANAGER, managerLease, NODE, type Node } from '../model.ts';
import { acquireNodes } from './acquire.ts';
import { decideAnswer } from './answer.ts';
import { leaseLost, nameTaken, registerManager, stopManager } from './decide.ts';
import type { ManagerLeases } from './leases.ts';
import {
  TASKS_WAIT_MAX_MS,
  type AcquireRequest,
  type AcquireResponse,
  type AnswerRequest,
  type AnswerResponse,
  type LeaseResponse,
  type RegisterRequest,
  type ReleaseResponse,
  type TasksQuery,
  type TasksResponse,
  type TenureRequest,
} from './messages.ts';
import { denyUnlessTenured } from './right.ts';
import { MANAGERS } from './settings.ts';
import { givesAway, offerNodes, type NodeOffer } from './share.ts';
import { listTasks, managerOfItem, toManagerTask } from './task-list.ts';

export interface ManagerGatewayOptions {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly kinds: ReadonlyMap<string, OperationKind>;
  readonly leases: ManagerLeases;
  /** Of the keys that certificates are issued with; undefined where managers get none. */
  readonly keysSerial?: (() => number) | undefined;
}

export type GatewayReply<A> =
  { readonly kind: 'answer'; readonly answer: A } | { readonly kind: 'refused'; readonly refusal: Refusal };

/** Who calls: the manager that its token speaks for, and how it has something decided. */
export interface ManagerCaller {
  readonly manager: string;
  readonly by: string;
  readonly submit: <A>(request: Omit<Request<A>, 'by' | 'authorize'>) => Promise<Outcome<A>>;
}

/** What a caller requests to have decided in one commit. */
export interface ManagerCommand<A> {
  readonly why: string;
  readonly decide: (fleet: FleetReader) => Decision<A>;
}

/** Not more often, however much changes: a list of tasks is made anew for each answer. */
const TASKS_APART_MS = 50;
/** A reason of our own: without one, each abort makes an exception with a stack that is never read. */
const WOKEN = 'woken';
const SUPERSEDED = 'superseded';

export class ManagerGateway {
  readonly #options: ManagerGatewayOptions;
  /** Those that wait for tasks, each once: a new poll ends the wait of the one before. */
  readonly #waiting = new Map<string, AbortController>();
  /** When each manager got tasks last. */
  readonly #answeredAtMs = new Map<string, number>();

  constructor(options: ManagerGatewayOptions) {
    this.#options = options;
  }

  /** Wakes managers that wait for tasks until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { journal } = this.#options;
    const stops = [journal.onCommit(({ applied }) => this.#wakeFor(applied)), journal.onRebuilt(() => this.wakeAll())];
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    for (const stop of stops) stop();
    this.wakeAll();
  }

  async register(caller: ManagerCaller, request: RegisterRequest): Promise<GatewayReply<LeaseResponse>> {
    const { journal, clock, leases } = this.#options;
    const { manager, by, submit } = caller;
    if (journal.fence === undefined) throw new NotHolder();
    const requestedAtMs = clock.nowMs();
    const { answered, wasHeld } = await this.#acquireLease(manager, request.holder);
    if (answered.kind === 'refused') {
      mark('manager-name-taken');
      return refuseCall(nameTaken(manager, answered.lease?.expiresInMs));
    }
    const { lease } = answered;
    leases.note(manager, lease, requestedAtMs);
    const command = { ...request, manager, leaseEpoch: lease.epoch, by, nowMs: clock.nowMs() };
    const outcome = await submit({
      why: `register manager ${manager}`,
      decide: (fleet) => registerManager(fleet, command),
    });
    if (outcome.kind === 'accepted') return this.#leaseReply(manager, lease);
    // A refused request changes nothing: a lease that was live before stays.
    if (!wasHeld) await this.#releaseLease(manager, lease);
    return refuseCall(outcome.refusal);
  }

  /** The same process may have acquired it before: its answer was lost. */
  async #acquireLease(
    manager: string,
    holder: string,
  ): Promise<{ readonly answered: LeaseAnswer; readonly wasHeld: boolean }> {
    const { store } = this.#options.journal;
    const request = this.#leaseRequest(manager, holder);
    const acquired = await store.acquireLease(request);
    if (acquired.kind === 'held' || acquired.lease?.holder !== holder) return { answered: acquired, wasHeld: false };
    const renewed = await store.renewLease({ ...request, epoch: acquired.lease.epoch });
    if (renewed.kind === 'held') return { answered: renewed, wasHeld: true };
    return { answered: await store.acquireLease(request), wasHeld: false };
  }

  #leaseRequest(manager: string, holder: string) {
    const { leaseMs } = valueOf(this.#options.journal.fleet, MANAGERS);
    return { name: managerLease(manager), holder, url: '', ttlMs: leaseMs, endsWith: 'time' as const };
  }

  async renew(manager: string, { holder, leaseEpoch }: TenureRequest): Promise<GatewayReply<LeaseResponse>> {
    const { journal, clock, leases } = this.#options;
    const requestedAtMs = clock.nowMs();
    const request = { ...this.#leaseRequest(manager, holder), epoch: leaseEpoch };
    const renewed = await journal.store.renewLease(request);
    if (renewed.kind === 'refused') {
      mark('manager-renews-too-late');
      return refuseCall(leaseLost(manager));
    }
    leases.note(manager, renewed.lease, requestedAtMs);
    return this.#leaseReply(manager, renewed.lease);
  }

  #leaseReply(manager: string, { epoch }: Lease): GatewayReply<LeaseResponse> {
    const { journal, leases } = this.#options;
    const { renewMs } = valueOf(journal.fleet, MANAGERS);
    const keysSerial = this.#options.keysSerial?.();
    const answer = { leaseEpoch: epoch, remainingMs: leases.remainingMs(manager), renewMs };
    return { kind: 'answer', answer: { ...answer, ...(keysSerial !== undefined && { keysSerial }) } };
  }

  /** Its nodes are orphans from this commit on; the lease is released afterwards, so that no other process is the manager before that. */
  async release(caller: ManagerCaller, { holder, leaseEpoch }: TenureRequest): Promise<GatewayReply<ReleaseResponse>> {
    const { journal, clock } = this.#options;
    const { manager, by, submit } = caller;
    const command = { manager, holder, leaseEpoch, by, nowMs: clock.nowMs() };
    const outcome = await submit({ why: `manager ${manager} stops`, decide: (fleet) => stopManager(fleet, command) });
    if (outcome.kind === 'refused') return refuseCall(outcome.refusal);
    const lease = await journal.store.readLease(managerLease(manager));
    const isOwn = lease?.holder === holder && lease.epoch === leaseEpoch;
    if (isOwn) await this.#releaseLease(manager, lease);
    return { kind: 'answer', answer: { released: isOwn } };
  }

  async #releaseLease(manager: string, { epoch }: Lease): Promise<void> {
    const { journal, leases } = this.#options;
    await journal.store.releaseLease(managerLease(manager), epoch);
    leases.forget(manager);
  }

  acquire({ manager, by }: Omit<ManagerCaller, 'submit'>, request: AcquireRequest): ManagerCommand<AcquireResponse> {
    const { clock, kinds, leases } = this.#options;
    const nowMs = clock.nowMs();
    const { isLive: isLeaseLive } = leases;
    return {
      why: `manager ${manager} acquires nodes`,
      decide: (fleet) =>
        acquireNodes(fleet, { ...request, manager, by, nowMs, kinds, isLeaseLive, ownOnly: this.#isYoung(fleet) }),
    };
  }

  answer(manager: string, request: AnswerRequest): ManagerCommand<AnswerResponse> {
    const { clock, kinds, leases } = this.#options;
    const command = { ...request, manager, isLeaseLive: leases.isLive, nowMs: clock.nowMs() };
    return {
      why: `result of ${request.task}`,
      decide: (fleet) => decideAnswer(fleet, kinds, command),
    };
  }

  /** Managers may not have had the time to come back since this server, or all servers, were away. */
  #isYoung(fleet: FleetReader): boolean {
    return this.#options.leases.servingMs() < valueOf(fleet, MANAGERS).leaseMs;
  }

  /** The tasks of a manager as soon as they differ from those that it has. */
  async tasks(
    manager: string,
    query: TasksQuery,
    how: {
      readonly hash: (text: string) => string;
      readonly closing: AbortSignal;
      /** The wait ends with it; whoever answers the caller refuses it then. */
      readonly token?: TokenId | undefined;
    },
  ): Promise<GatewayReply<TasksResponse>> {
    const { journal, clock, leases } = this.#options;
    const requestedAtMs = clock.nowMs();
    const waitMs = Math.min(query.waitMs ?? TASKS_WAIT_MAX_MS, TASKS_WAIT_MAX_MS);
    const untilMs = Math.min(requestedAtMs + waitMs, tokenExpiryMs(journal.fleet, how.token));
    const apartMs = (this.#answeredAtMs.get(manager) ?? -TASKS_APART_MS) + TASKS_APART_MS - clock.nowMs();
    if (apartMs > 0) await clock.sleep(apartMs, how.closing);
    for (;;) {
      const { fleet, fence } = journal;
      if (fence === undefined) throw new NotHolder();
      const denied = denyUnlessTenured(fleet, { ...query, manager }, leases.isLive);
      if (denied !== undefined) return refuseCall(denied);
      const found = this.#composeTasks(manager, requestedAtMs, how.hash);
      if (found.digest !== query.digest) {
        this.#answeredAtMs.set(manager, clock.nowMs());
        return { kind: 'answer', answer: found };
      }
      const leftMs = untilMs - clock.nowMs();
      if (leftMs <= 0 || how.closing.aborted || hasTokenEnded(fleet, how.token, clock.nowMs()))
        return { kind: 'answer', answer: { kind: 'unchanged' } };
      const woken = await this.#wait(manager, leftMs, how.closing);
      // Its caller has abandoned it. Were it to wait on, each of the two would end the wait of the other for ever.
      if (woken === SUPERSEDED) return { kind: 'answer', answer: { kind: 'unchanged' } };
    }
  }

  #composeTasks(
    manager: string,
    requestedAtMs: number,
    hash: (text: string) => string,
  ): Extract<TasksResponse, { kind: 'tasks' }> {
    const { journal, kinds, clock } = this.#options;
    const { fleet } = journal;
    const tasks = listTasks(fleet, kinds, manager);
    const context = { fleet, kinds, ownOnly: this.#isYoung(fleet), nowMs: clock.nowMs() };
    const offer = offerNodes(context, manager, 1);
    return {
      kind: 'tasks',
      digest: hash(JSON.stringify({ tasks, offer: nameOffer(fleet, offer) })),
      tasks: tasks.map((task) => toManagerTask(task, requestedAtMs)),
      offered: offer.count,
    };
  }

  async #wait(manager: string, ms: number, closing: AbortSignal): Promise<unknown> {
    const over = new AbortController();
    const stop = (): void => over.abort(WOKEN);
    this.#waiting.get(manager)?.abort(SUPERSEDED);
    this.#waiting.set(manager, over);
    closing.addEventListener('abort', stop, { once: true });
    await this.#options.clock.sleep(ms, over.signal);
    closing.removeEventListener('abort', stop);
    if (this.#waiting.get(manager) === over) this.#waiting.delete(manager);
    return over.signal.reason;
  }

  /** Wakes all waiting requests: another server decides, or more is offered without a commit. */
  wakeAll(): void {
    for (const waiting of this.#waiting.values()) waiting.abort(WOKEN);
  }

  #wakeFor(applied: readonly AppliedChange[]): void {
    if (this.#waiting.size === 0) return;
    const { fleet } = this.#options.journal;
    for (const { kind, before, after } of applied) {
      if (kind === MANAGER.name || kind === TOKEN.name) this.wakeAll();
      else if (kind === NODE.name)
        for (const side of [before, after]) this.#wake((side?.doc as Node | undefined)?.manager);
      else if (kind === ITEM.name) {
        for (const side of [before, after]) {
          const doc = side?.doc as Item | undefined;
          if (doc?.target.kind === MANAGER.name) this.wakeAll();
          else if (doc !== undefined && doc.host === undefined) this.#wake(managerOfItem(fleet, doc));
        }
      }
    }
  }

  /** Once nothing is under way for a node of one that gives nodes away, the node is offered to all the others. */
  #wake(manager: string | undefined): void {
    if (manager === undefined) return;
    const { journal, clock } = this.#options;
    if (givesAway(journal.fleet, manager, clock.nowMs())) this.wakeAll();
    else this.#waiting.get(manager)?.abort(WOKEN);
  }
}

/**
 * Which offer it is: an acquisition takes the first of the nodes, under another epoch. Whether there is one does not distinguish an offer from one that was made
 * while the last was being acquired.
 */
function nameOffer(fleet: FleetReader, { nodes: [first] }: NodeOffer): string | undefined {
  return first === undefined ? undefined : `${first} ${fleet.get(NODE, idOf(NODE, first))?.doc.epoch}`;
}

function tokenExpiryMs(fleet: FleetReader, token: TokenId | undefined): number {
  return (token === undefined ? undefined : fleet.get(TOKEN, token)?.doc.expiresAtMs) ?? Infinity;
}

function hasTokenEnded(fleet: FleetReader, token: TokenId | undefined, nowMs: number): boolean {
  return token !== undefined && findTroubleOf(fleet, token, nowMs) !== undefined;
}

function refuseCall(refusal: Refusal): { readonly kind: 'refused'; readonly refusal: Refusal } {
  return { kind: 'refused', refusal };
}
