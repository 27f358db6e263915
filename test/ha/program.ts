// A program on one of the machines: started in its namespace, as a user of choice, with its output in a file. Its process id is the
// program's own, so that signals reach it and nothing else.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';

export interface NamespacedProgramOptions {
  readonly namespace: string;
  readonly command: readonly [program: string, ...args: string[]];
  readonly log: string;
  /** Undefined for root. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  readonly env?: Readonly<Record<string, string>>;
}

export class NamespacedProgram {
  readonly #child: ChildProcess;
  readonly #log: string;

  constructor({ namespace, command, log, user, env = {} }: NamespacedProgramOptions) {
    this.#log = log;
    const who =
      user === undefined ? [] : ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', '--'];
    const output = openSync(log, 'a');
    this.#child = spawn('ip', ['netns', 'exec', namespace, ...who, ...command], {
      stdio: ['ignore', output, output],
      env: { PATH: process.env['PATH'] ?? '', HOME: '/tmp', LANG: 'C.UTF-8', ...env },
      cwd: '/tmp',
      // Ctrl-C of a test run is for the test: it stops these in order.
      detached: true,
    });
  }

  get pid(): number {
    const { pid } = this.#child;
    if (pid === undefined) throw new Error(`the program of ${this.#log} was not started`);
    return pid;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  output(): string {
    return readFileSync(this.#log, 'utf8');
  }

  signal(signal: NodeJS.Signals): void {
    if (this.isRunning) this.#child.kill(signal);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (!this.isRunning) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill(signal);
    await exited;
  }
}
