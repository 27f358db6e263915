// A real `muster serve` in a process of its own, with its data in a folder of its own. It can be killed and started again; requests go to it over HTTP.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitFor } from '../ha/wait-for.ts';
import { newFolder, startServer, type Ended, type ServerProcess, type Started } from '../cli/muster.ts';

export interface MusterAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

export class MusterProcess {
  #running: ServerProcess;
  readonly #options: readonly string[];
  /** Of those that were killed. */
  #log = '';

  private constructor(running: ServerProcess, options: readonly string[]) {
    this.#running = running;
    this.#options = options;
  }

  static async start(...options: readonly string[]): Promise<MusterProcess> {
    return new MusterProcess(await startServer(newFolder(), ...options), options);
  }

  /** The folder of its data. */
  get data(): string {
    return this.#running.data;
  }

  /** All that it wrote since the first start. */
  get log(): string {
    return this.#log + this.#running.out() + this.#running.err();
  }

  /** A command against it. */
  run(...args: readonly string[]): Promise<Ended> {
    return this.#running.muster(...args);
  }

  /** One that is looked at while it runs. */
  startCommand(...args: readonly string[]): Started {
    return this.#running.startCommand(...args);
  }

  /** Not even a signal handler of it runs. */
  async kill(): Promise<void> {
    await this.#running.stop('SIGKILL');
  }

  async restart(): Promise<void> {
    this.#log = this.log;
    this.#running = await startServer(this.#running.data, ...this.#options);
    // It is there before it decides.
    await waitFor('the lease', async () => /this server decides/.test(this.#running.err()) || undefined);
  }

  /** Of a simulated fleet: instances can be built. */
  async untilHostsJoined(): Promise<void> {
    await waitFor('the hosts of the simulated fleet', async () => {
      const path = '/operations?kind=host-join';
      const { items } = await this.mustSend<{ items: readonly { state: string }[] }>('GET', path);
      return (items.length > 0 && items.every(({ state }) => state === 'succeeded')) || undefined;
    });
  }

  async send(method: 'GET' | 'POST' | 'PATCH', path: string, payload?: object): Promise<MusterAnswer> {
    const token = readFileSync(join(this.#running.data, 'admin-token'), 'utf8').trim();
    const answered = await fetch(`${this.#running.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(payload !== undefined && { 'content-type': 'application/json' }),
      },
      ...(payload !== undefined && { body: JSON.stringify(payload) }),
    });
    return { status: answered.status, body: (await answered.json()) as MusterAnswer['body'] };
  }

  /** What is refused is thrown. A server that lost its lease for a moment, on a busy machine, has changed nothing, and the request is repeated. */
  async mustSend<T>(method: 'GET' | 'POST' | 'PATCH', path: string, payload?: object): Promise<T> {
    const { status, body } = await waitFor('a server that holds the lease', async () => {
      const answer = await this.send(method, path, payload);
      return answer.body['code'] === 'no-holder' ? undefined : answer;
    });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`);
    return body as T;
  }
}
