// Faults that can be armed in the simulated back end: which call fails, how, and how often. The oldest that matches a call applies, so that a
// test reads in the order in which it was written.
import { PORT_OUTCOMES, type PortOutcome } from '../back-end.ts';
import { accept, refuse, type Decision } from '../../../journal/index.ts';

/**
 * `bind` also covers adding a second binding, `unbind` deleting it; `activate` makes it the active one. `plug`: the event about a bound
 * port.
 */
export const SIMULATED_OPS = ['create', 'bind', 'activate', 'plug', 'unbind', 'delete', 'spawn'] as const;
export type SimulatedOp = (typeof SIMULATED_OPS)[number];

const PLUG_OUTCOMES = ['plug-failed', 'unplugged'] as const;
const SPAWN_OUTCOMES = ['spawn-failed', 'resources-gone', 'bad-image'] as const;

/**
 * `ok`: only the delay. `hang`: nothing happens and no answer comes. `applied-but-lost`: it is carried out and the answer is lost. The others
 * are answers without effect; but `binding-failed` answers with success and a port that is not connected. For `plug`: `hang` sends no event,
 * `plug-failed` and `unplugged` send that one.
 */
export const FAULT_OUTCOMES = [
  ...PORT_OUTCOMES,
  'hang',
  'applied-but-lost',
  ...PLUG_OUTCOMES,
  ...SPAWN_OUTCOMES,
] as const;
export type OrderFaultOutcome = (typeof FAULT_OUTCOMES)[number];

export interface NewFault {
  readonly op: SimulatedOp;
  readonly host?: string;
  readonly segment?: string;
  readonly nic?: number;
  readonly outcome: OrderFaultOutcome;
  readonly delayMs?: number;
  /** How many calls it applies to; 1 by default. */
  readonly times?: number;
}

export interface ArmedFault extends NewFault {
  readonly id: number;
  readonly delayMs: number;
  /** How many more calls it applies to. */
  readonly times: number;
}

/** The subject of a call; a fault matches when it names nothing else. */
export interface FaultSite {
  readonly op: SimulatedOp;
  readonly host?: string | undefined;
  readonly segment?: string | undefined;
  readonly nic?: number | undefined;
}

/** More is a script that forgot to disarm. */
const FAULTS_MAX = 100;

const RELEASE_OUTCOMES: readonly PortOutcome[] = ['ok', 'not-found', 'forbidden', 'unavailable'];
const LOST = ['hang', 'applied-but-lost'] as const;

/** The possible outcomes of each kind of call. */
const OUTCOMES_BY_OP: Readonly<Record<SimulatedOp, readonly OrderFaultOutcome[]>> = {
  create: ['ok', 'pool-empty', 'not-found', 'taken', 'quota', 'forbidden', 'unavailable', ...LOST],
  bind: [...PORT_OUTCOMES.filter((outcome) => outcome !== 'quota'), ...LOST],
  activate: [...PORT_OUTCOMES.filter((outcome) => outcome !== 'quota'), ...LOST],
  plug: ['ok', 'hang', ...PLUG_OUTCOMES],
  unbind: [...RELEASE_OUTCOMES, ...LOST],
  delete: [...RELEASE_OUTCOMES, ...LOST],
  spawn: ['ok', 'hang', ...SPAWN_OUTCOMES],
};

export class SimulatedFaults {
  #armed: ArmedFault[] = [];
  #lastId = 0;

  arm(fault: NewFault): Decision<ArmedFault> {
    const { op, outcome } = fault;
    if (!OUTCOMES_BY_OP[op].includes(outcome)) {
      const message = `A "${op}" call cannot come to "${outcome}". Choose one of: ${OUTCOMES_BY_OP[op].join(', ')}.`;
      return refuse({ kind: 'invalid', code: 'outcome-not-possible', message, field: '/outcome' });
    }
    if (this.#armed.length >= FAULTS_MAX) {
      const message = `${FAULTS_MAX} faults are armed, which is the most. Disarm them first.`;
      return refuse({ kind: 'limit', code: 'too-many-faults', message });
    }
    const armed = { ...fault, id: (this.#lastId += 1), delayMs: fault.delayMs ?? 0, times: fault.times ?? 1 };
    this.#armed.push(armed);
    return accept([], armed);
  }

  get armed(): readonly ArmedFault[] {
    return this.#armed;
  }

  disarm(): void {
    this.#armed = [];
  }

  /** The fault that applies to a call; it is used up by one. */
  trigger(call: FaultSite): ArmedFault | undefined {
    const found = this.#armed.find((fault) => isMatch(fault, call));
    if (found === undefined) return undefined;
    const left = { ...found, times: found.times - 1 };
    this.#armed = this.#armed.flatMap((one) => (one !== found ? [one] : left.times > 0 ? [left] : []));
    return found;
  }
}

function isMatch(fault: ArmedFault, call: FaultSite): boolean {
  return (
    fault.op === call.op &&
    (fault.host ?? call.host) === call.host &&
    (fault.segment ?? call.segment) === call.segment &&
    (fault.nic ?? call.nic) === call.nic
  );
}
