// The reference set-up, whole: three machines, etcd, Patroni, three servers. Stopped and taken away even when a test fails.
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureTools } from '../packaging/install.ts';
import { ensurePostgres } from '../postgres/install.ts';
import { Database } from './database.ts';
import { waitFor } from './wait-for.ts';
import { ClientLoad } from './load.ts';
import { MACHINES, NamespaceNetwork, signal } from './network.ts';
import { Servers } from './servers.ts';

export interface ReferenceSetup {
  readonly network: NamespaceNetwork;
  readonly database: Database;
  readonly servers: Servers;
  readonly folder: string;
  /** Clients of every server; they have begun. */
  startLoad(name: string): Promise<ClientLoad>;
  stop(): Promise<void>;
}

const TOOLS = [
  { program: 'ip', name: 'iproute2' },
  { program: 'etcd', name: 'etcd-server' },
  { program: 'etcdctl', name: 'etcd-client' },
  { program: 'patroni', name: 'patroni' },
  // Patroni takes any of the clients of its stores for enough: another one may be there already.
  { program: '/usr/lib/python3/dist-packages/etcd/__init__.py', name: 'python3-etcd' },
];

/** Why there can be no such set-up here; undefined when there can. */
export async function missingRequirement(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'only root can make network namespaces';
  const postgres = await ensurePostgres();
  if (postgres.kind === 'missing') return `PostgreSQL: ${postgres.reason}`;
  const tools = await ensureTools(TOOLS);
  return tools.kind === 'missing' ? tools.reason : undefined;
}

export async function startReferenceSetup(): Promise<ReferenceSetup> {
  const postgres = await ensurePostgres();
  if (postgres.kind === 'missing') throw new Error(postgres.reason);
  const folder = mkdtempSync(join(tmpdir(), 'muster-ha-'));
  // The user postgres has to get to its own folders in it.
  chmodSync(folder, 0o755);
  const network = new NamespaceNetwork();
  const database = new Database({ network, folder, binDir: postgres.binDir, user: userPostgres() });
  const parts: { servers?: Servers } = {};
  const stop = async (): Promise<void> => {
    await parts.servers?.stop();
    await database.stop();
    network.close();
    rmSync(folder, { recursive: true, force: true });
  };
  const cleanUp = (): void => {
    for (const machine of MACHINES) {
      for (const pid of network.processes(machine)) signal(pid, 'SIGKILL');
    }
    network.close();
  };
  process.once('exit', cleanUp);
  try {
    await database.start();
    const servers = new Servers({ network, folder, storeUrl: database.storeUrl });
    parts.servers = servers;
    await servers.start();
    return {
      network,
      database,
      servers,
      folder,
      startLoad: (name) => startLoad(servers, name),
      stop: async () => {
        await stop();
        process.off('exit', cleanUp);
      },
    };
  } catch (error) {
    await stop();
    process.off('exit', cleanUp);
    throw error;
  }
}

async function startLoad(servers: Servers, name: string): Promise<ClientLoad> {
  const load = new ClientLoad({
    name,
    urls: MACHINES.map((machine) => servers.url(machine)),
    ca: readFileSync(servers.ca, 'utf8'),
    token: servers.adminToken(),
  });
  await waitForWrites(load, 50);
  return load;
}

/** Until so many more writes were acknowledged. */
export async function waitForWrites(load: ClientLoad, more: number): Promise<void> {
  const enough = load.writes + more;
  await waitFor(`${more} more acknowledged writes`, async () => (load.writes >= enough ? true : undefined));
}

/** Until so many more reads were answered. */
export async function waitForReads(load: ClientLoad, more: number): Promise<void> {
  const enough = load.reads + more;
  await waitFor(`${more} more reads`, async () => (load.reads >= enough ? true : undefined));
}

function userPostgres(): { readonly uid: number; readonly gid: number } {
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}
