// A control plane for tests: the real journal, lease keeper, engine, liveness and agent gateway of one or several servers on one
// memory disk, with every invariant checked after every commit.
import { hash } from 'node:crypto';
import { accessModel, createToken, newSecret, TOKEN, type Token } from '../../access/index.ts';
import { alarmsModel } from '../../alarms/index.ts';
import { peersPart, servicesPart } from '../../dataplane/index.ts';
import { electionModel } from '../../election/index.ts';
import { idOf, put, Registry, SETTING, type Stored } from '../../fleet/index.ts';
import { findHost, hostJoin, hostsModel, joinHosts, selfPart, type Host, type ViewPart } from '../../hosts/index.ts';
import { LivenessController } from '../../hosts/runtime.ts';
import { networkModel } from '../../network/index.ts';
import { accept, Journal, type Clock, type Decision, type Ids } from '../../journal/index.ts';
import { MemoryDisk as StoreDisk, MemoryStore } from '../../journal/runtime.ts';
import { ITEM, OPERATION, operationsModel, type Item, type Log, type OperationKind } from '../../operations/index.ts';
import { LeaseController, OperationsController } from '../../operations/runtime.ts';
import { SITE, sitesModel } from '../../sites/index.ts';
import { AgentGateway } from './agent-gateway.ts';
import { InProcessLink } from './in-process-link.ts';
import { fakeSigner } from '../protocol/signer-fixture.ts';
import type { Signer } from '../../link/index.ts';
import { ViewsDriver } from './views-driver.ts';
import { StatementIssuer } from './statement-issuer.ts';

/** Longer than in production: fewer ticks of the clock that tests move. */
const LEASE_TIMES = { ttlMs: 10_000, renewMs: 3_000 };

export const SILENT: Log = { info: () => undefined, warn: () => undefined, error: (facts) => raise(facts) };

function raise(facts: object): never {
  throw new Error('a program logged an error', { cause: facts });
}

export const KINDS: ReadonlyMap<string, OperationKind> = new Map([[hostJoin.name, hostJoin]]);

export function registry(): Registry {
  const ground = [{ kinds: [SETTING] }, sitesModel, alarmsModel, accessModel, operationsModel, hostsModel];
  return new Registry([...ground, networkModel, electionModel]);
}

export function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}

/** Ids as no other owner has them. */
function countedIds(owner: string): Ids {
  let count = 0;
  const counted = (): string => String((count += 1)).padStart(6, '0');
  return {
    next: (prefix) => `${prefix}-${owner}-${counted()}`,
    secret: () => `${'x'.repeat(40)}-${owner}-${counted()}`,
  };
}

export interface TestControlPlaneServer {
  readonly name: string;
  readonly journal: Journal;
  readonly gateway: AgentGateway;
  readonly liveness: LivenessController;
  readonly lease: LeaseController;
  readonly views: ViewsDriver;
  readonly statements: StatementIssuer;
  readonly stop: () => Promise<void>;
}

export class TestControlPlane {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly violations: string[] = [];
  /** Hosts to which BFD is down at most of their peers. */
  readonly bfdDownByMajority = new Set<string>();
  /** Servers that answer to agents, by address. Take one out to cut its link. */
  readonly reachable = new Map<string, TestControlPlaneServer>();
  readonly link = new InProcessLink((server) => this.reachable.get(server)?.gateway);
  /** What all its servers sign with. */
  signer: Signer | undefined = fakeSigner();
  readonly #disk: StoreDisk;
  readonly #kinds: ReadonlyMap<string, OperationKind>;
  readonly #parts: readonly ViewPart[];
  readonly #running: TestControlPlaneServer[] = [];

  constructor(
    clock: Clock,
    journalId = 'journal-1',
    kinds: readonly OperationKind[] = [],
    parts: readonly ViewPart[] = [selfPart, peersPart, servicesPart],
  ) {
    this.clock = clock;
    this.#parts = parts;
    this.#kinds = new Map([...KINDS, ...kinds.map((kind) => [kind.name, kind] as const)]);
    this.ids = countedIds(journalId);
    this.#disk = new StoreDisk({ journalId, nowMs: () => clock.nowMs() });
  }

  /** Starts a server. Its address is its name. */
  async start(name: string, url = name): Promise<TestControlPlaneServer> {
    const { clock, ids } = this;
    const kinds = this.#kinds;
    const journal = new Journal({ store: new MemoryStore(this.#disk), registry: registry(), clock, ids });
    journal.onCommit(({ commit, applied }) => {
      for (const invariant of journal.fleet.registry.invariants) {
        for (const broken of invariant.check(applied, journal.fleet))
          this.violations.push(`${commit.revision}: ${invariant.name}: ${broken}`);
      }
    });
    await journal.open();
    const lease = new LeaseController({ journal, clock, log: SILENT, holder: name, url: () => url, ...LEASE_TIMES });
    const operations = new OperationsController({ journal, clock, kinds, drivers: new Map(), log: SILENT });
    const liveness = new LivenessController({ journal, clock, log: SILENT });
    const source = { parts: this.#parts, kinds };
    const holder = () => lease.holder();
    const statements = new StatementIssuer({
      journalId: () => journal.journalId,
      signer: () => this.signer,
      servers: () => [...this.reachable.keys()],
    });
    const gateway = new AgentGateway({
      journal,
      clock,
      log: SILENT,
      source,
      liveness,
      hash: sha256,
      holder,
      statements,
    });
    const stopping = new AbortController();
    const all = [lease, operations, liveness, gateway].map((one) => one.run(stopping.signal));
    const followed = journal.follow(stopping.signal);
    const stop = async (): Promise<void> => {
      this.reachable.delete(url);
      stopping.abort();
      await Promise.all([...all, followed]);
    };
    const views = new ViewsDriver({
      gateway,
      journal,
      clock,
      isBfdDownByMajority: (host) => this.bfdDownByMajority.has(host),
    });
    const server = { name, journal, gateway, liveness, lease, views, statements, stop };
    this.#running.push(server);
    this.reachable.set(url, server);
    return server;
  }

  /** The server that decides. */
  get leader(): TestControlPlaneServer {
    const found = this.#running.find(({ journal }) => journal.fence !== undefined);
    if (found === undefined) throw new Error('no server holds the lease');
    return found;
  }

  get hasLeader(): boolean {
    return this.#running.some(({ journal }) => journal.fence !== undefined);
  }

  async commit<A>(decide: Parameters<Journal['submit']>[0]['decide']): Promise<A> {
    const outcome = await this.leader.journal.submit({ by: 'test', decide });
    if (outcome.kind === 'refused') throw new Error(outcome.refusal.message);
    return outcome.answer as A;
  }

  /** Registers hosts by host-join; their agents are still to come. */
  async register(...names: readonly string[]): Promise<void> {
    const nowMs = this.clock.nowMs();
    const site = idOf(SITE, 'central');
    await this.commit((fleet) => {
      if (fleet.get(SITE, site) !== undefined) return accept([], null);
      return accept([put(SITE, site, { name: 'central', changedBy: 'test', changedAtMs: nowMs })], null);
    });
    const operation = idOf(OPERATION, this.ids.next('op'));
    const hosts = names.map((name) => ({ name }));
    await this.commit((fleet) => joinHosts(fleet, { hosts, operation, deadlineMs: 3_600_000, by: 'test', nowMs }));
  }

  /** `aheadMs`: by how much the clock of the server is ahead that makes it. */
  async joinToken(host: string, livesMs = 3_600_000, aheadMs = 0): Promise<string> {
    const made = newSecret({ ids: this.ids, hash: sha256 });
    const nowMs = this.clock.nowMs() + aheadMs;
    const token = { id: made.id, name: `join/${host}`, role: 'join' as const, host, hash: made.hash };
    const rest = { createdAtMs: nowMs, createdBy: 'test', expiresAtMs: nowMs + livesMs };
    await this.commit((fleet): Decision<unknown> => createToken(fleet, { ...token, ...rest }));
    return made.secret;
  }

  host(name: string): Host | undefined {
    return this.hasLeader ? findHost(this.leader.journal.fleet, name)?.doc : undefined;
  }

  async edit(name: string, change: Partial<Host>): Promise<void> {
    await this.commit((fleet) => {
      const host = findHost(fleet, name);
      if (host === undefined) throw new Error(`no host ${name}`);
      return accept([put({ name: 'host', check: () => undefined }, host.id, { ...host.doc, ...change })], null);
    });
  }

  item(host: string): Item | undefined {
    const items = [...this.leader.journal.fleet.all(ITEM)];
    return items.find((item) => item.doc.host === host)?.doc;
  }

  tokens(host: string): Stored<'token', Token>[] {
    return [...this.leader.journal.fleet.all(TOKEN)].filter(({ doc }) => doc.host === host);
  }

  async close(): Promise<void> {
    await Promise.all(this.#running.map((server) => server.stop()));
  }
}
