// Says every few seconds that the host is alive, and what it found of itself when the server wants to know. It goes on
// whatever else fails on this machine.
import { CONDITIONS_MAX, type Condition, type SwitchIdentity } from '../hosts/index.ts';
import { Bell } from './bell.ts';
import { canonical } from './digest.ts';
import type { Line } from './line.ts';
import type { Membership } from './membership.ts';
import {
  CONDITIONS_FEATURE,
  PROCESS_FEATURE,
  PROBLEM_LENGTH_MAX,
  PROBLEMS_MAX,
  STRAYS_MAX,
  UNHEARD_MAX,
  UNREADY_MAX,
  type Heard,
  type Heartbeat,
  type Report,
  type UnreadyService,
} from './messages.ts';
import { Pace } from './pace.ts';
import type { AgentPorts } from './ports.ts';

export interface HeartParts {
  readonly line: Line;
  readonly membership: Membership;
  readonly serviceVersion: number;
  /** Whether it tells of its switch; agents before a certain version do not know how. */
  readonly tellsOfSwitch: boolean;
  readonly heartbeatMs: number;
  /** Whether the host leaves: then what is found on it counts soon. */
  readonly isLeaving: () => boolean;
  readonly applied: () => string | undefined;
  /** The services of that view that are not ready. */
  readonly unready: () => readonly UnreadyService[];
  /** All that is wrong with what the agent drives. */
  readonly conditions: () => readonly Condition[];
  /** The revision of the last view that was taken. */
  readonly asOf: () => number | undefined;
  readonly problems: () => readonly string[];
  readonly refusedView: () => Report['refusedView'];
}

/** Looking a machine over costs something; what it is made of changes rarely. */
const INSPECT_MS = 60_000;
/** A heartbeat waits no longer for it. */
const INSPECT_PATIENCE_MS = 1000;
/** A tenth either way keeps hosts that started together from being heard together for ever. */
const JITTER = 0.1;
/** Somebody may wait for what there is to tell; hosts that were changed together still do not all tell it at once. */
const SOON_MS = 200;

interface Found extends Pick<Report, 'facts' | 'strays'> {
  readonly switch?: SwitchIdentity;
}

const NOTHING_FOUND: Found = { facts: {}, strays: [] };

export class Heart {
  readonly #ports: AgentPorts;
  readonly #parts: HeartParts;
  readonly #bell = new Bell();
  readonly #urgent = new Bell();
  readonly #process: string;
  #inspected: { readonly found: Found; readonly atMs: number } | undefined;
  #inspecting: Promise<void> | undefined;
  /** The report that the server has, as text. */
  #known: string | undefined;
  /** What the server that answered last makes of a host that has converged. */
  #readiness: Heard['readiness'];
  /** What the server that answered last takes. */
  #features: readonly string[] = [];

  constructor(ports: AgentPorts, parts: HeartParts) {
    this.#ports = ports;
    this.#parts = parts;
    this.#process = ports.ids.secret();
  }

  /** There is something to tell: the next heartbeat comes soon. */
  soon(): void {
    this.#bell.ring();
  }

  /** There is something to tell that somebody else's packets wait for. */
  atOnce(): void {
    this.#urgent.ring();
    this.#bell.ring();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#ports;
    const { heartbeatMs } = this.#parts;
    const pace = new Pace(this.#ports);
    while (!signal.aborted) {
      if (await this.#beat()) {
        pace.reset();
        const startMs = clock.nowMs();
        const ms = Math.round(heartbeatMs * (1 - JITTER + 2 * JITTER * random()));
        await this.#bell.wait(signal, { clock, ms });
        // Rung for: what else changes within a moment comes along.
        if (clock.nowMs() - startMs < ms && !signal.aborted) {
          await this.#urgent.wait(signal, { clock, ms: SOON_MS * (0.5 + random() / 2) });
        }
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
      this.#learn(said.answer);
      return true;
    }
    this.#readiness = undefined;
    this.#features = [];
    if (said.kind === 'refused') await membership.refused(said);
    return false;
  }

  /** What was held back from a server that might not have known it is told at once to one that does. */
  #learn({ readiness, features = [] }: Heard): void {
    const { unready, conditions } = this.#parts;
    const isReadinessNews = readiness !== undefined && this.#readiness === undefined && unready().length > 0;
    const knew = this.#takesConditions;
    this.#readiness = readiness;
    this.#features = features;
    const areConditionsNews = !knew && this.#takesConditions && conditions().length > 0;
    if (isReadinessNews || areConditionsNews) this.soon();
  }

  get #takesConditions(): boolean {
    return this.#features.includes(CONDITIONS_FEATURE);
  }

  #beatWith(report: Report | undefined): Heartbeat {
    const { serviceVersion } = this.#parts;
    const [applied, asOf] = [this.#parts.applied(), this.#parts.asOf()];
    const unready = this.#parts.unready();
    // An older server knows hosts that have converged and hosts that have not: to such a one this host has not.
    const isTold = unready.length === 0 || (this.#readiness !== undefined && unready.length <= UNREADY_MAX);
    return {
      serviceVersion,
      ...(applied !== undefined && isTold && { applied }),
      ...(asOf !== undefined && { asOf }),
      ...(applied !== undefined && isTold && unready.length > 0 && { unready: unready.map(shortened) }),
      ...(this.#takesConditions && { conditions: this.#parts.conditions().slice(0, CONDITIONS_MAX) }),
      ...(this.#features.includes(PROCESS_FEATURE) && { process: this.#process }),
      ...(report !== undefined && { report }),
    };
  }

  async #report(): Promise<Report> {
    const { facts, strays, switch: identity } = await this.#inspect();
    const { problems, refusedView: refused, tellsOfSwitch } = this.#parts;
    const refusedView = refused();
    const unheard = tellsOfSwitch ? await this.#unheard() : undefined;
    return {
      facts,
      strays: strays.slice(0, STRAYS_MAX),
      problems: problems()
        .slice(0, PROBLEMS_MAX)
        .map((problem) => problem.slice(0, PROBLEM_LENGTH_MAX)),
      ...(tellsOfSwitch && identity !== undefined && { switch: identity }),
      ...(unheard !== undefined && { unheardPeers: unheard.slice(0, UNHEARD_MAX) }),
      ...(refusedView !== undefined && { refusedView }),
    };
  }

  async #unheard(): Promise<readonly string[] | undefined> {
    const { driver, log } = this.#ports;
    try {
      return await driver.unheardPeers?.();
    } catch (error) {
      log.error({ err: error }, 'the switch could not be asked whom it hears by a fault of the program');
      return undefined;
    }
  }

  /** A machine that hangs does not hold up the heartbeat: until it has been looked over, what was found before is told. */
  async #inspect(): Promise<Found> {
    const { clock } = this.#ports;
    const isFresh = this.#inspected !== undefined && clock.nowMs() - this.#inspected.atMs < this.#inspectMs();
    if (!isFresh) {
      this.#inspecting ??= this.#lookOver();
      const answered = new AbortController();
      await Promise.race([this.#inspecting, clock.sleep(INSPECT_PATIENCE_MS, answered.signal)]);
      answered.abort('looked over');
    }
    return this.#inspected?.found ?? NOTHING_FOUND;
  }

  async #lookOver(): Promise<void> {
    const { clock, driver, log } = this.#ports;
    const atMs = clock.nowMs();
    let found = NOTHING_FOUND;
    try {
      const { facts, strays, switch: identity } = await driver.inspect();
      found = { facts: { ...facts }, strays: [...strays], ...(identity !== undefined && { switch: { ...identity } }) };
    } catch (error) {
      // A driver that throws has a bug. The host is alive all the same, and says so.
      log.error({ err: error }, 'the machine could not be looked over by a fault of the program');
    }
    this.#inspected = { found, atMs };
    this.#inspecting = undefined;
    if (clock.nowMs() - atMs >= INSPECT_PATIENCE_MS) this.soon();
  }

  /**
   * A switch without a datapath id is about to get one, and the host is chosen for nothing until it is told. Strays keep a host from
   * being removed: that they are there, or gone, is told soon.
   */
  #inspectMs(): number {
    const { heartbeatMs, isLeaving } = this.#parts;
    const { switch: identity, strays = [] } = this.#inspected?.found ?? {};
    if (identity !== undefined && identity.datapathId === undefined) return heartbeatMs / 2;
    return strays.length > 0 || isLeaving() ? 2 * heartbeatMs : INSPECT_MS;
  }
}

function shortened({ service, because }: UnreadyService): UnreadyService {
  return { service, because: because.slice(0, PROBLEM_LENGTH_MAX) };
}
