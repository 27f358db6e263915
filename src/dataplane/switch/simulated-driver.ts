// A simulated switch. Its contents outlive the agent, and the process too when it is given storage. Faults can be armed: down, slow, losing
// changes, shared with others. It must pass the contract suite of `switch.ts`.
import type { SwitchIdentity } from '../../hosts/index.ts';
import type { Clock } from '../../journal/index.ts';
import { bfdPortName, simulatedIdentity } from './derived-ids.ts';
import { SwitchState } from './state.ts';
import { EXTERNAL_PORT, TUNNEL_PORT } from './tables.ts';
import { formatConnection } from './tracked-connection.ts';
import {
  SwitchDown,
  SwitchRefused,
  type Flow,
  type ConntrackImport,
  type Switch,
  type SwitchChange,
  type SwitchContents,
  type BfdPortError,
  type SwitchCondition,
  type TrackedConnection,
} from './switch.ts';

export interface SimulatedSwitchOptions {
  /** Its identity is derived from this, unless one is given. */
  readonly host: string;
  readonly identity?: SwitchIdentity;
  /** For a slow switch. */
  readonly clock?: Clock;
  /** Where it stores its contents. Rejects when it cannot. */
  readonly keep?: { read(): Promise<string | undefined>; write(text: string): Promise<void> };
  /** Whether BFD with a peer is up; without it this switch has no BFD. */
  readonly isBfdUp?: (peer: string) => boolean;
  /** Whether it notifies of changes at once, as a monitored one does. */
  readonly notifies?: boolean;
}

/** Faults. Each stays armed until it is cleared. */
export interface SwitchFaults {
  /** It does not answer, and keeps forwarding. */
  down: boolean;
  /** The same, for longer: its sockets are closed. */
  cut: boolean;
  /** It forwards nothing and answers nothing: its daemon has stopped. */
  dead: boolean;
  /** Every call takes this long. */
  slowMs: number;
  /** So many of the next added flows are lost although it confirms them. */
  losesFlows: number;
}

type SwitchCall = 'identity' | 'read' | 'apply' | 'set-up' | 'tear-down' | 'connections' | 'seed' | 'flush';

const CALLS_KEPT = 1000;
/** Of a connection's text: everything but the translated port. */
const ORIGINAL_DIRECTION_FIELDS = 5;

export class SimulatedSwitch implements Switch {
  readonly faults: SwitchFaults = { down: false, cut: false, dead: false, slowMs: 0, losesFlows: 0 };
  /** The most recent calls, in order. */
  readonly calls: SwitchCall[] = [];
  currentIdentity: SwitchIdentity;
  /** Interfaces that others plugged in. */
  readonly foreignInterfaces = new Set<string>();
  /** BFD ports that it cannot open: the error, by peer. */
  readonly bfdPortFaults = new Map<string, string>();
  readonly #options: SimulatedSwitchOptions;
  #state = new SwitchState();
  #isSetUp = false;
  /** By zone, then by the key of the connection. */
  readonly #tracked = new Map<number, Map<string, TrackedConnection>>();
  #changes = 0;
  #opened: Promise<void> | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(options: SimulatedSwitchOptions) {
    this.#options = options;
    this.currentIdentity = options.identity ?? simulatedIdentity(options.host);
  }

  /** How many changes were made to it. */
  get changes(): number {
    return this.#changes;
  }

  /** Its contents, for tests that inspect the machine and not the agent. */
  get contents(): SwitchContents {
    return this.#state.contents;
  }

  /** The ports that our flows need. */
  get ownPorts(): readonly string[] {
    return this.#isSetUp ? [TUNNEL_PORT, EXTERNAL_PORT] : [];
  }

  async identity(): Promise<SwitchIdentity> {
    await this.#recordCall('identity');
    return this.currentIdentity;
  }

  async read(): Promise<SwitchContents> {
    await this.#recordCall('read');
    return this.#state.contents;
  }

  async apply(changes: readonly SwitchChange[]): Promise<void> {
    await this.#recordCall('apply');
    const kept = changes.filter((change) => !this.#isLost(change));
    const problem = this.#state.apply(kept);
    if (problem !== undefined) throw new SwitchRefused(problem);
    this.#changes += kept.length;
    this.#isSetUp ||= kept.some(({ kind }) => kind.startsWith('put-'));
    this.#notify();
    await this.#persist();
  }

  async setUp(): Promise<void> {
    if (this.#isSetUp) return;
    await this.#recordCall('set-up');
    await this.#setIsSetUp(true);
  }

  async tearDown(): Promise<void> {
    await this.#recordCall('tear-down');
    await this.#setIsSetUp(false);
  }

  async #setIsSetUp(isSetUp: boolean): Promise<void> {
    if (this.#isSetUp === isSetUp) return;
    this.#isSetUp = isSetUp;
    this.#notify();
    await this.#persist();
  }

  async listConnections(zone: number): Promise<readonly TrackedConnection[]> {
    await this.#recordCall('connections');
    return this.listTrackedConnections(zone);
  }

  async importConnections(zone: number, connections: readonly TrackedConnection[]): Promise<ConntrackImport> {
    await this.#recordCall('seed');
    const before = this.#tracked.get(zone)?.size ?? 0;
    this.track(zone, connections);
    const imported = (this.#tracked.get(zone)?.size ?? 0) - before;
    return { imported, present: connections.length - imported, failed: 0 };
  }

  async flushConnections(zone: number): Promise<void> {
    await this.#recordCall('flush');
    this.#tracked.delete(zone);
  }

  /** Connections that packets began; they are lost with the switch. */
  track(zone: number, connections: readonly TrackedConnection[]): void {
    const there = this.#tracked.get(zone) ?? new Map<string, TrackedConnection>();
    for (const one of connections) {
      const key = formatConnection(one).split(' ', ORIGINAL_DIRECTION_FIELDS).join(' ');
      if (!there.has(key)) there.set(key, one);
    }
    this.#tracked.set(zone, there);
  }

  /** Its tracked connections, for tests that inspect the machine and not the agent. */
  listTrackedConnections(zone: number): readonly TrackedConnection[] {
    return [...(this.#tracked.get(zone)?.values() ?? [])];
  }

  async interfaces(): Promise<readonly string[]> {
    await this.#recordCall('read');
    return [...this.foreignInterfaces].sort();
  }

  async probe(): Promise<SwitchCondition | undefined> {
    const { clock } = this.#options;
    const { slowMs, dead } = this.faults;
    if (slowMs > 0) await clock?.sleep(slowMs);
    if (dead) return { code: 'not-running', message: 'its daemon is not running', cannotServe: true };
    return this.#isDown ? { code: 'unreachable', message: 'the switch does not answer' } : undefined;
  }

  async bfdDownPeers(): Promise<readonly string[] | undefined> {
    const { isBfdUp } = this.#options;
    if (isBfdUp === undefined || this.#isDown) return undefined;
    await this.#open();
    return this.contents.tunnels.flatMap(({ peer }) => (isBfdUp(peer) ? [] : [peer]));
  }

  bfdPortErrors(): readonly BfdPortError[] {
    return [...this.bfdPortFaults].map(([peer, error]) => ({ peer, name: bfdPortName(peer).slice(1, -1), error }));
  }

  onChanged(changed: () => void): () => void {
    this.#listeners.add(changed);
    return () => this.#listeners.delete(changed);
  }

  #notify(): void {
    if (this.#options.notifies === true) for (const changed of this.#listeners) changed();
  }

  /** A change by another program: it adds foreign entries or alters ours. */
  applyForeign(changes: readonly SwitchChange[]): void {
    const problem = this.#state.apply(changes);
    if (problem !== undefined) throw new Error(problem);
    this.#notify();
  }

  /** It was recreated: it is empty. */
  reset(): void {
    this.#state = new SwitchState();
    this.#isSetUp = false;
    this.#tracked.clear();
    this.#notify();
  }

  #isLost({ kind }: SwitchChange): boolean {
    if (kind !== 'put-flow' || this.faults.losesFlows === 0) return false;
    this.faults.losesFlows -= 1;
    return true;
  }

  async #recordCall(what: SwitchCall): Promise<void> {
    this.calls.push(what);
    if (this.calls.length > CALLS_KEPT) this.calls.shift();
    const { clock } = this.#options;
    if (this.faults.slowMs > 0) await clock?.sleep(this.faults.slowMs);
    if (this.#isDown) throw new SwitchDown('the switch does not answer');
    await this.#open();
  }

  get #isDown(): boolean {
    return this.faults.down || this.faults.cut || this.faults.dead;
  }

  async #open(): Promise<void> {
    this.#opened ??= this.#load();
    try {
      await this.#opened;
    } catch (error) {
      this.#opened = undefined; // the disk may be repaired
      throw new SwitchDown('the switch cannot store its contents', { cause: error });
    }
  }

  async #load(): Promise<void> {
    const text = await this.#options.keep?.read();
    if (text === undefined) return;
    const { contents, isSetUp } = parseStored(text);
    this.#state.apply(changesTo(contents));
    this.#isSetUp = isSetUp;
  }

  async #persist(): Promise<void> {
    try {
      await this.#options.keep?.write(JSON.stringify({ ...this.contents, isSetUp: this.#isSetUp }));
    } catch (error) {
      throw new SwitchDown('the switch cannot store its contents', { cause: error });
    }
  }
}

interface StoredSwitch {
  readonly contents: SwitchContents;
  readonly isSetUp: boolean;
}

/** A file that is damaged means a switch that lost its contents; a file of an earlier version does not say whether it is set up. */
function parseStored(text: string): StoredSwitch {
  const stored = parseContents(text);
  if (stored === undefined) return { contents: NOTHING_THERE, isSetUp: false };
  const { isSetUp, ...contents } = stored;
  return { contents, isSetUp: isSetUp ?? contents.tunnels.length + contents.flows.length > 0 };
}

function parseContents(text: string): (SwitchContents & { readonly isSetUp?: boolean }) | undefined {
  try {
    const value = JSON.parse(text) as Partial<SwitchContents> | null;
    const isWhole = [value?.tunnels, value?.groups, value?.flows].every((list) => Array.isArray(list));
    return isWhole ? { ...NOTHING_THERE, ...value } : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const NOTHING_THERE: SwitchContents = { tunnels: [], groups: [], flows: [], externalIds: {} };

/** The changes from an empty switch to this one. */
function changesTo({ tunnels, groups, flows, externalIds }: SwitchContents): SwitchChange[] {
  return [
    ...tunnels.map((tunnel): SwitchChange => ({ kind: 'put-tunnel', tunnel })),
    ...groups.map((group): SwitchChange => ({ kind: 'put-group', group })),
    ...flows.map((flow: Flow): SwitchChange => ({ kind: 'put-flow', flow })),
    ...Object.entries(externalIds).map(([key, value]): SwitchChange => ({ kind: 'set-external-id', key, value })),
  ];
}
