// Faults that can be armed in the simulated back end: which call goes wrong, how, and how often. The oldest that fits a call
// strikes, so that a test reads in the order in which it was written.
import { PORT_OUTCOMES, type PortOutcome } from '../back-end.ts';
import { accept, refuse, type Decision } from '../../../journal/index.ts';

/**
 * `bind` is also what gives a port a second binding, `unbind` what takes it away; `activate` makes it the active one. `plug`: what
 * is said of a port that is bound.
 */
export const SIMULATED_OPS = ['create', 'bind', 'activate', 'plug', 'unbind', 'delete', 'spawn'] as const;
export type SimulatedOp = (typeof SIMULATED_OPS)[number];

const PLUG_OUTCOMES = ['plug-failed', 'unplugged'] as const;
const SPAWN_OUTCOMES = ['spawn-failed', 'resources-gone', 'bad-image'] as const;

/**
 * `ok`: only the delay. `hang`: nothing happens and nobody answers. `applied-but-lost`: it is carried out and the answer does
 * not come back. The others are what the call answers, without effect; but for `binding-failed`, which answers with
 * success and a port that is not connected. Of `plug`: `hang` says nothing, `plug-failed` and `unplugged` say that.
 */
export const FAULT_OUTCOMES = [
  ...PORT_OUTCOMES,
  'hang',
  'applied-but-lost',
  ...PLUG_OUTCOMES,
  ...SPAWN_OUTCOMES,
] as const;
export type FaultOutcome = (typeof FAULT_OUTCOMES)[number];

export interface NewFault {
  readonly op: SimulatedOp;
  readonly host?: string;
  readonly segment?: string;
  readonly nic?: number;
  readonly outcome: FaultOutcome;
  readonly delayMs?: number;
  /** How many calls it strikes; 1 when nothing is said. */
  readonly times?: number;
}

export interface ArmedFault extends NewFault {
  readonly id: number;
  readonly delayMs: number;
  /** How many calls it still strikes. */
  readonly times: number;
}

/** What a call is about; a fault fits when it names nothing else. */
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

/** What a call of each kind can come to. */
const OUTCOMES_BY_OP: Readonly<Record<SimulatedOp, readonly FaultOutcome[]>> = {
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

  /** The fault that strikes a call; it has one strike less then. */
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
