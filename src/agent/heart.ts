// Says every few seconds that the host is alive, and what it found of itself when the server wants to know. It goes on
// whatever else fails on this machine.
import { canonical } from './digest.ts';
import type { Line } from './line.ts';
import type { Membership } from './membership.ts';
import { PROBLEM_LENGTH_MAX, PROBLEMS_MAX, STRAYS_MAX, type Heartbeat, type Report } from './messages.ts';
import { Pace } from './pace.ts';
import type { AgentPorts } from './ports.ts';

export interface HeartParts {
  readonly line: Line;
  readonly membership: Membership;
  readonly serviceVersion: number;
  readonly heartbeatMs: number;
  readonly applied: () => string | undefined;
  readonly problems: () => readonly string[];
  readonly refusedView: () => Report['refusedView'];
}

/** Looking a machine over costs something; what it is made of changes rarely. */
const INSPECT_MS = 60_000;
/** A tenth either way keeps hosts that started together from being heard together for ever. */
const JITTER = 0.1;

type Inspected = Pick<Report, 'facts' | 'strays'>;

export class Heart {
  readonly #ports: AgentPorts;
  readonly #parts: HeartParts;
  #inspected: { readonly found: Inspected; readonly atMs: number } | undefined;
  /** The report that the server has, as text. */
  #known: string | undefined;

  constructor(ports: AgentPorts, parts: HeartParts) {
    this.#ports = ports;
    this.#parts = parts;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#ports;
    const { heartbeatMs } = this.#parts;
    const pace = new Pace(this.#ports);
    while (!signal.aborted) {
      if (await this.#beat()) {
        pace.reset();
        await clock.sleep(Math.round(heartbeatMs * (1 - JITTER + 2 * JITTER * random())), signal);
      } else await pace.wait(signal);
    }
  }

  async #beat(): Promise<boolean> {
    const { line, membership } = this.#parts;
    const secret = membership.credential();
    if (secret === undefined) return false;
    const report = await this.#report();
    const text = canonical(report);
    const beat = this.#beatWith(text === this.#known ? undefined : report);
    const said = await line.ask(secret, (to) => this.#ports.link.heartbeat(to, beat));
    if (said.kind === 'answer') {
      membership.welcome();
      this.#known = said.answer.report === 'known' ? text : undefined;
      return true;
    }
    if (said.kind === 'refused') await membership.refused(said);
    return false;
  }

  #beatWith(report: Report | undefined): Heartbeat {
    const { serviceVersion, applied } = this.#parts;
    const digest = applied();
    return {
      serviceVersion,
      ...(digest !== undefined && { applied: digest }),
      ...(report !== undefined && { report }),
    };
  }

  async #report(): Promise<Report> {
    const { facts, strays } = await this.#inspect();
    const problems = this.#parts.problems().slice(0, PROBLEMS_MAX);
    const refusedView = this.#parts.refusedView();
    return {
      facts,
      strays: strays.slice(0, STRAYS_MAX),
      problems: problems.map((problem) => problem.slice(0, PROBLEM_LENGTH_MAX)),
      ...(refusedView !== undefined && { refusedView }),
    };
  }

  async #inspect(): Promise<Inspected> {
    const { clock, driver, log } = this.#ports;
    const nowMs = clock.nowMs();
    if (this.#inspected !== undefined && nowMs - this.#inspected.atMs < INSPECT_MS) return this.#inspected.found;
    let found: Inspected = { facts: {}, strays: [] };
    try {
      const { facts, strays } = await driver.inspect();
      found = { facts: { ...facts }, strays: [...strays] };
    } catch (error) {
      // A driver that throws has a bug. The host is alive all the same, and says so.
      log.error({ err: error }, 'the machine could not be looked over by a fault of the program');
    }
    this.#inspected = { found, atMs: nowMs };
    return found;
  }
}
