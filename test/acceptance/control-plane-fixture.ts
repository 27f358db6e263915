// The environment of the acceptance tests: one control plane in one process. A real server on an in-memory store, real agents over an in-process link
// with simulated machines, and a simulated network that outlives them all. Time is virtual and advances only when a test lets it; every invariant of
// every module is checked after every commit.
import { createToken, newSecret } from '../../src/access/index.ts';
import { InProcessLink, SimulatedAgents, spawnFaults, type SimulatedNodeOptions } from '../../src/agent/runtime.ts';
import { verifyFake } from '../../src/agent/protocol/signer-fixture.ts';
import { VirtualClock } from '../../src/journal/virtual-clock-fixture.ts';
import type { SwitchChange } from '../../src/dataplane/index.ts';
import {
  idOf,
  type AppliedChange,
  type Fleet,
  type FleetReader,
  type Kind,
  type Refusal,
} from '../../src/fleet/index.ts';
import { PROGRAM } from '../../src/main/modules.ts';
import type { Composition } from '../../src/composition/index.ts';
import { HOST, isTombstoned } from '../../src/hosts/index.ts';
import type { Decision, Ids } from '../../src/journal/index.ts';
import { MemoryDisk } from '../../src/journal/runtime.ts';
import { composeOrderPools } from '../../src/network/index.ts';
import { SimulatedNetwork } from '../../src/network/runtime.ts';
import { isOpen, ITEM, type Log } from '../../src/operations/index.ts';
import { WatchedDriver, WatchedSwitch, type PerformedTask } from './nodes-fixture.ts';
import { ADDRESS, AcceptanceServer, sha256 } from './server-fixture.ts';

export interface ControlPlaneHarnessOptions {
  /** Instead of this one: with modules of a test. */
  readonly program?: Composition;
  /** What all machines have in common beside what the ground gives them. */
  readonly machine?: Omit<SimulatedNodeOptions, 'clock'>;
}

/** A document as a commit left it; without `doc` it was deleted. */
export interface DocumentVersion {
  readonly revision: number;
  readonly kind: string;
  readonly id: string;
  readonly doc: object | undefined;
}

const BY = 'ann';
const TOKEN_LIVES_MS = 3_600_000;
/** Longer than anything takes that is to end by itself. */
const PATIENCE_MS = 3_600_000;
/** Within this time every scan has run. */
const SCAN_MS = 6000;

export class ControlPlaneHarness {
  readonly program: Composition;
  readonly clock = new VirtualClock();
  readonly network = new SimulatedNetwork({
    clock: this.clock,
    emit: (news) => this.#servers.findLast(({ isAlive }) => isAlive)?.tell(news),
    poolsOf: (pool) => composeOrderPools(this.fleet, pool),
  });
  readonly agents: SimulatedAgents;
  /** Violations, and errors that a program logged as its own fault. */
  readonly violations: string[] = [];
  readonly warnings: string[] = [];
  /** The tasks of hosts, in their order. */
  readonly performedTasks: PerformedTask[] = [];
  readonly documentVersions: DocumentVersion[] = [];
  /** Whether the server has the credentials of the network back ends. */
  credentials = true;
  /** Whether hosts have credentials of their own, as older ones must. */
  hostsHaveCredentials = true;
  readonly #disk = new MemoryDisk({ journalId: 'journal-1', nowMs: () => this.clock.nowMs() });
  readonly #servers: AcceptanceServer[] = [];
  readonly #onCommit = new Set<(applied: readonly AppliedChange[]) => void>();
  readonly #onOrder = new Set<(when: 'before' | 'after') => void>();
  readonly #onSwitched = new Set<(host: string, changes: readonly SwitchChange[]) => void>();
  readonly #switches = new Map<string, WatchedSwitch>();
  /** Hosts whose data path is down: their peers report BFD down. */
  readonly bfdDown = new Set<string>();
  #count = 0;
  #lastRevision = 0;
  #openItems: { readonly fleet: Fleet; readonly revision: number; readonly items: readonly string[] } | undefined;

  constructor({ machine, program = PROGRAM }: ControlPlaneHarnessOptions = {}) {
    this.program = program;
    const { clock, ids, log } = this;
    const shared = {
      network: this.network.hostNetwork,
      faultFor: spawnFaults(this.network),
      peer: (host: string) => this.agents.hypervisorOf(host),
      ...machine,
      clock,
    };
    this.agents = new SimulatedAgents({
      verify: verifyFake,
      link: new InProcessLink(() => (this.server.isAlive ? this.server.gateway : undefined)),
      servers: [ADDRESS],
      joinToken: (host) => this.#joinToken(host),
      clock,
      ids,
      log,
      random: () => 0.5,
      driverOf: (host) =>
        new WatchedDriver(
          { ...shared, switch: this.switchOf(host) },
          { note: (task) => this.performedTasks.push(task), hasCredentials: () => this.hostsHaveCredentials },
        ),
    });
  }

  get log(): Log {
    return {
      info: () => undefined,
      warn: (_facts, text) => this.warnings.push(text),
      error: (facts, text) => this.violations.push(`${text}: ${describeFacts(facts)}`),
    };
  }

  get ids(): Ids {
    const next = (prefix: string): string => `${prefix}-${String((this.#count += 1)).padStart(6, '0')}`;
    return { next, secret: () => `${'x'.repeat(40)}-${next('secret')}` };
  }

  /** The switch of a host, whether its agent runs or not. */
  switchOf(host: string): WatchedSwitch {
    let found = this.#switches.get(host);
    if (found === undefined) {
      const onChanged = (changes: readonly SwitchChange[]): void => {
        for (const listener of [...this.#onSwitched]) listener(host, changes);
      };
      found = new WatchedSwitch(host, { clock: this.clock, isBfdUp: (peer) => !this.bfdDown.has(peer), onChanged });
      this.#switches.set(host, found);
    }
    return found;
  }

  /** Called for every change of a switch, once it is active. */
  onSwitchChange(listener: (host: string, changes: readonly SwitchChange[]) => void): () => void {
    this.#onSwitched.add(listener);
    return () => this.#onSwitched.delete(listener);
  }

  /** Starts a server on the present disk. It becomes leader as soon as no other is. */
  async startServer(): Promise<AcceptanceServer> {
    const { clock, ids, log, network, program } = this;
    const server = new AcceptanceServer({
      program,
      name: this.ids.next('server'),
      disk: this.#disk,
      clock,
      ids,
      log,
      network,
      hasCredentials: () => this.credentials,
      onCommit: (at, revision, applied) => this.#committed(at, revision, applied),
      onOrder: (when) => {
        for (const listener of [...this.#onOrder]) listener(when);
      },
    });
    this.#servers.push(server);
    await server.start();
    return server;
  }

  get server(): AcceptanceServer {
    const found = this.#servers.find(({ isDeciding }) => isDeciding) ?? this.#servers.at(-1);
    if (found === undefined) throw new Error('there is no server');
    return found;
  }

  get fleet(): Fleet {
    return this.server.journal.fleet;
  }

  get nowMs(): number {
    return this.clock.nowMs();
  }

  /** Stops the server; another becomes leader when its lease has expired. Machines and networks continue. */
  async restart(): Promise<void> {
    for (const server of this.#servers) server.die();
    await this.startServer();
    await this.clock.until('the next server decides', () => this.server.isDeciding);
  }

  /** The server dies at the first commit of which this is true, before anything reacts to it; then another takes over. */
  async restartWhen(isTrue: (applied: readonly AppliedChange[]) => boolean): Promise<void> {
    let died = false;
    const stop = this.onCommit((applied) => {
      if (died || !isTrue(applied)) return;
      died = true;
      this.server.die();
    });
    await this.until('the server died', () => died);
    stop();
    await this.restart();
  }

  close(): void {
    for (const server of this.#servers) server.die();
    void this.agents.stopAll();
  }

  #committed(server: AcceptanceServer, revision: number, applied: readonly AppliedChange[]): void {
    const { fleet } = server.journal;
    for (const invariant of fleet.registry.invariants) {
      for (const broken of invariant.check(applied, fleet))
        this.violations.push(`${revision}: ${invariant.name}: ${broken}`);
    }
    // Another server, a follower, has reported it.
    if (revision <= this.#lastRevision) return;
    this.#lastRevision = revision;
    for (const { kind, before, after } of applied) {
      const id = (after ?? before)?.id ?? '';
      this.documentVersions.push({ revision, kind, id, doc: after?.doc });
    }
    for (const listener of [...this.#onCommit]) listener(applied);
  }

  /** Called for every commit, when it is durable and nothing has reacted to it yet. */
  onCommit(listener: (applied: readonly AppliedChange[]) => void): () => void {
    this.#onCommit.add(listener);
    return () => this.#onCommit.delete(listener);
  }

  /** Called for every order to a network back end, before it is sent and when it was carried out. */
  onOrder(listener: (when: 'before' | 'after') => void): () => void {
    this.#onOrder.add(listener);
    return () => this.#onOrder.delete(listener);
  }

  async commit<A>(decide: (fleet: FleetReader) => Decision<A>): Promise<A> {
    const outcome = await this.server.journal.submit({ by: BY, decide });
    if (outcome.kind === 'refused') throw new Error(`${outcome.refusal.code}: ${outcome.refusal.message}`);
    return outcome.answer;
  }

  /** The answer to a refused request. Nothing may have changed by it. */
  async refusal(decide: (fleet: FleetReader) => Decision<unknown>): Promise<Refusal> {
    const before = this.fleet.revision;
    const outcome = await this.server.journal.submit({ by: BY, decide });
    if (outcome.kind === 'accepted') throw new Error('it was not refused');
    if (this.fleet.revision !== before) throw new Error('a refused request changed something');
    return outcome.refusal;
  }

  all<K extends string, D extends object>(kind: Kind<K, D>): { readonly id: string; readonly doc: D }[] {
    return [...this.fleet.all(kind)];
  }

  /** A document as it was after each commit that changed it; undefined where it was deleted. */
  versionsOf(kind: string, id: string): (Readonly<Record<string, unknown>> | undefined)[] {
    const own = this.documentVersions.filter((one) => one.kind === kind && one.id === id);
    return own.map(({ doc }) => doc as Readonly<Record<string, unknown>> | undefined);
  }

  /**
   * Lets time pass until only waits are left that time alone does not end. A server that dies meanwhile is followed by
   * another.
   */
  async settle(): Promise<void> {
    for (let before = -1; before !== this.fleet.revision;) {
      const isDone = (): boolean => this.server.isDeciding && this.openItems().length === 0;
      await this.until('everything has settled', () => !this.server.isAlive || isDone());
      if (this.server.isAlive) {
        before = this.fleet.revision;
        await this.clock.pass(SCAN_MS);
      } else await this.restart();
    }
  }

  /** Open items that time alone advances, as text. They change only with a commit. */
  openItems(): readonly string[] {
    const { fleet } = this;
    if (this.#openItems?.fleet === fleet && this.#openItems.revision === fleet.revision) return this.#openItems.items;
    const items = this.all(ITEM)
      .filter(({ doc }) => isOpen(doc) && (doc.state !== 'waiting' || doc.retryAtMs !== undefined))
      .map(({ id, doc }) => `${id}: ${doc.step} ${doc.state}${doc.host === undefined ? '' : ` at ${doc.host}`}`);
    this.#openItems = { fleet, revision: fleet.revision, items };
    return items;
  }

  until(what: string, isTrue: () => boolean): Promise<void> {
    return this.clock.until(what, isTrue, PATIENCE_MS);
  }

  /** No credential for a leaving or removed host, nor while there is no leader. */
  async #joinToken(host: string): Promise<string | undefined> {
    const { nowMs } = this;
    const doc = this.fleet.get(HOST, idOf(HOST, host))?.doc;
    if (!this.server.isDeciding || doc === undefined || doc.state === 'removed' || isTombstoned(doc)) return undefined;
    const made = newSecret({ ids: this.ids, hash: sha256 });
    const face = { id: made.id, hash: made.hash, name: `join/${host}`, role: 'join' as const, host };
    const life = { createdAtMs: nowMs, createdBy: BY, expiresAtMs: nowMs + TOKEN_LIVES_MS };
    await this.commit((fleet): Decision<unknown> => createToken(fleet, { ...face, ...life }));
    return made.secret;
  }
}

function describeFacts(facts: object): string {
  const { err, ...rest } = facts as { readonly err?: unknown };
  return `${JSON.stringify(rest)} ${err instanceof Error ? (err.stack ?? err.message) : ''}`;
}
