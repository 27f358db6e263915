// A private PostgreSQL cluster for tests: its own folder, its own port on the loopback, a password of its own, stopped by
// its process id. It runs as an unprivileged user, because PostgreSQL refuses root.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { endChild } from '../end-child.ts';
import { freePort } from '../free-port.ts';

const run = promisify(execFile);

const START_TRIES_MAX = 300;
const RETRY_MS = 50;
const NOT_IN_CLEAR = '28000';

export interface PostgresCluster {
  /** For the database `postgres`, as a superuser. */
  readonly url: string;
  readonly port: number;
  /** Ends it without a checkpoint, as a crash does. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

export interface ClusterOptions {
  readonly binDir: string;
  /** Settings as on the command line of the server. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Speaks TLS when given; with `ca` only to clients that show a certificate of it, on top of the password. */
  readonly tls?: { readonly key: string; readonly cert: string; readonly ca?: string };
}

/** Whom to run as: undefined for oneself. */
interface Account {
  readonly uid: number;
  readonly gid: number;
}

export async function startCluster(options: ClusterOptions): Promise<PostgresCluster> {
  const { home, account, password } = await makeHome();
  await writeFile(join(home, 'password'), password, { mode: 0o600 });
  await give(join(home, 'password'), account);
  const flags = ['--username=muster', '--auth=scram-sha-256', `--pwfile=${join(home, 'password')}`, '--encoding=UTF8'];
  await runAs(account, join(options.binDir, 'initdb'), [`--pgdata=${join(home, 'data')}`, '--no-sync', ...flags]);
  const tls = await writeTls(options.tls, home, account);
  return serve({ ...options, settings: { ...tls, ...options.settings } }, { home, account, password });
}

/** The files of a server that speaks TLS; answers its settings. */
async function writeTls(tls: ClusterOptions['tls'], home: string, account: Account | undefined) {
  if (tls === undefined) return {};
  const settings: Record<string, string> = { ssl: 'on' };
  for (const [setting, text] of Object.entries({
    ssl_key_file: tls.key,
    ssl_cert_file: tls.cert,
    ssl_ca_file: tls.ca,
  })) {
    if (text === undefined) continue;
    settings[setting] = join(home, setting);
    await writeFile(join(home, setting), text, { mode: 0o600 });
    await give(join(home, setting), account);
  }
  const demand = tls.ca === undefined ? '' : ' clientcert=verify-ca';
  const hba = `local all all scram-sha-256\nhostssl all all 127.0.0.1/32 scram-sha-256${demand}\n`;
  await writeFile(join(home, 'data', 'pg_hba.conf'), hba);
  return settings;
}

/** A streaming standby of another cluster, up to date when this returns. */
export async function startStandby(
  options: ClusterOptions & { readonly of: PostgresCluster },
): Promise<PostgresCluster> {
  const { home, account } = await makeHome();
  const source = `--dbname=${options.of.url}`;
  const flags = [source, `--pgdata=${join(home, 'data')}`, '--write-recovery-conf', '--checkpoint=fast', '--no-sync'];
  await runAs(account, join(options.binDir, 'pg_basebackup'), flags);
  return serve(options, { home, account, password: new URL(options.of.url).password });
}

interface Home {
  readonly home: string;
  readonly account: Account | undefined;
  readonly password: string;
}

async function makeHome(): Promise<Home> {
  const home = await mkdtemp(join(tmpdir(), 'muster-postgres-'));
  const account = await unprivileged();
  await chmod(home, 0o700);
  await give(home, account);
  return { home, account, password: randomBytes(16).toString('hex') };
}

async function serve(options: ClusterOptions, { home, account, password }: Home): Promise<PostgresCluster> {
  const port = await freePort();
  const settings = Object.entries({ listen_addresses: '127.0.0.1', ...options.settings });
  const flags = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const postgres = join(options.binDir, 'postgres');
  const [program, args] = commandAs(account, postgres, [
    '-D',
    join(home, 'data'),
    '-p',
    `${port}`,
    '-k',
    home,
    ...flags,
  ]);
  const server = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: home });
  let log = '';
  server.stderr.on('data', (text: Buffer) => {
    log = (log + text.toString()).slice(-4000);
  });
  // A test run that is cut short must not leave a server or its files behind.
  const onExit = (): void => {
    server.kill('SIGQUIT');
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once('exit', onExit);
  const url = `postgres://muster:${password}@127.0.0.1:${port}/postgres`;
  const stop = async (): Promise<void> => {
    process.off('exit', onExit);
    await endChild(server, 'SIGINT');
    await rm(home, { recursive: true, force: true });
  };
  try {
    await untilItAnswers(url, server);
  } catch (error) {
    await stop();
    throw new Error(`PostgreSQL does not start: ${log}`, { cause: error });
  }
  return { url, port, crash: () => endChild(server, 'SIGQUIT'), stop };
}

async function untilItAnswers(url: string, server: ChildProcess): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const client = new Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if ((error as { readonly code?: unknown }).code === NOT_IN_CLEAR) return; // it is up and requires TLS
      if (tries === START_TRIES_MAX || server.exitCode !== null) throw error;
      await setTimeout(RETRY_MS);
    }
  }
}

async function unprivileged(): Promise<Account | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const users = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const user = users.find(([name]) => name === 'postgres') ?? users.find(([name]) => name === 'nobody');
  if (user === undefined) throw new Error('there is neither a user postgres nor a user nobody');
  return { uid: Number(user[2]), gid: Number(user[3]) };
}

async function give(path: string, account: Account | undefined): Promise<void> {
  if (account !== undefined) await chown(path, account.uid, account.gid);
}

/** setpriv becomes the program, so that the process id is the program's. */
function commandAs(account: Account | undefined, program: string, args: readonly string[]): [string, string[]] {
  if (account === undefined) return [program, [...args]];
  const who = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups'];
  return ['setpriv', [...who, '--', program, ...args]];
}

async function runAs(account: Account | undefined, program: string, args: readonly string[]): Promise<void> {
  await run(...commandAs(account, program, args), { cwd: tmpdir() });
}
