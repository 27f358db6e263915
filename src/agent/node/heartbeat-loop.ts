// Says every few seconds that the host is alive, and reports what it found of itself unless the server has that report. It continues
// whatever else fails on this machine.
import { CONDITIONS_MAX, type ReportedCondition, type SwitchIdentity } from '../../hosts/index.ts';
import { WakeSignal, type LeaderClient, Backoff } from '../../link/index.ts';
import { shortenText } from '../../operations/index.ts';
import { canonical } from '../protocol/digest.ts';
import { reportToWire } from '../protocol/report-words.ts';
import type { Membership } from './membership.ts';
import {
  CONDITIONS_FEATURE,
  PROCESS_FEATURE,
  PROBLEM_LENGTH_MAX,
  PROBLEMS_MAX,
  STRAYS_MAX,
  BFD_DOWN_PEERS_MAX,
  UNREADY_MAX,
  type HeartbeatResponse,
  type Heartbeat,
  type HostReport,
  type UnreadyService,
} from '../protocol/messages.ts';
import type { AgentPorts, InspectedInstance } from './ports.ts';

export interface HeartbeatLoopParts {
  readonly leader: LeaderClient;
  readonly membership: Membership;
  readonly serviceVersion: number;
  /** Whether it reports its switch; agents before a certain version do not know how. */
  readonly reportsSwitch: boolean;
  readonly heartbeatMs: number;
  /** Whether the host leaves: then what is found on it counts soon. */
  readonly isLeaving: () => boolean;
  readonly appliedDigest: () => string | undefined;
  /** The services of that view that are not ready. */
  readonly unready: () => readonly UnreadyService[];
  /** All that is wrong with what the agent drives. */
  readonly conditions: () => readonly ReportedCondition[];
  /** The revision of the last view that was taken. */
  readonly viewRevision: () => number | undefined;
  readonly problems: () => readonly string[];
  readonly refusedView: () => HostReport['refusedView'];
}

/** An inspection of the machine costs something, and its hardware changes rarely. */
const INSPECT_MS = 60_000;
/** A heartbeat waits no longer than this for an inspection. */
const INSPECT_TIMEOUT_MS = 1000;
/** Jitter, either way: hosts that started together do not send together for ever. */
const JITTER = 0.1;
/** An operation may wait for this report; hosts that were changed together still do not all report at once. */
const COALESCE_MS = 200;

interface LastInspection extends Pick<HostReport, 'facts' | 'strays' | 'problems'> {
  readonly switch?: SwitchIdentity;
}

const EMPTY_INSPECTION: LastInspection = { facts: {}, strays: [], problems: [] };

export class HeartbeatLoop {
  readonly #ports: AgentPorts;
  readonly #parts: HeartbeatLoopParts;
  readonly #wakeSignal = new WakeSignal();
  readonly #urgentSignal = new WakeSignal();
  readonly #process: string;
  #inspected: { readonly found: LastInspection; readonly atMs: number } | undefined;
  #inspecting: Promise<void> | undefined;
  #isInspectionDue = false;
  /** The report that the server has, as text. */
  #acknowledgedReport: string | undefined;
  /** What the server that answered last makes of a host that has converged. */
  #readiness: HeartbeatResponse['readiness'];
  /** What the server that answered last takes. */
  #features: readonly string[] = [];

  constructor(ports: AgentPorts, parts: HeartbeatLoopParts) {
    this.#ports = ports;
    this.#parts = parts;
    this.#process = ports.ids.secret();
  }

  /** There is something to report: the next heartbeat comes soon. */
  sendSoon(): void {
    this.#wakeSignal.notify();
  }

  /** The machine is not as it was inspected last: it is inspected again, and what is found is sent soon. */
  inspectSoon(): void {
    this.#isInspectionDue = true;
    this.sendSoon();
  }

  /** There is something to report that packets of other hosts wait for. */
  sendNow(): void {
    this.#urgentSignal.notify();
    this.#wakeSignal.notify();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#ports;
    const { heartbeatMs } = this.#parts;
    const backoff = new Backoff(this.#ports);
    while (!signal.aborted) {
      if (await this.#sendHeartbeat()) {
        backoff.reset();
        const startMs = clock.nowMs();
        const ms = Math.round(heartbeatMs * (1 - JITTER + 2 * JITTER * random()));
        await this.#wakeSignal.wait(signal, { clock, ms });
        // Woken early: what else changes within a moment is sent with it.
        if (clock.nowMs() - startMs < ms && !signal.aborted) {
          await this.#urgentSignal.wait(signal, { clock, ms: COALESCE_MS * (0.5 + random() / 2) });
        }
      } else await backoff.wait(signal);
    }
  }

  async #sendHeartbeat(): Promise<boolean> {
    const { leader, membership } = this.#parts;
    const secret = membership.credential();
    if (secret === undefined) return false;
    const report = await this.#composeReport();
    const text = canonical(report);
    const beat = this.#composeHeartbeat(text === this.#acknowledgedReport ? undefined : report);
    const said = await leader.call(secret, (to) => this.#ports.link.heartbeat(to, beat));
    if (said.kind === 'answer') {
      membership.onAccepted();
      this.#acknowledgedReport = said.answer.report === 'known' ? text : undefined;
      this.#updateServerFeatures(said.answer);
      return true;
    }
    this.#readiness = undefined;
    this.#features = [];
    if (said.kind === 'refused') await membership.onRefused(said);
    return false;
  }

  /** What was held back from a server that might not have known it is reported at once to one that does. */
  #updateServerFeatures({ readiness, features = [] }: HeartbeatResponse): void {
    const { unready, conditions } = this.#parts;
    const isReadinessNews = readiness !== undefined && this.#readiness === undefined && unready().length > 0;
    const knew = this.#acceptsConditions;
    this.#readiness = readiness;
    this.#features = features;
    const areConditionsNews = !knew && this.#acceptsConditions && conditions().length > 0;
    if (isReadinessNews || areConditionsNews) this.sendSoon();
  }

  get #acceptsConditions(): boolean {
    return this.#features.includes(CONDITIONS_FEATURE);
  }

  #composeHeartbeat(report: HostReport | undefined): Heartbeat {
    const { serviceVersion } = this.#parts;
    const [applied, asOf] = [this.#parts.appliedDigest(), this.#parts.viewRevision()];
    const unready = this.#parts.unready();
    // An older server knows only converged or not converged, and no unready services: to such a one this host has not converged.
    const isInformed = unready.length === 0 || (this.#readiness !== undefined && unready.length <= UNREADY_MAX);
    return {
      serviceVersion,
      ...(applied !== undefined && isInformed && { applied }),
      ...(asOf !== undefined && { asOf }),
      ...(applied !== undefined && isInformed && unready.length > 0 && { unready: unready.map(truncateReason) }),
      ...(this.#acceptsConditions && { conditions: this.#parts.conditions().slice(0, CONDITIONS_MAX) }),
      ...(this.#features.includes(PROCESS_FEATURE) && { process: this.#process }),
      ...(report !== undefined && { report: reportToWire(report, this.#features) }),
    };
  }

  async #composeReport(): Promise<HostReport> {
    const { facts, strays, problems: found, switch: identity } = await this.#inspect();
    const { problems, refusedView: refused, reportsSwitch } = this.#parts;
    const refusedView = refused();
    const bfdDownPeers = reportsSwitch ? await this.#listBfdDownPeers() : undefined;
    return {
      facts,
      strays: strays.slice(0, STRAYS_MAX),
      problems: [...problems(), ...found]
        .slice(0, PROBLEMS_MAX)
        .map((problem) => shortenText(problem, PROBLEM_LENGTH_MAX)),
      ...(reportsSwitch && identity !== undefined && { switch: identity }),
      ...(bfdDownPeers !== undefined && { bfdDownPeers: bfdDownPeers.slice(0, BFD_DOWN_PEERS_MAX) }),
      ...(refusedView !== undefined && { refusedView }),
    };
  }

  async #listBfdDownPeers(): Promise<readonly string[] | undefined> {
    const { driver, log } = this.#ports;
    try {
      return await driver.bfdDownPeers?.();
    } catch (error) {
      log.error({ err: error }, 'the BFD sessions of the switch could not be read because of a fault of the program');
      return undefined;
    }
  }

  /** A machine that hangs does not hold up the heartbeat: until it has been probed again, the last findings are reported. */
  async #inspect(): Promise<LastInspection> {
    const { clock } = this.#ports;
    const isFresh =
      !this.#isInspectionDue &&
      this.#inspected !== undefined &&
      clock.nowMs() - this.#inspected.atMs < this.#inspectIntervalMs();
    if (!isFresh) {
      this.#inspecting ??= this.#refreshInspection();
      const answered = new AbortController();
      await Promise.race([this.#inspecting, clock.sleep(INSPECT_TIMEOUT_MS, answered.signal)]);
      answered.abort('looked over');
    }
    return this.#inspected?.found ?? EMPTY_INSPECTION;
  }

  async #refreshInspection(): Promise<void> {
    const { clock, driver, log } = this.#ports;
    const atMs = clock.nowMs();
    this.#isInspectionDue = false;
    let found = EMPTY_INSPECTION;
    try {
      const { facts, strays, problems = [], instances, switch: identity } = await driver.inspect();
      const here = instances === undefined ? {} : { instances: selectReported(instances) };
      const said = { facts: { ...facts, ...here }, strays: [...strays], problems: [...problems] };
      found = { ...said, ...(identity !== undefined && { switch: { ...identity } }) };
    } catch (error) {
      // A driver that throws has a bug. The host is alive all the same, and says so.
      log.error({ err: error }, 'the machine could not be looked over by a fault of the program');
    }
    this.#inspected = { found, atMs };
    this.#inspecting = undefined;
    if (clock.nowMs() - atMs >= INSPECT_TIMEOUT_MS) this.sendSoon();
  }

  /**
   * A switch without a datapath id is about to get one, and the host is chosen for nothing until it is reported. Strays keep a host from
   * being removed: that they are there, or gone, is reported soon.
   */
  #inspectIntervalMs(): number {
    const { heartbeatMs, isLeaving } = this.#parts;
    const { switch: identity, strays = [] } = this.#inspected?.found ?? {};
    if (identity !== undefined && identity.datapathId === undefined) return heartbeatMs / 2;
    return strays.length > 0 || isLeaving() ? 2 * heartbeatMs : INSPECT_MS;
  }
}

function truncateReason({ service, because }: UnreadyService): UnreadyService {
  return { service, because: shortenText(because, PROBLEM_LENGTH_MAX) };
}

/** More than a host has. Where there are more, those that are not as usual are in the report. */
const INSTANCES_MAX = 1000;

function selectReported(instances: readonly InspectedInstance[]): readonly InspectedInstance[] {
  if (instances.length <= INSTANCES_MAX) return instances;
  const unusual = instances.filter(({ state, endedAtMs }) => state !== 'running' || endedAtMs !== undefined);
  return unusual.slice(0, INSTANCES_MAX);
}
