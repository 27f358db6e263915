// A server with the modules that main composes, on the memory store, for the suites of the API.
import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { createToken, newSecret, SecretMask, type NewToken, type Token } from '../../src/access/index.ts';
import { OUTSIDE_INVENTORIES } from '../../src/baremetal/index.ts';
import { AGENT_GATEWAY, HEARTBEAT_LISTENER } from '../../src/agent/module.ts';
import { createServer, hashSecret, type ApiServer, type ServerOptions } from '../../src/api/runtime.ts';
import { provide, Runtime, SECRET_MASK, type Composition, type ServiceOf } from '../../src/composition/index.ts';
import { idOf, put, type Change } from '../../src/fleet/index.ts';
import type { Host } from '../../src/hosts/index.ts';
import { hostChange as hostOf } from '../../src/hosts/preview/preview-fixture.ts';
import { accept, Journal, type Clock, type Ids, type Store } from '../../src/journal/index.ts';
import { MemoryDisk } from '../../src/journal/memory-disk.ts';
import { MemoryStore } from '../../src/journal/memory-store.ts';
import { realClock } from '../../src/main/clock.ts';
import { NO_SECRETS, SECRETS } from '../../src/keys/index.ts';
import { coreProviders } from '../../src/main/core-providers.ts';
import { IDLE_CORE } from '../../src/main/core-providers-fixture.ts';
import { realIds } from '../../src/main/ids.ts';
import { PROGRAM } from '../../src/main/modules.ts';
import { createLog } from '../../src/main/program-log.ts';
import { openSecretKeys } from '../../src/main/secret-keys.ts';
import { surfaceOf } from '../../src/main/surface.ts';
import { SITE } from '../../src/sites/index.ts';

const NO_LIMITS = { perTokenPerSecond: Infinity, perAddressPerSecond: Infinity };

const LEASE = 'fleet';

export interface ApiTestServer {
  readonly server: ApiServer;
  readonly journal: Journal;
  /** Its running parts: none runs but the agent gateway. */
  readonly runtime: Runtime;
  readonly disk: MemoryDisk;
  readonly ids: Ids;
  readonly clock: Clock & { ahead(ms: number): void };
  /** The hosts whose heartbeats were taken, one after the other. */
  readonly received: readonly string[];
  /** Everything that was logged. */
  readonly logged: () => string;
  /** Makes a token without the API; answers its secret. */
  token(role: Token['role'], extra?: Partial<NewToken>): Promise<string>;
  commit(...changes: Change[]): Promise<number>;
  call(secret: string | undefined, request: InjectOptions): Promise<LightMyRequestResponse>;
  close(): Promise<void>;
}

export function clockAhead(): ApiTestServer['clock'] {
  let aheadMs = 0;
  return {
    ...realClock,
    nowMs: () => realClock.nowMs() + aheadMs,
    ahead: (ms) => {
      aheadMs += ms;
    },
  };
}

export interface ApiTestServerOptions extends Partial<
  Pick<ServerOptions, 'limits' | 'keepAliveMs' | 'url' | 'auditFolder' | 'tls'>
> {
  /** A disk that another server is on. */
  readonly disk?: MemoryDisk;
  /** Instead of a disk in memory. It is closed with the world. */
  readonly store?: Store;
  readonly clock?: ApiTestServer['clock'];
  /** False for a server that only follows. */
  readonly leads?: boolean;
  readonly logLevel?: string;
  /** Instead of this one: with modules of a test. */
  readonly program?: Composition;
  /** The data folder with the key of secrets. Without it there is none. */
  readonly secretsIn?: string;
  readonly outsideInventories?: ServiceOf<typeof OUTSIDE_INVENTORIES>;
}

export async function startApiTestServer(options: ApiTestServerOptions = {}): Promise<ApiTestServer> {
  const { program = PROGRAM } = options;
  const clock = options.clock ?? clockAhead();
  const ids = realIds();
  const disk = options.disk ?? new MemoryDisk({ journalId: 'journal-of-tests', nowMs: clock.nowMs });
  const journal = new Journal({
    store: options.store ?? new MemoryStore(disk),
    registry: program.newRegistry(),
    clock,
    ids,
    pollMs: 20,
  });
  await journal.open();
  const lines: string[] = [];
  const mask = new SecretMask();
  const log = createLog(options.logLevel ?? 'debug', mask, (line) => lines.push(line));
  const { secretsIn: dataFolder } = options;
  const secrets =
    dataFolder === undefined ? NO_SECRETS : openSecretKeys(journal, { store: 'sqlite', dataFolder, mask, log });
  const received: string[] = [];
  const runtime = new Runtime(program, { journal, clock, ids, log }, [
    ...coreProviders({ ...IDLE_CORE, credentials: { has: () => false }, gateway: () => ({ hash: hashSecret }) }),
    provide(SECRETS, () => secrets),
    provide(SECRET_MASK, () => mask),
    provide(OUTSIDE_INVENTORIES, () => options.outsideInventories ?? []),
    provide(HEARTBEAT_LISTENER, () => ({ recordHeartbeat: (host) => void received.push(host) })),
  ]);
  const gateway = runtime.get(AGENT_GATEWAY);
  const { limits = NO_LIMITS, keepAliveMs, url, auditFolder, tls } = options;
  const server = createServer({
    ...surfaceOf(runtime),
    journal,
    clock,
    ids,
    log,
    limits,
    ...(keepAliveMs !== undefined && { keepAliveMs }),
    ...(url !== undefined && { url }),
    ...(auditFolder !== undefined && { auditFolder }),
    ...(tls !== undefined && { tls }),
  });
  const over = new AbortController();
  const running = [journal.follow(over.signal), gateway.run(over.signal)];
  const world: ApiTestServer = {
    server,
    journal,
    runtime,
    disk,
    clock,
    ids,
    received,
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
      await options.store?.close();
    },
  };
  if (options.leads !== false) await takeLease(world);
  return world;
}

/** A lease that outlasts the test. */
export async function takeLease({ journal }: ApiTestServer, url = 'http://127.0.0.1:1'): Promise<void> {
  const answer = await journal.store.acquireLease({ name: LEASE, holder: 'test', url, ttlMs: 10 ** 9 });
  if (answer.kind !== 'held') throw new Error('another server holds the lease');
  await journal.lead({ lease: LEASE, epoch: answer.lease.epoch });
}

let tokens = 0;

async function newToken(
  { journal, ids, clock }: ApiTestServer,
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
export async function populate(world: ApiTestServer, perSite = 3): Promise<void> {
  const changes = SITES.flatMap((site) => [
    put(SITE, idOf(SITE, site), { name: site, changedBy: 'test', changedAtMs: 1 }),
    ...Array.from({ length: perSite }, (_, at) => hostChange(`${site}-${at}`, { site })),
  ]);
  await world.commit(...changes);
}

export function hostChange(name: string, extra: Partial<Host> = {}): Change {
  const capacity = { vcpus: 8, memoryMiB: 1024, diskGiB: 10, ratios: { vcpus: 4, memory: 1, disk: 1 } };
  return hostOf({
    name,
    capacity,
    connection: { state: 'up', sinceMs: 1 },
    serviceVersion: 1,
    changedAtMs: 1,
    ...extra,
  });
}
