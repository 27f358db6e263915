// Probes at intervals whether what the agent drives still obeys: its switch, its instance runtime. It runs beside everything else,
// so that a switch that hangs holds up neither heartbeats nor views. What does not answer in time counts as failing.
import { CONDITION_MESSAGE_MAX, type ReportedCondition } from '../../hosts/index.ts';
import { abortWith } from '../../link/index.ts';
import { shortenText } from '../../operations/index.ts';
import type { AgentPorts } from './ports.ts';

export interface ConditionProbeParts {
  /** How often the machine is probed. */
  readonly everyMs: number;
  /** Since when the machine cannot be brought to its view, and why; undefined while it can. */
  readonly reconcileFailure: () => { readonly sinceMs: number; readonly problem: string } | undefined;
  /** Called when something else is wrong than before. */
  readonly onChanged: () => void;
}

/** Loading a hundred thousand flows keeps a switch from answering for less. */
const PROBE_TIMEOUT_MS = 5000;
/** A switch that answers and yet takes nothing for this long is not under control either. */
const NOT_CONVERGING_AFTER_MS = 30_000;

export class ConditionProbe {
  readonly #ports: AgentPorts;
  readonly #parts: ConditionProbeParts;
  /** What the driver found the last time. */
  #found: readonly ReportedCondition[] = [];
  /** The question that is not answered yet. */
  #inFlight: { readonly atMs: number; readonly answer: Promise<void> } | undefined;
  #reported = '';

  constructor(ports: AgentPorts, parts: ConditionProbeParts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  /** All that is wrong now, at most one of each type. */
  get current(): readonly ReportedCondition[] {
    const nowMs = this.#ports.clock.nowMs();
    const { reconcileFailure } = this.#parts;
    const hangs = this.#inFlight !== undefined && nowMs - this.#inFlight.atMs >= PROBE_TIMEOUT_MS;
    const found = hangs ? [UNREACHABLE, ...this.#found.filter(({ type }) => type !== 'switch')] : this.#found;
    const obstacle = reconcileFailure();
    const isStuck = obstacle !== undefined && nowMs - obstacle.sinceMs >= NOT_CONVERGING_AFTER_MS;
    if (!isStuck || found.some(({ type }) => type === 'switch')) return found;
    return [...found, { type: 'switch', code: 'not-converging', message: truncate(obstacle.problem) }];
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, driver } = this.#ports;
    if (driver.conditions === undefined) return;
    while (!signal.aborted) {
      this.#inFlight ??= { atMs: clock.nowMs(), answer: this.#probe() };
      const late = new AbortController();
      const unlink = abortWith(late, signal);
      await Promise.race([this.#inFlight.answer, clock.sleep(PROBE_TIMEOUT_MS, late.signal)]);
      unlink();
      late.abort('answered');
      if (signal.aborted) return;
      this.#reportChange();
      await clock.sleep(this.#parts.everyMs, signal);
    }
  }

  async #probe(): Promise<void> {
    const { driver, log } = this.#ports;
    try {
      this.#found = ((await driver.conditions?.()) ?? []).map((one) => ({ ...one, message: truncate(one.message) }));
    } catch (error) {
      // A driver that throws has a bug. Whether what it probed is well is not known.
      log.error({ err: error }, 'the machine could not be probed because of a fault of the program');
    }
    this.#inFlight = undefined;
  }

  #reportChange(): void {
    const { current } = this;
    const text = current.map(({ type, code, cannotServe }) => `${type} ${code} ${cannotServe ?? ''}`).join();
    if (text === this.#reported) return;
    this.#reported = text;
    if (current.length > 0) this.#ports.log.warn({ conditions: current }, 'a part of this host fails; it is degraded');
    else this.#ports.log.info({}, 'nothing of this host fails any more');
    this.#parts.onChanged();
  }
}

const UNREACHABLE: ReportedCondition = {
  type: 'switch',
  code: 'unreachable',
  message: `it did not answer within ${PROBE_TIMEOUT_MS / 1000} s`,
};

function truncate(message: string): string {
  return shortenText(message, CONDITION_MESSAGE_MAX);
}
