// A link without a network: the agent's calls go to gateways in the same process. For the demo and for fleets of simulated hosts;
// authentication and refusals are those of the real link.
import { StoreUnavailable } from '../../journal/index.ts';
import type { AgentIdentity } from './admission.ts';
import type { AgentGateway } from './agent-gateway.ts';
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
  ViewResponse,
  ViewRequest,
} from '../protocol/messages.ts';
import type { AgentLink } from '../node/ports.ts';
import { LinkDown, type Reply, type CallTarget } from '../../link/index.ts';

export class InProcessLink implements AgentLink {
  readonly #gatewayAt: (server: string) => AgentGateway | undefined;

  /** `gatewayAt` finds the gateway of a server by its address; undefined while the server is away. */
  constructor(gatewayAt: (server: string) => AgentGateway | undefined) {
    this.#gatewayAt = gatewayAt;
  }

  /** Being in the same process is no authentication: here, too, the signature counts. */
  isAuthenticated(): boolean {
    return false;
  }

  async join(to: CallTarget, join: JoinRequest): Promise<Reply<JoinResponse>> {
    return this.#mapStoreFailure(() => this.#gateway(to).join(to.secret, join));
  }

  async heartbeat(to: CallTarget, beat: Heartbeat): Promise<Reply<HeartbeatResponse>> {
    return this.#callAsAgent(to, (gateway, identity) => gateway.heartbeat(identity, beat));
  }

  async view(to: CallTarget, request: ViewRequest, signal: AbortSignal): Promise<Reply<ViewResponse>> {
    return this.#rejectOnAbort(signal, () =>
      this.#callAsAgent(to, (gateway, identity) => gateway.view(identity, request)),
    );
  }

  async deposit(to: CallTarget, deposit: DepositRequest): Promise<Reply<DepositResponse>> {
    return this.#callAsAgent(to, (gateway, identity) => gateway.deposit(identity, deposit));
  }

  async collect(to: CallTarget, request: CollectRequest, signal: AbortSignal): Promise<Reply<CollectResponse>> {
    return this.#rejectOnAbort(signal, () =>
      this.#callAsAgent(to, (gateway, identity) => gateway.collect(identity, request)),
    );
  }

  async #rejectOnAbort<A>(signal: AbortSignal, request: () => Promise<A>): Promise<A> {
    if (signal.aborted) throw new LinkDown('the agent stops');
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const stop = (): void => reject(new LinkDown('the agent stops'));
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await Promise.race([aborted, request()]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  async observe(to: CallTarget, observations: Observations): Promise<Reply<ObservationsResponse>> {
    return this.#callAsAgent(to, (gateway, identity) => gateway.observe(identity, observations));
  }

  async #callAsAgent<A>(
    to: CallTarget,
    request: (gateway: AgentGateway, identity: AgentIdentity) => Reply<A> | Promise<Reply<A>>,
  ): Promise<Reply<A>> {
    return this.#mapStoreFailure(async () => {
      const gateway = this.#gateway(to);
      const found = gateway.authenticate(to.secret, 'agent');
      return found.kind === 'answer' ? request(gateway, found.answer) : found;
    });
  }

  #gateway({ server }: CallTarget): AgentGateway {
    const gateway = this.#gatewayAt(server);
    if (gateway === undefined) throw new LinkDown(`server "${server}" is away`);
    return gateway;
  }

  /** A store that does not answer the server is a server that does not answer the agent. */
  async #mapStoreFailure<A>(request: () => Promise<A>): Promise<A> {
    try {
      return await request();
    } catch (error) {
      if (error instanceof StoreUnavailable) throw new LinkDown(error.message, { cause: error });
      throw error;
    }
  }
}
