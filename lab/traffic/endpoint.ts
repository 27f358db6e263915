// The lab's end of a traffic program: starts it in a namespace, sends it commands and receives the results.
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { endChild } from '../../test/end-child.ts';
import { startInNamespace } from './start-in-namespace.ts';
import type { TrafficAnswer, TrafficCall, ClientFlow, ClientResult, ServedFlow, TrafficTask } from './messages.ts';

const PROGRAM = join(import.meta.dirname, 'program.ts');

interface Waiting {
  readonly done: (result: unknown) => void;
  readonly failed: (error: Error) => void;
}

export class Endpoint {
  readonly namespace: string;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  #said = '';
  #calls = 0;

  constructor(namespace: string) {
    this.namespace = namespace;
    const node = [process.execPath, '--disable-warning=ExperimentalWarning', PROGRAM];
    this.#child = startInNamespace(namespace, node, ['ignore', 'ignore', 'pipe', 'ipc']);
    this.#child.stderr?.on('data', (bytes: Buffer) => {
      this.#said += bytes.toString('utf8');
    });
    this.#child.on('message', (answer: TrafficAnswer) => this.#take(answer));
    this.#child.on('error', (error) => this.#failAll(error));
    this.#child.on('exit', () => this.#failAll(new Error(`the traffic program in ${namespace} ended: ${this.#said}`)));
  }

  async serve(port: number): Promise<void> {
    await this.#call({ kind: 'serve', port });
  }

  async stopPushing(): Promise<void> {
    await this.#call({ kind: 'quiet' });
  }

  takeServed(): Promise<readonly ServedFlow[]> {
    return this.#call({ kind: 'served' }) as Promise<readonly ServedFlow[]>;
  }

  async prepare(flows: readonly ClientFlow[]): Promise<void> {
    await this.#call({ kind: 'prepare', flows });
  }

  async begin(): Promise<void> {
    await this.#call({ kind: 'begin' });
  }

  end(): Promise<readonly ClientResult[]> {
    return this.#call({ kind: 'end' }) as Promise<readonly ClientResult[]>;
  }

  async close(): Promise<void> {
    await endChild(this.#child, 'SIGKILL');
  }

  #call(task: TrafficTask): Promise<unknown> {
    this.#calls += 1;
    const call: TrafficCall = { call: this.#calls, task };
    return new Promise((done, failed) => {
      this.#waiting.set(call.call, { done, failed });
      this.#child.send(call, (error) => {
        if (error !== null) failed(error);
      });
    });
  }

  #take(answer: TrafficAnswer): void {
    const waiting = this.#waiting.get(answer.call);
    this.#waiting.delete(answer.call);
    if ('failed' in answer) waiting?.failed(new Error(`${this.namespace}: ${answer.failed}`));
    else waiting?.done(answer.result);
  }

  #failAll(error: Error): void {
    for (const { failed } of this.#waiting.values()) failed(error);
    this.#waiting.clear();
  }
}
