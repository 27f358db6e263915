// Drives simulated machines, from wherever a manager runs: calls go to the server that decides, which checks the manager's right to them. It acts, and
// waits until the machine is done. A call whose answer was lost is repeated: the machine has carried it out already, or does so now.
import type { Clock } from '../../../journal/index.ts';
import {
  MACHINE_NOT_OURS,
  requireRight,
  type InventoryCallOptions,
  type MachineAction,
  type MachineCall,
  type MachineDriver,
  type MachineOutcome,
  type MachineStatus,
  type NodeFence,
} from '../inventory.ts';

export type MachineReply =
  | { readonly kind: 'outcome'; readonly outcome: MachineOutcome }
  /** The control plane does not let this manager do it. */
  | { readonly kind: 'refused'; readonly code: string; readonly message: string }
  /** No answer: it may have been carried out. */
  | { readonly kind: 'away'; readonly retryAfterMs?: number };

/** The way of a manager to the simulated machines. */
export interface MachineLink {
  act(call: MachineCall, how: InventoryCallOptions): Promise<MachineReply>;
  /** Undefined when there is no answer. */
  inspect(node: string, how: InventoryCallOptions): Promise<MachineStatus | undefined>;
}

export interface SimulatedMachinesOptions {
  readonly link: MachineLink;
  readonly clock: Clock;
}

/** Between two looks at a machine that is at work, and before a call is repeated. */
const LOOK_MS = 500;

interface LongAction {
  readonly during: MachineStatus['state'];
  readonly after: MachineStatus['state'];
  /** The code of the reason when it fails. */
  readonly failed: string;
}

/** What a machine is while it carries out an action, and once it is done. Other actions are done when they are answered. */
const LONG_ACTIONS: Readonly<Partial<Record<MachineAction, LongAction>>> = {
  deploy: { during: 'deploying', after: 'deployed', failed: 'deploy-failed' },
  clean: { during: 'cleaning', after: 'empty', failed: 'clean-failed' },
};

export class SimulatedMachines implements MachineDriver {
  readonly name = 'simulated';
  readonly #options: SimulatedMachinesOptions;

  constructor(options: SimulatedMachinesOptions) {
    this.#options = options;
  }

  async inspect({ node }: NodeFence, how: InventoryCallOptions): Promise<MachineStatus> {
    const { link, clock } = this.#options;
    for (;;) {
      const status = await link.inspect(node, how);
      if (status !== undefined) return status;
      how.signal.throwIfAborted();
      await clock.sleep(LOOK_MS, how.signal);
    }
  }

  async carryOut(call: MachineCall, how: InventoryCallOptions): Promise<MachineOutcome> {
    const { link, clock } = this.#options;
    for (;;) {
      requireRight(how);
      const reply = await link.act(call, how);
      switch (reply.kind) {
        case 'refused':
          if (reply.code === 'fenced') return { kind: 'stale' };
          return { kind: 'failed', reason: { code: reply.code, node: call.node, message: reply.message } };
        case 'outcome':
          return this.#waitUntilDone(call, reply.outcome, how);
        case 'away':
          await clock.sleep(reply.retryAfterMs ?? LOOK_MS, how.signal);
          how.signal.throwIfAborted();
      }
    }
  }

  async #waitUntilDone(call: MachineCall, outcome: MachineOutcome, how: InventoryCallOptions): Promise<MachineOutcome> {
    const { clock } = this.#options;
    if (outcome.kind === 'stale') return notOurs(call);
    if (outcome.kind === 'failed') return outcome;
    const long = LONG_ACTIONS[call.action];
    const takesMs = Number(outcome.facts?.['takesMs'] ?? 0);
    if (long === undefined) {
      if (takesMs > 0) await clock.sleep(takesMs, how.signal);
      how.signal.throwIfAborted();
      return { kind: outcome.kind };
    }
    for (;;) {
      const { state, instance } = await this.inspect(call, how);
      if (state === long.after) return { kind: outcome.kind };
      if (state === 'failed') return { kind: 'failed', reason: { code: long.failed, node: call.node } };
      // Another instance has it meanwhile.
      if (state !== long.during || instance !== call.instance) return notOurs(call);
      how.signal.throwIfAborted();
      await clock.sleep(LOOK_MS, how.signal);
      how.signal.throwIfAborted();
    }
  }
}

function notOurs({ node, instance }: NodeFence): MachineOutcome {
  const message = `The machine of node "${node}" does nothing for instance "${instance}": it has another one, or was called under a later epoch.`;
  return { kind: 'stale', reason: { code: MACHINE_NOT_OURS, node, instance, message } };
}
