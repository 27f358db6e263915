// A process of a manager in a test: the real program, on a link without a network. It can be killed, paused and cut off. A server passes on what only
// the one that decides can answer.
import { hash } from 'node:crypto';
import { NotHolder, StoreUnavailable } from '../../journal/index.ts';
import { LinkDown, type Reply, type CallTarget } from '../../link/index.ts';
import { actOnMachine, readMachine } from '../drivers/simulated/act.ts';
import { SimulatedMachines } from '../drivers/simulated/machine-driver.ts';
import { PauseGate, pausableClock, pausableLink, pausableMachineLink } from '../manager/pause-gate.ts';
import type { ManagerLink } from '../manager/ports.ts';
import { ManagerProgram } from '../manager/program.ts';
import { denyUnlessAwaited } from './awaited-call.ts';
import type { GatewayReply, ManagerCommand, ManagerGateway } from './gateway.ts';
import { SILENT, type ManagedPlane, type PlaneServer } from './managed-plane-fixture.ts';
import { denyUnlessManages } from './right.ts';

interface ManagerProcess {
  /** Those that it dials; all by default. */
  readonly servers?: readonly string[];
  readonly host?: string;
}

export function startManager(plane: ManagedPlane, name: string, { servers, host }: ManagerProcess = {}): TestManager {
  const dialled = servers ?? [...plane.reachable.keys()];
  return new TestManager(plane, {
    name,
    servers: dialled,
    holder: plane.id(name),
    ...(host !== undefined && { host }),
  });
}

const hashText = (text: string): string => hash('sha256', text, 'hex');

/** The calls of a manager, without a network: a server passes on what only the one that decides can answer. */
class PlaneLink implements ManagerLink {
  readonly #plane: ManagedPlane;

  constructor(plane: ManagedPlane) {
    this.#plane = plane;
  }

  #at({ server }: CallTarget): PlaneServer {
    const found = this.#plane.reachable.get(server);
    if (found === undefined) throw new LinkDown(`server "${server}" is away`);
    return found;
  }

  async #atHolder<A>(to: CallTarget, ask: (server: PlaneServer) => Promise<GatewayReply<A>>): Promise<Reply<A>> {
    this.#at(to);
    if (!this.#plane.hasHolder) throw new LinkDown('no server decides');
    return this.#reply(() => ask(this.#plane.holder));
  }

  async #reply<A>(ask: () => Promise<GatewayReply<A>>): Promise<Reply<A>> {
    try {
      const said = await ask();
      if (said.kind === 'answer') return said;
      return { kind: 'refused', code: said.refusal.code, message: said.refusal.message };
    } catch (error) {
      if (error instanceof NotHolder || error instanceof StoreUnavailable) throw new LinkDown(error.message);
      throw error;
    }
  }

  #commit<A>({ journal }: PlaneServer, by: string, command: ManagerCommand<A>): Promise<GatewayReply<A>> {
    return journal.submit({ by, ...command }).then((outcome) => {
      if (outcome.kind === 'accepted') return { kind: 'answer', answer: outcome.answer };
      return { kind: 'refused', refusal: outcome.refusal };
    });
  }

  #caller({ journal }: PlaneServer, manager: string) {
    const submit: Parameters<ManagerGateway['register']>[0]['submit'] = (request) =>
      journal.submit({ ...request, by: manager });
    return { manager, by: manager, submit };
  }

  register: ManagerLink['register'] = (to, manager, request) =>
    this.#atHolder(to, (server) => server.gateway.register(this.#caller(server, manager), request));
  renew: ManagerLink['renew'] = async (to, manager, request) => {
    const { gateway } = this.#at(to);
    return this.#reply(() => gateway.renew(manager, request));
  };
  release: ManagerLink['release'] = (to, manager, request) =>
    this.#atHolder(to, (server) => server.gateway.release(this.#caller(server, manager), request));
  acquire: ManagerLink['acquire'] = (to, manager, request) =>
    this.#atHolder(to, (server) =>
      this.#commit(server, manager, server.gateway.acquire({ manager, by: manager }, request)),
    );
  tasks: ManagerLink['tasks'] = (to, manager, query, signal) =>
    this.#atHolder(to, ({ gateway }) => gateway.tasks(manager, query, { hash: hashText, closing: signal }));
  answer: ManagerLink['answer'] = (to, manager, request) =>
    this.#atHolder(to, (server) => this.#commit(server, manager, server.gateway.answer(manager, request)));
  reserve: ManagerLink['reserve'] = async () => {
    throw new LinkDown('nothing is reserved here');
  };
}

interface TestManagerOptions {
  readonly name: string;
  readonly servers: readonly string[];
  readonly holder: string;
  readonly host?: string;
}

/** One process of a manager. */
export class TestManager {
  readonly name: string;
  readonly program: ManagerProgram;
  readonly holder: string;
  readonly #plane: ManagedPlane;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;
  /** Closed for ever once it is killed. */
  readonly #gate = new PauseGate();
  #isKilled = false;
  #isCut = false;
  /** How many of its next acquisitions are refused. */
  acquisitionsRefused = 0;

  constructor(plane: ManagedPlane, options: TestManagerOptions) {
    this.#plane = plane;
    this.name = options.name;
    this.holder = options.holder;
    const link = pausableLink(this.#cuttable(new PlaneLink(plane)), this.#gate);
    const clock = pausableClock(plane.clock, this.#gate);
    const machines = new SimulatedMachines({ clock, link: pausableMachineLink(this.#machineLink(), this.#gate) });
    const ports = { link, clock, random: () => 0.5, log: SILENT, drivers: new Map([['simulated' as const, machines]]) };
    const more = { version: '1.0.0', token: () => 'token' };
    this.program = new ManagerProgram(ports, { ...options, ...more });
    this.#ended = this.program.run(this.#stopping.signal);
  }

  #cuttable(link: PlaneLink): ManagerLink {
    const call =
      <R extends unknown[], A>(one: (...args: R) => Promise<A>) =>
      async (...args: R): Promise<A> => {
        if (this.#isCut) throw new LinkDown('cut off');
        return one(...args);
      };
    const { register, renew, release, tasks, answer, reserve } = link;
    const acquire: ManagerLink['acquire'] = async (...args) => {
      if (this.acquisitionsRefused === 0) return link.acquire(...args);
      this.acquisitionsRefused -= 1;
      return { kind: 'refused', code: 'fenced', message: 'refused once' };
    };
    return {
      ...{ register: call(register), renew: call(renew), release: call(release), acquire: call(acquire) },
      ...{ tasks: call(tasks), answer: call(answer), reserve: call(reserve) },
    };
  }

  #machineLink(): ConstructorParameters<typeof SimulatedMachines>[0]['link'] {
    const plane = this.#plane;
    return {
      act: async (call) => {
        if (this.#isCut || !plane.hasHolder) return { kind: 'away' };
        const isLeaseLive = plane.holder.leases.isLive;
        const command = { call, note: plane.id('call'), nowMs: plane.clock.nowMs() };
        const deny: Parameters<typeof actOnMachine>[2] = (fleet) =>
          denyUnlessManages(fleet, { ...call, isLeaseLive }) ?? denyUnlessAwaited(fleet, plane.kinds, call);
        const said = await plane.submit((fleet) => actOnMachine(fleet, command, deny));
        if (said.kind === 'lost') return { kind: 'away' };
        if (said.kind === 'outcome') return said;
        return { kind: 'refused', code: said.refusal.code, message: said.refusal.message };
      },
      inspect: async (id) => {
        if (this.#isCut || !plane.hasHolder) return undefined;
        return readMachine(plane.fleet, id, plane.clock.nowMs());
      },
    };
  }

  /** Nothing moves any more, as with SIGSTOP. */
  pause(): void {
    this.#gate.pause();
  }

  resume(): void {
    if (!this.#isKilled) this.#gate.resume();
  }

  /** As with SIGKILL. */
  kill(): void {
    this.#isKilled = true;
    this.#gate.pause();
  }

  cut(): void {
    this.#isCut = true;
  }

  heal(): void {
    this.#isCut = false;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    let hasEnded = false;
    const wait = async (): Promise<void> => {
      await this.#ended;
      hasEnded = true;
    };
    void wait();
    await this.#plane.clock.until(`manager ${this.name} has stopped`, () => hasEnded);
  }
}
