// A server as main composes it, on the memory store, for the suites of the API.
import { Writable } from 'node:stream';
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { pino } from 'pino';
import {
  accessModel,
  createToken,
  newSecret,
  TOKEN_VIEW,
  type Route,
  type NewToken,
  type Token,
  type View,
} from '../../src/access/index.ts';
import { tokenRoutes } from '../../src/access/runtime.ts';
import { Desk } from '../../src/agent/desk.ts';
import { agentRoutes } from '../../src/agent/routes.ts';
import { alarmsModel } from '../../src/alarms/index.ts';
import { alarmRoutes, alarmView } from '../../src/alarms/routes.ts';
import { createServer, hashSecret, type Server, type ServerOptions, type Tally } from '../../src/api/runtime.ts';
import { idOf, put, Registry, SETTING, type Change } from '../../src/fleet/index.ts';
import {
  HOST,
  hostJoin,
  hostsModel,
  hostsOfSite,
  joinSentences,
  LIVENESS,
  livenessSentences,
  selfPart,
  type Host,
} from '../../src/hosts/index.ts';
import { HOST_VIEW, hostRoutes } from '../../src/hosts/routes.ts';
import { accept, Journal, type Clock, type Ids } from '../../src/journal/index.ts';
import { MemoryDisk, MemoryStore } from '../../src/journal/memory-store.ts';
import { realClock } from '../../src/main/clock.ts';
import { realIds } from '../../src/main/ids.ts';
import {
  explainer,
  OPERATION,
  operationSentences,
  operationsModel,
  type Operation,
} from '../../src/operations/index.ts';
import { operationRoutes, operationViews } from '../../src/operations/routes.ts';
import { SITE, sitesModel } from '../../src/sites/index.ts';
import { SITE_VIEW, siteRoutes } from '../../src/sites/routes.ts';

export const NO_LIMITS = { perTokenPerSecond: Infinity, perAddressPerSecond: Infinity };

const KINDS = new Map([[hostJoin.name, hostJoin]]);
const LEASE = 'fleet';

const HOSTS_TALLY: Tally<Host> = {
  name: 'muster_hosts',
  help: 'Hosts by state and connection',
  kind: HOST,
  labels: ['state', 'connection'],
  of: (doc) => [doc.state, doc.connection.state],
};

const OPERATIONS_TALLY: Tally<Operation> = {
  name: 'muster_operations',
  help: 'Operations by kind and state',
  kind: OPERATION,
  labels: ['kind', 'state'],
  of: (doc) => [doc.kind, doc.state],
};

export const registry = (): Registry =>
  new Registry([{ kinds: [SETTING] }, accessModel, operationsModel, alarmsModel, sitesModel, hostsModel]);

export interface Rooms {
  readonly routes: Route[];
  readonly views: View<string, never>[];
  readonly desk: Desk;
}

/** The rooms' routes and views. */
export function rooms(journal: Journal, clock: Clock): Rooms {
  const explain = explainer([operationSentences, joinSentences, livenessSentences]);
  const alarm = alarmView(explain);
  const operations = operationViews(explain);
  const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const desk = new Desk({
    journal,
    clock,
    log: silent,
    source: { parts: [selfPart], kinds: KINDS },
    liveness: { heard: () => undefined },
    hash: hashSecret,
    holderUrl: () => undefined,
  });
  return {
    routes: [
      ...tokenRoutes({ site: SITE, host: HOST }),
      ...siteRoutes([hostsOfSite]),
      ...hostRoutes,
      ...operationRoutes({ views: operations, kinds: KINDS }),
      ...alarmRoutes(alarm),
      ...agentRoutes(desk),
    ],
    views: [TOKEN_VIEW, SITE_VIEW, HOST_VIEW, operations.operation, operations.item, alarm],
    desk,
  };
}

export interface World {
  readonly server: Server;
  readonly journal: Journal;
  readonly disk: MemoryDisk;
  readonly ids: Ids;
  readonly clock: Clock & { ahead(ms: number): void };
  /** Everything that was logged. */
  readonly logged: () => string;
  /** Makes a token without the API; answers its secret. */
  token(role: Token['role'], extra?: Partial<NewToken>): Promise<string>;
  commit(...changes: Change[]): Promise<number>;
  call(secret: string | undefined, request: InjectOptions): Promise<LightMyRequestResponse>;
  close(): Promise<void>;
}

export function clockAhead(): World['clock'] {
  let aheadMs = 0;
  return {
    ...realClock,
    nowMs: () => realClock.nowMs() + aheadMs,
    ahead: (ms) => {
      aheadMs += ms;
    },
  };
}

export interface WorldOptions extends Partial<Pick<ServerOptions, 'limits' | 'heartbeatMs' | 'url'>> {
  /** A disk that another server is on. */
  readonly disk?: MemoryDisk;
  readonly clock?: World['clock'];
  /** False for a server that only follows. */
  readonly leads?: boolean;
  readonly logLevel?: string;
}

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const clock = options.clock ?? clockAhead();
  const ids = realIds();
  const disk = options.disk ?? new MemoryDisk({ journalId: 'journal-of-tests', nowMs: clock.nowMs });
  const journal = new Journal({ store: new MemoryStore(disk), registry: registry(), clock, ids, pollMs: 20 });
  await journal.open();
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk, _, done) {
      lines.push(String(chunk));
      done();
    },
  });
  const { routes, views, desk } = rooms(journal, clock);
  const { limits = NO_LIMITS, heartbeatMs, url } = options;
  const server = createServer({
    journal,
    clock,
    ids,
    routes,
    views,
    settings: [LIVENESS],
    tallies: [HOSTS_TALLY, OPERATIONS_TALLY],
    log: pino({ level: options.logLevel ?? 'debug' }, sink),
    limits,
    ...(heartbeatMs !== undefined && { heartbeatMs }),
    ...(url !== undefined && { url }),
  });
  const over = new AbortController();
  const running = [journal.follow(over.signal), desk.run(over.signal)];
  const world: World = {
    server,
    journal,
    disk,
    clock,
    ids,
    logged: () => lines.join(''),
    token: (role, extra) => newToken(world, role, extra),
    commit: async (...changes) => (await journal.submit({ by: 'test', decide: () => accept(changes, null) })).revision,
    call: (secret, request) =>
      server.app.inject({
        ...request,
        headers: { ...(secret !== undefined && { authorization: `Bearer ${secret}` }), ...request.headers },
      }),
    close: async () => {
      over.abort();
      await server.close();
      await Promise.all(running);
    },
  };
  if (options.leads !== false) await lead(world);
  return world;
}

/** A lease that outlasts the test. */
export async function lead({ journal }: World, url = 'http://127.0.0.1:1'): Promise<void> {
  const answer = await journal.store.acquireLease({ name: LEASE, holder: 'test', url, ttlMs: 10 ** 9 });
  if (answer.kind !== 'held') throw new Error('somebody else holds the lease');
  await journal.lead({ lease: LEASE, epoch: answer.lease.epoch });
}

let tokens = 0;

async function newToken(
  { journal, ids, clock }: World,
  role: Token['role'],
  extra: Partial<NewToken> = {},
): Promise<string> {
  const { id, secret, hash } = newSecret({ ids, hash: hashSecret });
  tokens += 1;
  const doc = { name: `${role} ${tokens}`, role, hash, createdAtMs: clock.nowMs(), createdBy: 'test' };
  await journal.submit({ by: 'test', decide: (fleet) => createToken(fleet, { id, ...doc, ...extra }) });
  return secret;
}

export const SITES = ['central', 'north'] as const;

/** Two sites, some hosts in each. */
export async function populate(world: World, perSite = 3): Promise<void> {
  const changes = SITES.flatMap((site) => [
    put(SITE, idOf(SITE, site), { name: site, changedBy: 'test', changedAtMs: 1 }),
    ...Array.from({ length: perSite }, (_, at) => hostChange(`${site}-${at}`, { site })),
  ]);
  await world.commit(...changes);
}

export function hostChange(name: string, extra: Partial<Host> = {}): Change {
  return put(HOST, idOf(HOST, name), {
    name,
    site: 'central',
    zone: 'default',
    aggregates: [],
    traits: [],
    physicalNetworks: [],
    baseWeight: 0,
    capacity: { vcpus: 8, memoryMiB: 1024, diskGiB: 10, ratios: { vcpus: 4, memory: 1, disk: 1 } },
    state: 'active',
    connection: { state: 'up', sinceMs: 1 },
    serviceVersion: 1,
    changedBy: 'test',
    changedAtMs: 1,
    ...extra,
  });
}
