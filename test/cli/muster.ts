// The real program as these suites run it: servers that listen on a free port with a data folder of their own, and
// commands against them.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const MUSTER = join(ROOT, 'bin/muster.js');

/** Nothing of whoever runs the tests gets in: no server, no token, no colours. */
const ENV = {
  PATH: process.env['PATH'],
  HOME: process.env['HOME'],
  // These suites start the program a hundred times: the sources are read once.
  NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/muster'),
};

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  out(): string;
  err(): string;
  /** Resolves when the program has said this; rejects when it ends before. */
  said(pattern: RegExp): Promise<RegExpExecArray>;
}

export interface MusterStartOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Instead of muster itself. */
  readonly command?: readonly [file: string, ...args: string[]];
  /** How many files it may have open; as many as the tests when nothing is said. */
  readonly descriptors?: number;
}

const leftOver = new Set<ChildProcess>();
const folders: string[] = [];
// For the file that imports this: a suite that fails half-way leaves no server and no folder behind.
afterAll(async () => {
  for (const child of leftOver) {
    signalGroup(child, 'SIGKILL');
    await once(child, 'close');
  }
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** What Ctrl-C does: the program and everything it has started get the signal. */
export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid !== undefined) process.kill(-child.pid, signal);
}

export function start(args: readonly string[], options: MusterStartOptions = {}): Started {
  const { descriptors, command = [process.execPath, MUSTER] } = options;
  // The limit is of the shell, which becomes the program.
  const limited = ['sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh', ...command] as const;
  const [file, ...first] = descriptors === undefined ? command : limited;
  const child = spawn(file, [...first, ...args], {
    env: { ...ENV, ...options.env },
    cwd: options.cwd ?? tmpdir(),
    stdio: 'pipe',
    // A group of its own, so that everything it starts can be signalled as a terminal does, and nothing is left behind.
    detached: true,
  });
  leftOver.add(child);
  child.on('close', () => leftOver.delete(child));
  const texts = { out: '', err: '' };
  const listeners = new Set<() => void>();
  const take = (name: 'out' | 'err') => (chunk: Buffer) => {
    texts[name] += chunk.toString('utf8');
    for (const listener of listeners) listener();
  };
  child.stdout.on('data', take('out'));
  child.stderr.on('data', take('err'));
  // A program that ends at once may not read it.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const ended = new Promise<Ended>((done) => {
    child.on('close', (code, signal) => done({ code, signal, ...texts }));
  });
  const said = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((found, failed) => {
      const look = (): void => {
        const match = pattern.exec(texts.out + texts.err);
        if (match !== null) found(match);
      };
      listeners.add(look);
      look();
      void ended.then(({ code }) =>
        failed(new Error(`ended with ${code} before ${pattern}:\n${texts.out}${texts.err}`)),
      );
    });
  return { child, ended, out: () => texts.out, err: () => texts.err, said };
}

export function run(args: readonly string[], options: MusterStartOptions = {}): Promise<Ended> {
  return start(args, options).ended;
}

/** Gone when the file's tests have ended. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'muster-cli-'));
  folders.push(folder);
  return folder;
}

export interface ServerProcess extends Started {
  readonly url: string;
  readonly data: string;
  /** Runs a command against this server. */
  muster(...args: readonly string[]): Promise<Ended>;
  /** The same, with input or another environment. */
  with(options: MusterStartOptions, ...args: readonly string[]): Promise<Ended>;
  /** Its result as JSON; fails when the command does. */
  json<T = unknown>(...args: readonly string[]): Promise<T>;
  startCommand(...args: readonly string[]): Started;
  stop(signal?: NodeJS.Signals): Promise<Ended>;
}

export function startServer(data: string, ...more: readonly string[]): Promise<ServerProcess> {
  return startServerWith({}, data, ...more);
}

/** The same, in another environment or with fewer descriptors. */
export async function startServerWith(
  startOptions: MusterStartOptions,
  data: string,
  ...more: readonly string[]
): Promise<ServerProcess> {
  const started = start(['serve', '--data', data, '--listen', '127.0.0.1:0', ...more], startOptions);
  const [, url = ''] = await started.said(/answers at (http\S+)/);
  const of = (args: readonly string[]): string[] => ['--server', url, '--data', data, ...args];
  return {
    ...started,
    url,
    data,
    muster: (...args) => run(of(args)),
    with: (options, ...args) => run(of(args), options),
    startCommand: (...args) => start(of(args)),
    json: async <T>(...args: readonly string[]) => {
      const { code, out, err } = await run(of([...args, '--output', 'json']));
      if (code !== 0) throw new Error(`muster ${args.join(' ')} ended with ${code}: ${err}`);
      return JSON.parse(out) as T;
    },
    stop: async (signal = 'SIGINT') => {
      started.child.kill(signal);
      return started.ended;
    },
  };
}
