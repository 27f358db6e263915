// A real sshd on the loopback, as a worker's machine has one: its own host key, one user with one key, an environment of the test's choice.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { endChild } from '../end-child.ts';
import { freePort } from '../free-port.ts';
import { waitFor } from '../ha/wait-for.ts';
import { SSHD } from './install-sshd.ts';

const run = promisify(execFile);

export interface Sshd {
  readonly port: number;
  readonly user: string;
  /** The user's, as OpenSSH writes it. */
  readonly privateKey: string;
  readonly privateKeyFile: string;
  /** As a line of `known_hosts` has it: `ssh-ed25519 AAAA…`. */
  readonly hostKey: string;
}

export interface SshdOptions {
  /** The user is let in by it as well: only for root, who may give this sshd passwords of its own. */
  readonly password?: string;
  /** One that is there, in place of a new one. */
  readonly userKeyFile?: string;
  readonly onFinished?: (clean: () => Promise<void>) => void;
}

/** Ends with the test. Commands see `environment`, and nothing of the test's own. */
export async function startSshd(
  environment: Readonly<Record<string, string>> = {},
  { password, userKeyFile, onFinished = onTestFinished }: SshdOptions = {},
): Promise<Sshd> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-sshd-'));
  const [hostKeyFile, privateKeyFile] = [join(folder, 'host'), userKeyFile ?? join(folder, 'user')];
  for (const file of userKeyFile === undefined ? [hostKeyFile, privateKeyFile] : [hostKeyFile])
    await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', file]);
  const port = await freePort();
  const passwords = password === undefined ? undefined : await writePasswords(folder, password);
  const hasPassword = passwords !== undefined;
  await writeFile(
    join(folder, 'config'),
    configOf({ privateKeyFile, folder, port, hostKeyFile, environment, hasPassword }),
  );
  // It drops its privileges into this folder, which the service would make.
  if (process.getuid?.() === 0) await mkdir('/run/sshd', { recursive: true });
  const command = [SSHD, '-D', '-e', '-f', join(folder, 'config')];
  const [program = '', ...args] = passwords === undefined ? command : [...withPasswords(passwords), ...command];
  const server = spawn(program, args, { stdio: 'ignore' });
  onFinished(async () => {
    await endChild(server, 'SIGTERM');
    await rm(folder, { recursive: true, force: true });
  });
  await waitFor('sshd', async () => ((await listens(port)) ? true : undefined));
  const hostKey = (await readFile(`${hostKeyFile}.pub`, 'utf8')).trim();
  const privateKey = await readFile(privateKeyFile, 'utf8');
  return { port, user: userInfo().username, privateKey, privateKeyFile, hostKey };
}

/** As /etc/shadow has it. */
async function writePasswords(folder: string, password: string): Promise<string> {
  const file = join(folder, 'shadow');
  const { stdout } = await run('openssl', ['passwd', '-6', password]);
  await writeFile(file, `${userInfo().username}:${stdout.trim()}:19000:0:99999:7:::\n`, { mode: 0o600 });
  return file;
}

/** In a mount namespace of its own: the machine's passwords stay as they are. */
function withPasswords(file: string): string[] {
  return ['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" /etc/shadow && exec "$@"', file];
}

interface SshdPlace {
  readonly privateKeyFile: string;
  readonly folder: string;
  readonly port: number;
  readonly hostKeyFile: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly hasPassword: boolean;
}

function configOf({ privateKeyFile, folder, port, hostKeyFile, environment, hasPassword }: SshdPlace): string {
  const set = Object.entries(environment).map(([name, value]) => `"${name}=${value}"`);
  return [
    'ListenAddress 127.0.0.1',
    `Port ${port}`,
    `HostKey ${hostKeyFile}`,
    `AuthorizedKeysFile ${privateKeyFile}.pub`,
    `PidFile ${folder}/pid`,
    'PermitRootLogin yes',
    `PasswordAuthentication ${hasPassword ? 'yes' : 'no'}`,
    'UsePAM no',
    // The folder is below one that others may write to.
    'StrictModes no',
    ...(set.length > 0 ? [`SetEnv ${set.join(' ')}`] : []),
    '',
  ].join('\n');
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
