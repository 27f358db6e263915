// The simulated inventory, at the server that decides: its claims are commits of their own, as a call to a real one has an effect of its own.
import { idOf, valueOf, type FleetReader } from '../../../fleet/index.ts';
import { accept, isJournalAway, type Clock, type Decision, type Ids, type Journal } from '../../../journal/index.ts';
import { NODE } from '../../model.ts';
import {
  InventoryUnavailable,
  type InventoryCallOptions,
  type ClaimOutcome,
  type ClaimRequest,
  type ClaimsPage,
  type Inventory,
  type InventoryClaim,
  type InventoryNode,
  type InventoryPage,
  type NodeFence,
} from '../inventory.ts';
import { claimMachine, describeMachine, listClaimed, listMachines, type ClaimAnswer } from './claims.ts';
import { triggerFault, triggerGone, type FaultyCall } from './faults.ts';
import type { MachineFault } from './model.ts';
import { SIMULATED_INVENTORY } from './settings.ts';

const BY = 'simulated-inventory';
const NONE: ReadonlySet<string> = new Set();

export interface SimulatedInventoryOptions {
  readonly journal: Pick<Journal, 'fleet' | 'submit'>;
  readonly clock: Clock;
  readonly ids: Ids;
}

export class SimulatedInventory implements Inventory {
  readonly name = 'simulated';
  readonly #options: SimulatedInventoryOptions;

  constructor(options: SimulatedInventoryOptions) {
    this.#options = options;
  }

  async claims(): Promise<'inline' | 'endpoint' | 'direct'> {
    return valueOf(this.#options.journal.fleet, SIMULATED_INVENTORY).claims;
  }

  async list(after: string | undefined, limit: number, how: InventoryCallOptions): Promise<InventoryPage> {
    const fault = await this.#applyFault({ op: 'list', node: after, isPage: true }, how);
    const { journal, clock } = this.#options;
    const page = listMachines(journal.fleet, { after, limit, nowMs: clock.nowMs() });
    const gone = await this.#findGone(page.nodes);
    const known = gone.size === 0 ? page.nodes : page.nodes.filter(({ id }) => !gone.has(id));
    return { ...page, nodes: fault?.outcome === 'partial' ? known.slice(0, known.length / 2) : known };
  }

  /** It is described by the nodes themselves: a list costs no more than what changed would. */
  async listChanges(): Promise<undefined> {
    return undefined;
  }

  async listClaims(after: string | undefined, limit: number, how: InventoryCallOptions): Promise<ClaimsPage> {
    await this.#applyFault({ op: 'list', node: after, isPage: true }, how);
    const { journal, clock } = this.#options;
    return listClaimed(journal.fleet, { after, limit, nowMs: clock.nowMs() });
  }

  claimIdOf({ instance }: InventoryClaim): string {
    return instance;
  }

  async find(node: string, how: InventoryCallOptions): Promise<InventoryNode | 'gone'> {
    const fault = await this.#applyFault({ op: 'list', node }, how);
    const { journal, clock } = this.#options;
    const doc = journal.fleet.get(NODE, idOf(NODE, node))?.doc;
    if (fault?.outcome === 'gone' || doc?.inventory !== 'simulated' || doc.state === 'removed') return 'gone';
    return describeMachine(journal.fleet, node, doc, clock.nowMs());
  }

  async claim({ node, nodeEpoch, instance }: ClaimRequest, how: InventoryCallOptions): Promise<ClaimOutcome> {
    return this.#decide('claim', { node, nodeEpoch, instance }, how);
  }

  async unclaim(fence: NodeFence, how: InventoryCallOptions): Promise<ClaimOutcome> {
    return this.#decide('unclaim', fence, how);
  }

  async #decide(op: 'claim' | 'unclaim', fence: NodeFence, { signal }: InventoryCallOptions): Promise<ClaimOutcome> {
    const { clock, ids } = this.#options;
    const command = { op, fence, note: ids.next('call'), nowMs: clock.nowMs() };
    const answer = await this.#submit<ClaimAnswer>((fleet) => claimMachine(fleet, command));
    if (answer?.kind !== 'hang') return answer ?? unreachable(fence.node);
    await waitUntilAborted(signal);
    return unreachable(fence.node);
  }

  /** Of a list, the page after a node; the first page is after none. */
  async #applyFault(call: FaultyCall, { signal }: InventoryCallOptions): Promise<MachineFault | undefined> {
    const { journal, clock } = this.#options;
    if (triggerFault(journal.fleet, call).fault === undefined) return undefined;
    const fault = await this.#submit((fleet): Decision<MachineFault | undefined> => {
      const triggered = triggerFault(fleet, call);
      return accept(triggered.changes, triggered.fault);
    });
    if (fault === undefined) return undefined;
    await clock.sleep(fault.delayMs, signal);
    if (fault.outcome === 'hang') await waitUntilAborted(signal);
    if (fault.outcome === 'hang' || fault.outcome === 'unavailable')
      throw new InventoryUnavailable('the simulated inventory does not answer, as it was armed');
    return fault;
  }

  async #findGone(nodes: readonly InventoryNode[]): Promise<ReadonlySet<string>> {
    const { fleet } = this.#options.journal;
    const ids = new Set(nodes.map(({ id }) => id));
    if (triggerGone(fleet, ids).gone.size === 0) return NONE;
    return (
      (await this.#submit((at) => {
        const { gone, changes } = triggerGone(at, ids);
        return accept(changes, gone);
      })) ?? NONE
    );
  }

  /** Undefined when nothing could be decided: whether it was carried out is not known. */
  async #submit<A>(decide: (fleet: FleetReader) => Decision<A>): Promise<A | undefined> {
    try {
      const outcome = await this.#options.journal.submit({ by: BY, decide });
      return outcome.kind === 'accepted' ? outcome.answer : undefined;
    } catch (error) {
      if (!isJournalAway(error)) throw error;
      return undefined;
    }
  }
}

function unreachable(node: string): ClaimOutcome {
  return { kind: 'failed', reason: { code: 'inventory-unreachable', inventory: 'simulated', node } };
}

function waitUntilAborted(signal: AbortSignal): Promise<undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  if (signal.aborted) resolve(undefined);
  signal.addEventListener('abort', () => resolve(undefined), { once: true });
  return promise;
}
