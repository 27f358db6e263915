// Copies the connections of services that are handed over: what was translated here is left at the server for the host that takes
// over, and what was translated there is taken from it. Level-triggered by the view, once for each time that the view requests it;
// a service is not ready before it is done. Where a service is not translated any more, its connections are forgotten.
import {
  formatConnection,
  readDataplaneView,
  parseConnection,
  SwitchDown,
  SwitchRefused,
  hasFormerWords,
  phaseToFormer,
  type ServiceView,
} from '../../../dataplane/index.ts';
import { mark } from '../../../fleet/index.ts';
import type { LeaderClient, CallResult, Reply, CallTarget } from '../../../link/index.ts';
import type { Membership } from '../membership.ts';
import {
  COLLECT_WAIT_MAX_MS,
  DEPOSIT_MAX,
  NOT_COPIED_NOW,
  type ConntrackCopy,
  type UnreadyService,
  type View,
} from '../../protocol/messages.ts';
import type { AgentPorts } from '../ports.ts';

export interface ConntrackSyncParts {
  readonly leader: LeaderClient;
  readonly membership: Membership;
}

/** Each reads the switch or waits at the server; many services of one host may go at once. */
const COPIES_AT_ONCE = 16;

interface SyncTask {
  readonly copy: ConntrackCopy;
  readonly end: 'old' | 'new';
  /** What distinguishes it from any other. Another holder has nothing of what was left at the one before. */
  readonly key: string;
}

export class ConntrackSync {
  readonly #ports: AgentPorts;
  readonly #parts: ConntrackSyncParts;
  #completed = new Set<string>();
  /** Services that are translated here. */
  #translated: ReadonlySet<string> = new Set();
  /** Those that are not, and of which nothing is left here. Of any other it is unknown: an agent before this one may have left it. */
  #assessed: ReadonlySet<string> = new Set();
  /** Services that this host stands by for. What it translates for peers with BFD to the designated host down must not be removed. */
  #standingBy: ReadonlySet<string> = new Set();

  constructor(ports: AgentPorts, parts: ConntrackSyncParts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  /** Whether a view that is brought about requests something all the same: there is another holder. */
  isDue(view: View): boolean {
    return this.dueServices(view).length > 0;
  }

  /** The services whose connections have yet to be copied for this view. */
  dueServices(view: View): string[] {
    return syncTasksOf(view).flatMap(({ key, copy }) => (this.#completed.has(key) ? [] : [copy.service]));
  }

  /** The services whose connections could not be copied or forgotten. An aborted `signal` ends the wait for other hosts. */
  async sync(view: View, signal: AbortSignal): Promise<readonly UnreadyService[]> {
    const tasks = syncTasksOf(view);
    // Views that say nothing more of a task may be followed by one that requests it again.
    const keys = new Set(tasks.map(({ key }) => key));
    this.#completed = new Set([...this.#completed].filter((key) => keys.has(key)));
    const due = tasks.filter(({ key }) => !this.#completed.has(key));
    const [old, next] = [due.filter(({ end }) => end === 'old'), due.filter(({ end }) => end === 'new')];
    const untilMs = this.#ports.clock.nowMs() + COLLECT_WAIT_MAX_MS;
    // Two hosts with handovers to each other must not wait for each other: what others wait for goes first.
    return [
      ...(await this.#forgetReleased(view)),
      ...(await this.#runTasks(old, (command) => this.#deposit(command))),
      ...(await this.#runTasks(next, (command) => this.#collect(command, untilMs, signal))),
    ];
  }

  async #forgetReleased({ host, parts }: View): Promise<readonly UnreadyService[]> {
    const services = readDataplaneView(host, parts)?.services;
    if (services === undefined) return [];
    const now = rolesIn(services);
    const unforgotten = new Set<string>();
    const unready: UnreadyService[] = [];
    for (const service of this.#servicesToForget(services, now)) {
      const because = await this.#describeSwitchFailure(() => this.#forgetOne(service));
      if (because === undefined) continue;
      unready.push({ service, because });
      unforgotten.add(service);
    }
    // Until it is forgotten it counts as it did before, so that it is tried again.
    this.#translated = new Set([...now.translated, ...unforgotten]);
    this.#standingBy = new Set([...now.standingBy, ...unforgotten]);
    this.#assessed = new Set([...now.others].filter((service) => !unforgotten.has(service)));
    return unready;
  }

  /**
   * Whose connections are to be forgotten: those that are not translated here any more, those that this host stands by for no more, those of which this
   * agent does not know what it had of them before, and those that are to be brought here by plan, where what is left of a time of standing by would be
   * in their way.
   */
  #servicesToForget(services: readonly ServiceView[], { translated, standingBy, others }: Roles): Set<string> {
    const released = [...this.#translated].filter((service) => !translated.has(service));
    const stoodBy = [...this.#standingBy].filter((service) => !standingBy.has(service) && !translated.has(service));
    const unknown = [...others].filter((service) => !this.#assessed.has(service));
    const brought = services.filter(({ id, role }) => role === 'preparing' && this.#standingBy.has(id));
    return new Set([...released, ...stoodBy, ...unknown, ...brought.map(({ id }) => id)]);
  }

  async #forgetOne(service: string): Promise<undefined> {
    await this.#ports.driver.forgetConnections?.(service);
  }

  async #deposit({ copy }: SyncTask): Promise<string | undefined> {
    const { driver, link, log } = this.#ports;
    // One that cannot list them leaves none: the other end is not kept waiting.
    const all = (await driver.listConnections?.(copy.service)) ?? [];
    const connections = all.slice(0, DEPOSIT_MAX).map((one) => formatConnection(one));
    if (all.length > DEPOSIT_MAX)
      log.warn({ service: copy.service, inAll: all.length, copied: DEPOSIT_MAX }, 'not all connections are copied');
    const deposit = { ...copy, connections, inAll: all.length };
    return this.#failureOf(await this.#call((to) => link.deposit(to, deposit)));
  }

  async #collect({ copy }: SyncTask, untilMs: number, signal: AbortSignal): Promise<string | undefined> {
    const { driver, link, log, clock } = this.#ports;
    if (driver.importConnections === undefined) return undefined;
    const waitMs = Math.max(0, untilMs - clock.nowMs());
    const said = await this.#call((to) => link.collect(to, { ...copy, waitMs }, signal), signal);
    if (said.kind !== 'answer') return this.#failureOf(said);
    if (said.answer.kind === 'not-yet') {
      mark('conntrack-not-deposited');
      return 'its connections have not come yet';
    }
    const connections = said.answer.connections.flatMap((text) => parseConnection(text) ?? []);
    const seeded = await driver.importConnections(copy.service, connections);
    // Some cannot be had on any switch: the others count.
    const facts = { service: copy.service, ...seeded, inAll: said.answer.inAll };
    if (seeded.failed > 0) log.warn(facts, 'not all connections of the host before are taken over');
    else log.info(facts, 'the connections of the host before are taken over');
    return undefined;
  }

  async #call<A>(call: (to: CallTarget) => Promise<Reply<A>>, signal?: AbortSignal): Promise<CallResult<A>> {
    const secret = this.#parts.membership.credential();
    return secret === undefined ? { kind: 'away' } : this.#parts.leader.call(secret, call, signal);
  }

  /** The handover has advanced meanwhile, or has ended: another view says so, and nothing is to be done for this one. */
  #failureOf(said: CallResult<unknown>): string | undefined {
    switch (said.kind) {
      case 'answer':
        return undefined;
      case 'away':
        return 'its connections are not copied: no server answers';
      case 'refused':
        if (said.code === NOT_COPIED_NOW) return undefined;
        return `its connections are not copied: ${said.message}`;
    }
  }

  async #runTasks(
    tasks: readonly SyncTask[],
    work: (command: SyncTask) => Promise<string | undefined>,
  ): Promise<readonly UnreadyService[]> {
    const unready: UnreadyService[] = [];
    const left = tasks.values();
    const worker = async (): Promise<void> => {
      for (const command of left) {
        const because = await this.#describeSwitchFailure(() => work(command));
        if (because === undefined) this.#completed.add(command.key);
        else unready.push({ service: command.copy.service, because });
      }
    };
    await Promise.all(Array.from({ length: Math.min(COPIES_AT_ONCE, tasks.length) }, worker));
    return unready;
  }

  async #describeSwitchFailure(work: () => Promise<string | undefined>): Promise<string | undefined> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof SwitchDown || error instanceof SwitchRefused) return `${error.code}: ${error.message}`;
      throw error;
    }
  }
}

interface Roles {
  readonly translated: ReadonlySet<string>;
  readonly standingBy: ReadonlySet<string>;
  readonly others: ReadonlySet<string>;
}

/** The services whose connections are translated, by what this host does for them. */
function rolesIn(services: readonly ServiceView[]): Roles {
  const nat = services.filter(({ type }) => type === 'nat');
  const idsOf = (isOne: (role: ServiceView['role']) => boolean): ReadonlySet<string> =>
    new Set(nat.filter(({ role }) => isOne(role)).map(({ id }) => id));
  return {
    translated: idsOf((role) => role !== 'other' && role !== 'standby'),
    standingBy: idsOf((role) => role === 'standby'),
    others: idsOf((role) => role === 'other'),
  };
}

function syncTasksOf({ host, parts, stamp }: View): SyncTask[] {
  const services = readDataplaneView(host, parts)?.services ?? [];
  const isFormer = hasFormerWords(parts);
  return services.flatMap(({ id: service, type, role, handover }) => {
    const { phase, operation, other } = handover ?? {};
    if (type !== 'nat' || operation === undefined || (phase !== 'syncing' && phase !== 'resyncing')) return [];
    const end = role === (phase === 'syncing' ? 'designated' : 'retiring') ? 'old' : 'new';
    const key = [service, operation, phase, other, end === 'old' ? stamp.leaseEpoch : ''].join('|');
    // In the words of the view: a server of 0.1.0 knows no others.
    return [{ copy: { service, operation, phase: isFormer ? phaseToFormer(phase) : phase }, end, key }];
  });
}
