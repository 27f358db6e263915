// The agent's link port: its calls travel as messages to a server's gateway, and so do the answers, or get lost.
import { AGENT_GATEWAY } from '../../src/agent/module.ts';
import type {
  CollectRequest,
  CollectResponse,
  DepositRequest,
  DepositResponse,
  HeartbeatResponse,
  Heartbeat,
  JoinRequest,
  JoinResponse,
  Observations,
  ObservationsResponse,
  View,
  ViewResponse,
  ViewRequest,
} from '../../src/agent/protocol/messages.ts';
import { InProcessLink, type AgentLink as AgentLinkPort } from '../../src/agent/runtime.ts';
import { LinkDown, type Reply, type CallTarget } from '../../src/link/index.ts';
import type { Program } from '../kernel/program.ts';
import type { Incarnation, Server } from './server.ts';
import type { Link } from './link.ts';
import type { World } from './world.ts';

/** An agent's timeout for an answer that should come at once, and for one that the server may hold back. */
const ANSWER_TIMEOUT_MS = 5000;
const VIEW_TIMEOUT_MS = 30_000;
const COLLECT_TIMEOUT_MS = 10_000;

type GatewayReply<A> = { readonly kind: 'reply'; readonly reply: Reply<A> } | { readonly kind: 'down' };

export class SimAgentLink implements AgentLinkPort {
  readonly #world: World;
  readonly #program: Program;
  readonly #link: Link;
  readonly #issued: (view: View) => void;

  constructor(world: World, program: Program, to: { readonly link: Link; readonly issued: (view: View) => void }) {
    this.#world = world;
    this.#program = program;
    this.#link = to.link;
    this.#issued = to.issued;
  }

  isAuthenticated(): boolean {
    return false;
  }

  join(to: CallTarget, join: JoinRequest): Promise<Reply<JoinResponse>> {
    return this.#ask('join', to, (gateway) => gateway.join(to, join));
  }

  heartbeat(to: CallTarget, beat: Heartbeat): Promise<Reply<HeartbeatResponse>> {
    return this.#ask('heartbeat', to, (gateway) => gateway.heartbeat(to, beat));
  }

  async view(to: CallTarget, ask: ViewRequest, signal: AbortSignal): Promise<Reply<ViewResponse>> {
    const never = new AbortController().signal;
    const reply = await this.#ask('view', to, (gateway) => gateway.view(to, ask, never), signal);
    if (reply.kind === 'answer' && reply.answer.kind === 'view') this.#issued(reply.answer.view);
    return reply;
  }

  observe(to: CallTarget, observations: Observations): Promise<Reply<ObservationsResponse>> {
    return this.#ask('observe', to, (gateway) => gateway.observe(to, observations));
  }

  deposit(to: CallTarget, deposit: DepositRequest): Promise<Reply<DepositResponse>> {
    return this.#ask('deposit', to, (gateway) => gateway.deposit(to, deposit));
  }

  collect(to: CallTarget, ask: CollectRequest, signal: AbortSignal): Promise<Reply<CollectResponse>> {
    const never = new AbortController().signal;
    return this.#ask('collect', to, (gateway) => gateway.collect(to, ask, never), signal);
  }

  #ask<A>(
    name: string,
    { server: url }: CallTarget,
    ask: (gateway: InProcessLink) => Promise<Reply<A>>,
    signal?: AbortSignal,
  ): Promise<Reply<A>> {
    return this.#program.call('link', `${name} ${url}`, (reply) => {
      const down = new LinkDown('no answer');
      const patience = reply.fail(timeoutFor(name), down);
      const end = (answer: () => void): void => {
        patience.cancel();
        signal?.removeEventListener('abort', stop);
        answer();
      };
      const stop = (): void => end(() => void reply.fail(0, down));
      signal?.addEventListener('abort', stop, { once: true });
      const message = {
        label: `${name} of ${this.#program.name}`,
        to: this.#link.route(this.#serverAt(url)),
        repeatable: true,
        serve: (life: Incarnation): Promise<GatewayReply<A>> => askGateway(life, ask),
      };
      this.#link.send(message, (arrived) =>
        end(() => void (arrived.kind === 'down' ? reply.fail(0, down) : reply.answer(0, arrived.reply))),
      );
    });
  }

  #serverAt(url: string): Server {
    const server = this.#world.servers.find((one) => one.url === url);
    if (server === undefined) throw new Error(`there is no server at ${url}`);
    return server;
  }
}

function timeoutFor(name: string): number {
  if (name === 'collect') return COLLECT_TIMEOUT_MS;
  return name === 'view' ? VIEW_TIMEOUT_MS : ANSWER_TIMEOUT_MS;
}

async function askGateway<A>(
  life: Incarnation,
  ask: (gateway: InProcessLink) => Promise<Reply<A>>,
): Promise<GatewayReply<A>> {
  try {
    // Until the fleet is loaded, a server does not listen.
    return {
      kind: 'reply',
      reply: await ask(new InProcessLink(() => (life.open ? life.runtime.get(AGENT_GATEWAY) : undefined))),
    };
  } catch (error) {
    if (!(error instanceof LinkDown)) throw error;
    return { kind: 'down' };
  }
}
