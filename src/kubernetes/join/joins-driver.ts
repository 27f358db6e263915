// The driver `kubernetes-joins`: makes the bootstrap token of an operation, and reaches the machine of a worker to have it join. Secrets are opened here, and are in
// nothing that it answers. It remembers nothing between two orders.
import { SecretMask } from '../../access/index.ts';
import { idOf, type FleetReader, type Reason } from '../../fleet/index.ts';
import type { Clock } from '../../journal/index.ts';
import { damagedReason, type Secrets } from '../../keys/index.ts';
import type { Action, ActionFence, ActionOutcome, Driver } from '../../operations/index.ts';
import {
  ClusterRefused,
  ClusterUnreachable,
  type ClusterCallOptions,
  type ClusterApi,
} from '../cluster-api/cluster-api.ts';
import type { NodeTrouble } from '../drain/node-order.ts';
import type { ClusterApis } from '../drain/nodes-driver.ts';
import type { Reach, ReachAnswer } from '../machines/reach.ts';
import { SimulatedReach } from '../machines/simulated-reach.ts';
import { parseSshCredentials, type SshCredentials } from '../machines/ssh/credentials.ts';
import type { SshMachine } from '../machines/ssh/machine.ts';
import { CLUSTER } from '../model.ts';
import { toJoinOutcome, type JoinOrder, type JoinResult, type MachineAddress } from './join-order.ts';
import { WORKER_JOIN, WORKER_SCRIPT } from './model.ts';

export interface JoinsOptions {
  readonly journal: { readonly fleet: FleetReader };
  readonly clock: Clock;
  readonly apis: ClusterApis;
  readonly secrets: Pick<Secrets, 'unseal'>;
  readonly reachBySsh: (machine: SshMachine) => Reach;
  /** For clusters that name no script of their own. */
  readonly defaultScript: () => string;
}

/** They wait for machines most of the time, and each operation has a limit of its own. */
const ORDERS_AT_ONCE = 100;

export class JoinsDriver implements Driver {
  readonly maxConcurrent = ORDERS_AT_ONCE;
  readonly #options: JoinsOptions;

  constructor(options: JoinsOptions) {
    this.#options = options;
  }

  async carryOut({ args }: Action, { signal }: ActionFence): Promise<ActionOutcome> {
    const order = args as unknown as JoinOrder;
    try {
      return toJoinOutcome(await this.#carryOut(order, { signal }));
    } catch (error) {
      return toJoinOutcome(explainError(order, error));
    }
  }

  async #carryOut(order: JoinOrder, how: ClusterCallOptions): Promise<JoinResult> {
    const api = this.#options.apis.apiOf(order.cluster);
    if (api === undefined) return troubleOf('refused', order, { code: 'unknown-cluster' });
    if ('reason' in api) return troubleOf('away', order, api.reason);
    if (order.op === 'create-token') return this.#createToken(api, order, how);
    const mask = new SecretMask();
    const reach = this.#reachOf(api, order, mask);
    if ('code' in reach) return troubleOf('away', order, reach);
    if (order.op === 'contact') return reach.contact(how);
    if (order.op === 'leave') {
      const { cluster, node } = order;
      return this.#runUntil(order.untilMs, how, (limited) => reach.leave({ cluster, node }, limited));
    }
    const token = this.#openToken(order);
    if ('code' in token) return troubleOf('away', order, token);
    mask.add(token.secret);
    const call = { ...order.settings, token: `${token.id}.${token.secret}` };
    return this.#runUntil(order.untilMs, how, (limited) => reach.join(call, limited));
  }

  /** Its limit is the script's; the operation's own is beyond it. */
  async #runUntil(
    untilMs: number,
    how: ClusterCallOptions,
    run: (how: ClusterCallOptions) => Promise<ReachAnswer>,
  ): Promise<JoinResult> {
    const { clock } = this.#options;
    const limit = new AbortController();
    const ended = new AbortController();
    void clock.sleep(Math.max(0, untilMs - clock.nowMs()), ended.signal).then(() => limit.abort(new JoinTimedOut()));
    try {
      return await run({ signal: AbortSignal.any([how.signal, limit.signal]) });
    } finally {
      ended.abort('ended');
    }
  }

  async #createToken(
    api: ClusterApi,
    order: Extract<JoinOrder, { op: 'create-token' }>,
    how: ClusterCallOptions,
  ): Promise<JoinResult> {
    const token = this.#openToken(order);
    if ('code' in token) return troubleOf('away', order, token);
    const { expiresAtMs, operation } = order;
    await api.createBootstrapToken({ ...token, expiresAtMs, about: `workers that Muster adds (${operation})` }, how);
    return { kind: 'token-created', expiresAtMs };
  }

  #openToken({ operation }: { readonly operation: string }): { readonly id: string; readonly secret: string } | Reason {
    const join = this.#options.journal.fleet.get(WORKER_JOIN, idOf(WORKER_JOIN, operation));
    if (join === undefined) return { code: 'token-awaited' };
    const { id, secret } = join.doc.token;
    const opened = this.#options.secrets.unseal({ kind: WORKER_JOIN.name, id: join.id }, secret);
    return opened.kind === 'failed' ? opened.reason : { id, secret: opened.secret.reveal() };
  }

  #reachOf(
    api: ClusterApi,
    { cluster: name, address }: Extract<JoinOrder, { readonly address: MachineAddress }>,
    mask: SecretMask,
  ): Reach | Reason {
    if (address.kind === 'simulated') return new SimulatedReach(api);
    const { fleet } = this.#options.journal;
    const sealed = fleet.get(CLUSTER, idOf(CLUSTER, name))?.doc.ssh?.credentials;
    if (sealed === undefined) return { code: 'unknown-cluster', cluster: name };
    const owner = { kind: CLUSTER.name, id: name };
    const opened = this.#options.secrets.unseal(owner, sealed);
    if (opened.kind === 'failed') return opened.reason;
    const credentials = parseSshCredentials(opened.secret.reveal());
    if (credentials === undefined) return damagedReason(owner);
    for (const secret of secretsOf(credentials)) mask.add(secret);
    const script = fleet.get(WORKER_SCRIPT, idOf(WORKER_SCRIPT, name))?.doc.text ?? this.#options.defaultScript();
    return this.#options.reachBySsh({ address, credentials, script, mask });
  }
}

/** What the whole of a join is aborted with. */
class JoinTimedOut extends Error {
  readonly code = 'join-timed-out';

  constructor() {
    super('the time for the join is over');
    this.name = 'JoinTimedOut';
  }
}

function secretsOf(credentials: SshCredentials): string[] {
  if (credentials.kind === 'password') return [credentials.password];
  return [credentials.key, ...(credentials.passphrase === undefined ? [] : [credentials.passphrase])];
}

function explainError(order: JoinOrder, error: unknown): JoinResult {
  if (error instanceof JoinTimedOut) return troubleOf('away', order, { code: error.code });
  if (error instanceof ClusterUnreachable)
    return troubleOf('away', order, { code: error.code, text: shorten(error.message) });
  if (!(error instanceof ClusterRefused)) throw error;
  const trouble = error.retryable ? 'server-error' : 'refused';
  return troubleOf(trouble, order, { code: error.code, text: shorten(error.message) });
}

function shorten(text: string): string {
  const TEXT_MAX = 300;
  return text.slice(0, TEXT_MAX);
}

function troubleOf(trouble: NodeTrouble, { cluster, node }: JoinOrder, reason: Reason): JoinResult {
  return { kind: 'trouble', trouble, reason: { ...reason, cluster, node } };
}
