// A server over HTTP with the engine that settles claims, simulated machines, and a manager that is registered: what the acceptance list of reservations is
// tried on. Another server may take over its disk.
import { expect } from 'vitest';
import type { InjectOptions } from 'fastify';
import { putNode } from '../../../src/baremetal/nodes-fixture.ts';
import { NODE, RESERVATION, type Node } from '../../../src/baremetal/index.ts';
import { CLAIM_MODES, INVENTORIES_CONTROLLER } from '../../../src/baremetal/service-keys.ts';
import { idOf } from '../../../src/fleet/index.ts';
import { PROGRAM } from '../../../src/main/modules.ts';
import { OperationsController } from '../../../src/operations/runtime.ts';
import {
  populate,
  startApiTestServer,
  type ApiTestServer,
  type ApiTestServerOptions,
} from '../../api/api-test-server.ts';

export interface Answered {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, unknown>>;
}

const QUIET = { info: () => undefined, warn: () => undefined, error: (facts: object) => raise(facts) };

function raise(facts: object): never {
  throw new Error('an error was logged', { cause: facts });
}

export class ReservationsPlane {
  readonly server: ApiTestServer;
  readonly violations: string[] = [];
  readonly #over = new AbortController();
  readonly #running: Promise<void>;
  operator = '';
  admin = '';
  manager = '';

  private constructor(server: ApiTestServer) {
    this.server = server;
    const { journal, clock, runtime } = server;
    const drivers = runtime.drivers();
    const engine = new OperationsController({ journal, clock, kinds: PROGRAM.operationKinds, drivers, log: QUIET });
    this.#running = engine.run(this.#over.signal);
    journal.onCommit(({ applied }) => {
      for (const { name, check } of journal.fleet.registry.invariants)
        this.violations.push(...check(applied, journal.fleet).map((broken) => `${name}: ${broken}`));
    });
  }

  /** With manager `m1`. */
  static async start(
    claims: 'inline' | 'endpoint' | 'direct' = 'inline',
    options: ApiTestServerOptions = {},
  ): Promise<ReservationsPlane> {
    const plane = new ReservationsPlane(await startApiTestServer({ logLevel: 'silent', ...options }));
    await populate(plane.server);
    await plane.#login();
    await plane.setClaims(claims);
    await plane.register();
    return plane;
  }

  async setClaims(claims: 'inline' | 'endpoint' | 'direct'): Promise<void> {
    const settings = { claims, checksEpochs: true, deployMs: 0, cleanMs: 0, powerMs: 0 };
    await this.ask(this.admin, { method: 'PUT', url: '/settings/baremetal.simulated', payload: { value: settings } });
    await this.server.runtime.get(CLAIM_MODES).refresh();
  }

  /** Each inventory outside is read once, as the server that decides does all the time. */
  async readInventories(): Promise<void> {
    await this.server.runtime.get(INVENTORIES_CONTROLLER).reconcile();
  }

  async alarms(): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return (await this.ask(this.operator, { url: '/alarms' })).body['items'] as readonly Readonly<
      Record<string, unknown>
    >[];
  }

  async #login(): Promise<void> {
    this.operator = await this.server.token('operator');
    this.admin = await this.server.token('admin');
    this.manager = await this.server.token('manager', { manager: 'm1' });
  }

  /** The server dies in whatever it does, and another one starts on its disk. */
  async succeed(): Promise<ReservationsPlane> {
    const { server } = this;
    const { disk, journal } = server;
    this.#over.abort();
    const { epoch } = journal.fence ?? { epoch: 0 };
    journal.stepDown();
    await journal.store.releaseLease('fleet', epoch);
    const next = new ReservationsPlane(await startApiTestServer({ disk, logLevel: 'silent' }));
    await next.#login();
    await next.server.runtime.get(CLAIM_MODES).refresh();
    await server.close();
    return next;
  }

  /** Without a word of the manager it would be lapsed at a new server. */
  async register(): Promise<number> {
    const registered = await this.ask(this.manager, {
      method: 'PUT',
      url: '/managers/m1',
      payload: { holder: 'p-1', version: '1' },
    });
    expect(registered.status).toBeLessThan(300);
    return registered.body['leaseEpoch'] as number;
  }

  /** Its lease does not run out while a test is busy. */
  async keepLease(): Promise<void> {
    const value = { leaseMs: 600_000, renewMs: 5000 };
    await this.ask(this.admin, { method: 'PUT', url: '/settings/baremetal.managers', payload: { value } });
    await this.register();
  }

  async ask(secret: string, { url, ...request }: InjectOptions & { readonly url: string }): Promise<Answered> {
    const answer = await this.server.call(secret, { ...request, url: `/api/v1${url}` });
    return { status: answer.statusCode, body: answer.json(), headers: answer.headers };
  }

  async addNodes(nodes: Readonly<Record<string, Partial<Node>>>): Promise<void> {
    await this.server.commit(...Object.entries(nodes).map(([id, facts]) => putNode(id, facts)));
  }

  /** For instance `i1` by manager `m1`, by an operator, unless said otherwise. */
  reserve(fields: object = {}, secret = this.operator): Promise<Answered> {
    const payload = { instance_uuid: 'i1', manager: 'm1', ...fields };
    return this.ask(secret, { method: 'POST', url: '/reservations', payload });
  }

  release(instance = 'i1', secret = this.operator): Promise<Answered> {
    return this.ask(secret, { method: 'DELETE', url: `/reservations/${instance}` });
  }

  async show(instance = 'i1'): Promise<Answered> {
    return this.ask(this.operator, { url: `/reservations/${instance}` });
  }

  async armFault(fault: object): Promise<void> {
    const payload = { delayMs: 0, times: 1, ...fault };
    const armed = await this.ask(this.admin, { method: 'POST', url: '/simulated-inventory/faults', payload });
    expect(armed.status).toBeLessThan(300);
  }

  /** The calls that machines received, in their order. */
  async calls(): Promise<readonly string[]> {
    const { body } = await this.ask(this.admin, { url: '/simulated-inventory/calls' });
    const items = body['items'] as readonly { op: string; node: string; accepted: boolean }[];
    return items.map(({ op, node, accepted }) => `${op} ${node} ${accepted ? 'accepted' : 'refused'}`);
  }

  node(id: string): Node | undefined {
    return this.server.journal.fleet.get(NODE, idOf(NODE, id))?.doc;
  }

  async until(what: string, holds: () => boolean): Promise<void> {
    const endMs = performance.now() + 15_000;
    while (!holds()) {
      if (performance.now() > endMs) throw new Error(`never: ${what}`);
      await new Promise<void>((resolve) => void setTimeout(resolve, 10));
    }
  }

  isSettled(instance = 'i1'): boolean {
    return this.server.journal.fleet.get(RESERVATION, idOf(RESERVATION, instance))?.doc.state !== 'allocating';
  }

  async close(): Promise<void> {
    this.#over.abort();
    await this.server.close();
    await this.#running;
    expect(this.violations).toEqual([]);
  }
}
