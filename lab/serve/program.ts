// A program of the lab that may be killed and started again in the middle of something: a server, an agent. What it says goes into
// a file of its own in the run folder.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { endChild } from '../../test/end-child.ts';

const SAID_MAX = 2000;

export interface LabProgramOptions {
  readonly name: string;
  readonly command: readonly string[];
  readonly log: string;
}

export class LabProgram {
  readonly name: string;
  readonly #options: LabProgramOptions;
  #child: ChildProcess | undefined;

  constructor(options: LabProgramOptions) {
    this.name = options.name;
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async start(): Promise<void> {
    if (this.isRunning) throw new Error(`${this.name} runs already`);
    const [program = '', ...args] = this.#options.command;
    const log = await open(this.#options.log, 'a');
    // A group of its own: Ctrl-C in a terminal is for the lab, which ends its programs in their order. The environment of whoever
    // started the lab may name another server.
    const env = { PATH: process.env['PATH'], HOME: process.env['HOME'] };
    const child = spawn(program, args, { stdio: ['ignore', log.fd, log.fd], detached: true, env });
    this.#child = child;
    await once(child, 'spawn');
    await log.close();
  }

  /** Resolves when it is gone. */
  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    if (this.#child !== undefined) await endChild(this.#child, signal);
  }

  /** It is there and does nothing, until it is resumed. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  /** The end of what it said, for whoever wonders why it does not run. */
  async tailLog(): Promise<string> {
    return (await readFile(this.#options.log, 'utf8').catch(() => '')).slice(-SAID_MAX);
  }
}
