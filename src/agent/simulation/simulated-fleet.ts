// A fleet of simulated hosts beside the server they belong to: registered by host-join like any host, joined with join tokens like any
// agent. For the demo, and for benchmarks with many hosts.
import { createToken, isExpired, newSecret, TOKEN, type TokenId } from '../../access/index.ts';
import { idOf, type Refusal } from '../../fleet/index.ts';
import { findHost, JOIN_DEADLINE_MS, joinHosts, type HostSpec } from '../../hosts/index.ts';
import { NotHolder, StoreUnavailable, type Ids, type Journal } from '../../journal/index.ts';
import { OPERATION, type OperationId } from '../../operations/index.ts';
import { SimulatedAgents, type SimulatedAgentsOptions } from './simulated-agents.ts';

export interface SimulatedFleetOptions extends Omit<SimulatedAgentsOptions, 'joinToken'> {
  readonly journal: Journal;
  readonly ids: Ids;
  /** SHA-256 as hexadecimal text. */
  readonly hash: (text: string) => string;
  /** The author in the history. */
  readonly by: string;
}

/** An agent joins at once or not at all. */
const JOIN_TOKEN_MS = 3600 * 1000;

export class SimulatedFleet {
  readonly agents: SimulatedAgents;
  readonly #options: SimulatedFleetOptions;
  readonly #made = new Map<string, { readonly id: TokenId; readonly secret: string }>();

  constructor(options: SimulatedFleetOptions) {
    this.#options = options;
    this.agents = new SimulatedAgents({ ...options, joinToken: (host) => this.#joinToken(host) });
  }

  /** Registers hosts, starts the operation that brings them into service, and starts their agents. */
  async join(
    hosts: readonly HostSpec[],
    options: { readonly why?: string; readonly deadlineMs?: number } = {},
  ): Promise<OperationId | Refusal> {
    const { journal, clock, ids, by } = this.#options;
    const { why, deadlineMs = JOIN_DEADLINE_MS } = options;
    const operation = idOf(OPERATION, ids.next('op'));
    const command = { hosts, operation, deadlineMs, by, nowMs: clock.nowMs(), ...(why !== undefined && { why }) };
    const outcome = await journal.submit({ by, operation, decide: (fleet) => joinHosts(fleet, command) });
    if (outcome.kind === 'refused') return outcome.refusal;
    for (const { name } of hosts) this.agents.start(name);
    return operation;
  }

  /** The previous token, while it is still valid for an agent; else a new one. */
  async #joinToken(host: string): Promise<string | undefined> {
    if (!this.#isWanted(host)) return undefined;
    const made = this.#made.get(host);
    if (made !== undefined && this.#isGood(made.id, host)) return made.secret;
    try {
      return await this.#newJoinToken(host);
    } catch (error) {
      if (!(error instanceof NotHolder) && !(error instanceof StoreUnavailable)) throw error;
      this.#options.log.warn({ host, code: error.code }, 'no join token can be made now; the agent retries');
      return undefined;
    }
  }

  /** A host that leaves, or has left, is not brought back because its machine still runs. */
  #isWanted(host: string): boolean {
    const doc = findHost(this.#options.journal.fleet, host)?.doc;
    return doc !== undefined && doc.state !== 'removed' && doc.leaving === undefined;
  }

  #isGood(id: TokenId, host: string): boolean {
    const { journal, clock } = this.#options;
    const token = journal.fleet.get(TOKEN, id)?.doc;
    if (token === undefined || token.revoked !== undefined || isExpired(token, clock.nowMs())) return false;
    return token.consumed === undefined || token.consumed.token === findHost(journal.fleet, host)?.doc.credential;
  }

  async #newJoinToken(host: string): Promise<string> {
    const { journal, clock, ids, hash, by } = this.#options;
    const made = newSecret({ ids, hash });
    const nowMs = clock.nowMs();
    const token = {
      id: made.id,
      name: `join/${host}`,
      role: 'join' as const,
      host,
      hash: made.hash,
      createdAtMs: nowMs,
      createdBy: by,
      expiresAtMs: nowMs + JOIN_TOKEN_MS,
    };
    await journal.submit({ by, why: `join token for ${host}`, decide: (fleet) => createToken(fleet, token) });
    this.#made.set(host, made);
    return made.secret;
  }
}
