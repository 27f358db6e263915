// The ways of a manager to the control plane and to simulated machines: its calls travel as messages to a server, which passes on what only the one that
// decides can answer.
import { MANAGER_GATEWAY } from '../../../src/baremetal/service-keys.ts';
import type { InventoryCallOptions, MachineCall, MachineStatus } from '../../../src/baremetal/drivers/inventory.ts';
import type { MachineLink, MachineReply } from '../../../src/baremetal/drivers/simulated/machine-driver.ts';
import type { ManagerLink } from '../../../src/baremetal/manager/ports.ts';
import { TASKS_WAIT_MAX_MS } from '../../../src/baremetal/managers/messages.ts';
import { LinkDown, type LeaderClient, type Reply, type CallTarget } from '../../../src/link/index.ts';
import type { Program } from '../../kernel/program.ts';
import type { Link } from '../link.ts';
import { sha256 } from '../parts.ts';
import type { Incarnation, Server } from '../server.ts';
import type { World } from '../world.ts';
import { areMachinesBlind } from './inventory-port.ts';
import {
  actFor,
  callerOf,
  commitFor,
  DOWN,
  fromGateway,
  inspectFor,
  reserveFor,
  serveCall,
  writerOf,
  type Served,
} from './manager-routes.ts';

/** A manager's timeouts, as in the program. */
const TIMEOUT_MS = 3000;
const LONG_TIMEOUT_MS = 15_000;
const TASKS_TIMEOUT_MS = TASKS_WAIT_MAX_MS + 5000;
const MACHINE_TIMEOUT_MS = 5000;

type Serve<A> = (life: Incarnation) => Promise<Served<A>>;

interface CallPlan<A> {
  readonly name: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** At the server that decides; else at the one that is called. */
  readonly atHolder: boolean;
  /** One that comes again later would undo what was requested since: nothing keeps it from a machine that compares no epochs. */
  readonly isToBlindMachine?: boolean;
  readonly serve: Serve<A>;
}

export interface ManagerPath {
  readonly world: World;
  readonly program: Program;
  /** From the manager to servers. */
  readonly link: Link;
  /** Between servers. */
  readonly between: Link;
}

export class SimManagerCalls {
  readonly #path: ManagerPath;

  constructor(path: ManagerPath) {
    this.#path = path;
  }

  /** Rejects with `LinkDown` when nothing usable came back. */
  call<A>({ server: url }: CallTarget, plan: CallPlan<A>): Promise<Reply<A>> {
    const { world, program, link } = this.#path;
    const { name, timeoutMs = TIMEOUT_MS, signal, atHolder, isToBlindMachine, serve } = plan;
    return program.call('link', `${name} ${url}`, (reply) => {
      const patience = reply.fail(timeoutMs, new LinkDown('no answer'));
      const end = (answer: () => void): void => {
        patience.cancel();
        signal?.removeEventListener('abort', stop);
        answer();
      };
      const stop = (): void => end(() => void reply.fail(0, new LinkDown('ended')));
      if (signal?.aborted === true) return stop();
      signal?.addEventListener('abort', stop, { once: true });
      const message = {
        label: `${name} of ${program.name}`,
        to: link.route(serverAt(world, url)),
        repeatable: true,
        mayBeLate: isToBlindMachine !== true,
        serve: (life: Incarnation) => serveCall(life, (at) => (atHolder ? this.#passOn(at, name, serve) : serve(at))),
      };
      link.send(message, (said) =>
        end(() => void (said.kind === 'down' ? reply.fail(0, downFor(said)) : reply.answer(0, said.reply))),
      );
    });
  }

  #passOn<A>(life: Incarnation, name: string, serve: Serve<A>): Promise<Served<A>> {
    const { world, between } = this.#path;
    if (life.journal.fence !== undefined) return serve(life);
    const holder = world.servers.find(
      ({ incarnation }) => incarnation !== life && incarnation?.journal.fence !== undefined,
    );
    if (holder === undefined) return Promise.resolve(DOWN);
    return life.program.call<Served<A>>('link', `pass on ${name} to ${holder.name}`, (reply) => {
      const patience = reply.answer(TASKS_TIMEOUT_MS, DOWN);
      const message = {
        label: `${name} passed on by ${life.program.name}`,
        to: holder,
        repeatable: true,
        serve: (there: Incarnation) => serveCall(there, serve),
      };
      between.send(message, (said) => {
        patience.cancel();
        reply.answer(0, said);
      });
    });
  }
}

function downFor({ retryAfterMs }: Extract<Served<never>, { kind: 'down' }>): LinkDown {
  return new LinkDown('no answer', { retryAfterMs });
}

function serverAt({ servers }: World, url: string): Server {
  const server = servers.find((one) => one.url === url);
  if (server === undefined) throw new Error(`there is no server at ${url}`);
  return server;
}

export function simManagerLink(calls: SimManagerCalls, world: World): ManagerLink {
  const never = new AbortController().signal;
  return {
    register: (to, manager, request) =>
      calls.call(to, {
        ...{ name: 'register', atHolder: true },
        serve: async (life) =>
          fromGateway(await life.runtime.get(MANAGER_GATEWAY).register(callerOf(life, manager), request)),
      }),
    renew: (to, manager, request) =>
      calls.call(to, {
        ...{ name: 'renew', atHolder: false },
        serve: async (life) => fromGateway(await life.runtime.get(MANAGER_GATEWAY).renew(manager, request)),
      }),
    release: (to, manager, request) =>
      calls.call(to, {
        ...{ name: 'release', atHolder: true },
        serve: async (life) =>
          fromGateway(await life.runtime.get(MANAGER_GATEWAY).release(callerOf(life, manager), request)),
      }),
    acquire: (to, manager, request) =>
      calls.call(to, {
        ...{ name: 'acquire', atHolder: true, timeoutMs: LONG_TIMEOUT_MS },
        serve: (life) =>
          commitFor(
            life,
            manager,
            life.runtime.get(MANAGER_GATEWAY).acquire({ manager, by: writerOf(manager) }, request),
          ),
      }),
    tasks: (to, manager, query, signal) =>
      calls.call(to, {
        ...{ name: 'tasks', atHolder: true, timeoutMs: TASKS_TIMEOUT_MS, signal },
        serve: async (life) =>
          fromGateway(await life.runtime.get(MANAGER_GATEWAY).tasks(manager, query, { hash: sha256, closing: never })),
      }),
    answer: (to, manager, request) =>
      calls.call(to, {
        ...{ name: 'answer', atHolder: true },
        serve: (life) => commitFor(life, manager, life.runtime.get(MANAGER_GATEWAY).answer(manager, request)),
      }),
    reserve: (to, request) =>
      calls.call(to, {
        ...{ name: 'reserve', atHolder: true, timeoutMs: LONG_TIMEOUT_MS },
        serve: (life) => reserveFor(world, life, { body: request, by: writerOf(String(request['manager'])) }),
      }),
  };
}

export function actPlan(world: World, call: MachineCall): CallPlan<MachineReply> {
  const { nowMs: sentAtMs } = world.scheduler;
  const isToBlindMachine = areMachinesBlind(world);
  return {
    ...{ name: call.action, atHolder: true, timeoutMs: MACHINE_TIMEOUT_MS, isToBlindMachine },
    serve: (life) => actFor(world, life, { ...call, sentAtMs }),
  };
}

/** Whose link it is: what is done with machines is noted there. */
interface LookingManager {
  remember(call: MachineCall): void;
  noteLook(): void;
}

interface SimMachineLinkParts {
  readonly calls: SimManagerCalls;
  readonly leader: LeaderClient;
  readonly world: World;
  readonly manager: LookingManager;
}

/** The way to simulated machines, which the server that decides has. */
export class SimMachineLink implements MachineLink {
  readonly #calls: SimManagerCalls;
  readonly #leader: LeaderClient;
  readonly #world: World;
  readonly #manager: LookingManager;

  constructor({ calls, leader, world, manager }: SimMachineLinkParts) {
    this.#calls = calls;
    this.#leader = leader;
    this.#world = world;
    this.#manager = manager;
  }

  async act(call: MachineCall, { signal }: InventoryCallOptions): Promise<MachineReply> {
    this.#manager.remember(call);
    const said = await this.#leader.call(
      'token',
      (to) => this.#calls.call(to, { ...actPlan(this.#world, call), signal }),
      signal,
    );
    if (said.kind === 'answer') return said.answer;
    return said.kind === 'refused' ? { kind: 'refused', code: said.code, message: said.message } : { kind: 'away' };
  }

  async inspect(node: string, { signal }: InventoryCallOptions): Promise<MachineStatus | undefined> {
    this.#manager.noteLook();
    const said = await this.#leader.call(
      'token',
      (to) =>
        this.#calls.call(to, {
          ...{ name: `inspect ${node}`, atHolder: true, timeoutMs: MACHINE_TIMEOUT_MS, signal },
          serve: (life) => inspectFor(life, node),
        }),
      signal,
    );
    return said.kind === 'answer' ? said.answer : undefined;
  }
}
