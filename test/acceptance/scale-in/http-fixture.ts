// The HTTP surface of the lease holder in a test: the real routes, called inside the process.
import { pino } from 'pino';
import { createToken, newSecret } from '../../../src/access/index.ts';
import { AGENT_GATEWAY } from '../../../src/agent/module.ts';
import { createServer, hashSecret, type ApiServer } from '../../../src/api/runtime.ts';
import { provide, Runtime } from '../../../src/composition/index.ts';
import type { Journal } from '../../../src/journal/index.ts';
import { SIMULATED_NETWORK } from '../../../src/network/index.ts';
import { coreProviders } from '../../../src/main/core-providers.ts';
import { IDLE_CORE } from '../../../src/main/core-providers-fixture.ts';
import { surfaceOf } from '../../../src/main/surface.ts';
import type { ScaleInAcceptanceWorld } from './world-fixture.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly body: unknown;
}

interface Open {
  readonly server: ApiServer;
  readonly journal: Journal;
}

/** A request as an administrator, whichever server is leader. */
export class HttpApi {
  readonly #world: ScaleInAcceptanceWorld;
  readonly #secret: string;
  #open: Open | undefined;

  private constructor(world: ScaleInAcceptanceWorld, secret: string) {
    this.#world = world;
    this.#secret = secret;
  }

  static async start(world: ScaleInAcceptanceWorld): Promise<HttpApi> {
    const { ids, nowMs } = world;
    const { id, secret, hash } = newSecret({ ids, hash: hashSecret });
    const face = { id, hash, name: 'admin', role: 'admin' as const, createdAtMs: nowMs, createdBy: 'ann' };
    await world.commit((fleet) => createToken(fleet, face));
    return new HttpApi(world, secret);
  }

  get(url: string): Promise<HttpAnswer> {
    return this.#ask('GET', url);
  }

  post(url: string, body: object): Promise<HttpAnswer> {
    return this.#ask('POST', url, body);
  }

  patch(url: string, body: object): Promise<HttpAnswer> {
    return this.#ask('PATCH', url, body);
  }

  delete(url: string): Promise<HttpAnswer> {
    return this.#ask('DELETE', url);
  }

  /** One of the three remote procedures, with the names of nodes in its own form. */
  rpc(verb: 'start' | 'end' | 'recover', nodes: readonly string[] | undefined): Promise<HttpAnswer> {
    const leaf = verb === 'recover' ? 'recover-node-ids' : 'scalein-node-ids';
    const input = nodes === undefined ? {} : { [leaf]: nodes };
    return this.post(`/restconf/operations/scalein-api:scalein-computes-${verb}`, { 'scalein-api:input': input });
  }

  async #ask(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, body?: object): Promise<HttpAnswer> {
    const headers = { authorization: `Bearer ${this.#secret}` };
    const request = { method, url, headers, ...(body !== undefined && { payload: body }) };
    const answer = await this.#server().app.inject(request);
    return { status: answer.statusCode, body: answer.body === '' ? undefined : answer.json() };
  }

  #server(): ApiServer {
    const { server: life, clock, ids, network, program } = this.#world;
    const { journal, gateway } = life;
    if (this.#open?.journal !== journal) {
      const log = pino({ level: 'silent' });
      const runtime = new Runtime(program, { journal, clock, ids, log }, [
        ...coreProviders(IDLE_CORE),
        provide(AGENT_GATEWAY, () => gateway),
        provide(SIMULATED_NETWORK, () => network),
      ]);
      const server = createServer({ ...surfaceOf(runtime), journal, clock, ids, log });
      this.#open = { server, journal };
    }
    return this.#open.server;
  }
}
