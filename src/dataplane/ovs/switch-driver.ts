// The switch of a host on Open vSwitch: the database for bridges and ports, OpenFlow for flows and groups, the control socket to wait until
// changes are in force. It decides nothing; changes that refer to something missing are refused before anything is sent.
import type { SwitchIdentity } from '../../hosts/index.ts';
import type { Clock } from '../../journal/index.ts';
import type { PacketOut } from './openflow/mods.ts';
import type { PacketIn } from './openflow/replies.ts';
import { OpenFlowClient } from './openflow/client-driver.ts';
import { DaemonFailure } from './transport/failures.ts';
import type { Monitor } from './ovsdb/monitor.ts';
import { OvsdbClient } from './ovsdb/client-driver.ts';
import {
  SwitchDown,
  SwitchRefused,
  type BfdPortError,
  type FlowGroup,
  type ConntrackImport,
  type Switch,
  type SwitchChange,
  type SwitchContents,
  type SwitchCondition,
  type TrackedConnection,
} from '../switch/switch.ts';
import { findProblem } from '../switch/state.ts';
import { CommandRefused, UnixctlClient } from './unixctl/client-driver.ts';
import {
  EXTERNAL_NAME,
  externalPortName,
  readIdentity,
  readBridgeIds,
  readPluggedInterfaces,
  plugOperations,
  setUpOperations,
  tearDownOperations,
  unplugOperations,
} from './bridge.ts';
import { BridgeDatabase, type BridgeDatabaseOptions } from './bridge-database-driver.ts';
import { BridgePorts } from './bridge-ports.ts';
import { applyFlowChanges } from './flow-changes-driver.ts';
import { ConntrackTable } from './conntrack-driver.ts';
import { BfdStatus } from './bfd-status.ts';
import { bfdOperations, externalIdOperations, type ChangeStage } from './database-changes.ts';
import { resolveNeighboursFor } from './tunnel-neighbours-driver.ts';
import { findBfdPortErrors, findUplinkErrors } from './interface-errors.ts';
import { ChangeNotifier } from './change-notifier.ts';
import { probeSwitch } from './probe-driver.ts';

export interface OvsSwitchOptions extends BridgeDatabaseOptions {
  /** Of the database: `unix:/path` or `tcp:host:port`. */
  readonly database: string;
  /** The OpenFlow address of the bridge. */
  readonly openFlow: string;
  /** The control socket of ovs-vswitchd; looked up again for each connection. */
  readonly control: string | (() => string);
  /** Whether ovs-vswitchd is known not to run; absent where that cannot be known. */
  readonly isDaemonGone?: () => boolean;
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
}

/** Longer than the delays between the first connection attempts. */
const OPENFLOW_WAIT_MS = 2000;

export class OvsSwitch implements Switch {
  readonly control: UnixctlClient;
  readonly #options: OvsSwitchOptions;
  readonly #database: OvsdbClient;
  readonly #openFlow: OpenFlowClient;
  readonly #bridge: BridgeDatabase;
  readonly #ports: BridgePorts;
  readonly #notifier = new ChangeNotifier();
  readonly #bfdStatus: BfdStatus;
  readonly #bfdListeners = new Set<() => void>();
  readonly #conntrack: ConntrackTable;

  /** Starts to connect; the switch need not run yet. */
  constructor(options: OvsSwitchOptions) {
    const { clock, random } = options;
    this.#options = options;
    this.#ports = new BridgePorts(options);
    this.#bfdStatus = new BfdStatus(options.bridge);
    this.#database = new OvsdbClient({ address: options.database, clock, random });
    this.control = new UnixctlClient({ address: options.control, clock, random });
    this.#openFlow = new OpenFlowClient({ address: options.openFlow, clock, random, names: this.#ports });
    // A switch that comes back has lost its flows.
    this.#openFlow.onUp(() => {
      this.#conntrack.forgetSettings();
      this.#notifier.notify();
    });
    this.#bridge = new BridgeDatabase(options, {
      client: this.#database,
      onTables: (tables) => {
        this.#ports.update(tables);
        this.#updateBfdStatus(tables);
      },
      onChanged: () => this.#notifier.recordChange(),
      waitForBridge: () => this.#waitForOpenFlow(),
    });
    this.#conntrack = new ConntrackTable({
      control: this.control,
      sendPackets: (packets) => this.sendPackets(packets),
    });
  }

  /** Called whenever the switch may have been changed by others. */
  onChanged(listener: () => void): () => void {
    return this.#notifier.subscribe(listener);
  }

  onPacket(listener: (packet: PacketIn) => void): () => void {
    return this.#openFlow.onPacketIn(listener);
  }

  async sendPackets(packets: readonly PacketOut[]): Promise<void> {
    await mapDaemonFailure(async () => {
      await this.#bridge.open();
      await this.#openFlow.sendPackets(packets);
    });
  }

  /** Plugs an interface of this machine into the bridge. Idempotent. */
  async plug(name: string): Promise<void> {
    await mapDaemonFailure(async () =>
      this.#bridge.transact(plugOperations(await this.#bridge.open(), this.#options.bridge, name)),
    );
  }

  async unplug(name: string): Promise<void> {
    await mapDaemonFailure(async () =>
      this.#bridge.transact(unplugOperations(await this.#bridge.open(), this.#options.bridge, name)),
    );
  }

  async identity(): Promise<SwitchIdentity> {
    return mapDaemonFailure(async () => readIdentity(await this.#bridge.open(), this.#options.bridge));
  }

  read(): Promise<SwitchContents> {
    return this.#notifier.trackRead(() => this.#readAll());
  }

  #readAll(): Promise<SwitchContents> {
    return mapDaemonFailure(async () => {
      const tables = await this.#bridge.open();
      const [flows, groups] = await Promise.all([this.#openFlow.flows(), this.#openFlow.groups()]);
      return {
        flows,
        // Types that we never use are foreign, and only scanned for references.
        groups: groups as readonly FlowGroup[],
        ...readBridgeIds(tables, this.#options.bridge),
        ports: this.#ports.names().map((name) => `"${name}"`),
      };
    });
  }

  async apply(changes: readonly SwitchChange[], before?: SwitchContents): Promise<void> {
    if (changes.length === 0) return;
    const found = before ?? (await this.read());
    const problem = findProblem(found, changes);
    if (problem !== undefined) throw new SwitchRefused(problem);
    await this.#notifier.trackApply(() => this.#applyAll(changes, found));
  }

  async setUp(): Promise<void> {
    await mapDaemonFailure(async () => this.#bridge.apply(setUpOperations(await this.#bridge.open(), this.#options)));
  }

  async tearDown(): Promise<void> {
    await mapDaemonFailure(async () =>
      this.#bridge.apply(tearDownOperations(await this.#bridge.open(), this.#options)),
    );
  }

  #applyAll(changes: readonly SwitchChange[], before: SwitchContents): Promise<void> {
    return mapDaemonFailure(async () => {
      if (changes.some(({ kind }) => kind.startsWith('put-'))) await this.setUp();
      await this.#conntrack.ensureSequenceCheckOff();
      await this.#configure(changes, 'begin');
      if (!changes.every(({ kind }) => kind.startsWith('remove-'))) await this.#resolveNeighbours(changes);
      await applyFlowChanges(changes, {
        before,
        clock: this.#options.clock,
        bundle: (mods) => this.#openFlow.bundle(mods),
        waitForRevalidators: () => this.control.waitForRevalidators(),
        finish: () => this.#configure(changes, 'end'),
      });
    });
  }

  interfaces(): Promise<readonly string[]> {
    return mapDaemonFailure(async () => readPluggedInterfaces(await this.#bridge.open(), this.#options));
  }

  probe(): Promise<SwitchCondition | undefined> {
    return probeSwitch({
      clock: this.#options.clock,
      isDaemonGone: this.#options.isDaemonGone ?? (() => false),
      uplinkErrors: () =>
        this.#bridge.tables === undefined ? [] : findUplinkErrors(this.#bridge.tables, this.#options),
      sockets: {
        database: () => this.#database.echo(),
        OpenFlow: () => this.#openFlow.barrier(),
        control: () => this.control.command('version'),
      },
    });
  }

  bfdDownPeers(): Promise<readonly string[] | undefined> {
    return Promise.resolve(this.#bfdStatus.downPeers());
  }

  bfdPortErrors(): readonly BfdPortError[] {
    return this.#bridge.tables === undefined ? [] : findBfdPortErrors(this.#bridge.tables, this.#options);
  }

  hasBfdBeenUp(peer: string): boolean {
    return this.#bfdStatus.hasBeenUp(peer);
  }

  onBfdChange(listener: () => void): () => void {
    this.#bfdListeners.add(listener);
    return () => this.#bfdListeners.delete(listener);
  }

  listConnections(zone: number): Promise<readonly TrackedConnection[]> {
    return mapDaemonFailure(() => this.#conntrack.list(zone));
  }

  importConnections(zone: number, connections: readonly TrackedConnection[]): Promise<ConntrackImport> {
    return mapDaemonFailure(() => this.#conntrack.import(zone, connections));
  }

  flushConnections(zone: number): Promise<void> {
    return mapDaemonFailure(() => this.#conntrack.flush(zone));
  }

  /** The trace of a packet as Open vSwitch prints it; ports by the names that flows use. */
  async trace(flow: string): Promise<string> {
    return mapDaemonFailure(async () => {
      const external = externalPortName(await this.#bridge.open(), this.#options) ?? EXTERNAL_NAME;
      try {
        return await this.control.trace(this.#options.bridge, flow.replaceAll(EXTERNAL_NAME, external));
      } catch (error) {
        if (error instanceof CommandRefused) throw new SwitchRefused(error.message);
        throw error;
      }
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.#openFlow.close(), this.#database.close(), this.control.close()]);
  }

  #updateBfdStatus(tables: Monitor): void {
    const { hasChanged, hasFirstUp } = this.#bfdStatus.update(tables);
    if (hasChanged) for (const listener of this.#bfdListeners) listener();
    if (hasFirstUp) this.#notifier.notify();
  }

  /** A bridge that was created just now accepts connections a moment later; a missing one fails at once. */
  async #waitForOpenFlow(): Promise<void> {
    if (this.#openFlow.isUp) return;
    const up = new AbortController();
    const stop = this.#openFlow.onUp(() => up.abort());
    await this.#options.clock.sleep(OPENFLOW_WAIT_MS, up.signal);
    stop();
  }

  /** Ports are added before a group watches them, and removed after none does. They have numbers when the switch has applied them. */
  async #configure(changes: readonly SwitchChange[], what: ChangeStage): Promise<void> {
    const tables = await this.#bridge.open();
    const words = externalIdOperations(this.#options.bridge, changes, what);
    const ports = bfdOperations(tables, this.#options.bridge, changes, what);
    await (ports.length === 0 ? this.#bridge.transact(words) : this.#bridge.apply([...words, ...ports]));
  }

  /** Only the user-space datapath loses packets to peers that it does not know. */
  async #resolveNeighbours(changes: readonly SwitchChange[]): Promise<void> {
    if (this.#options.datapath !== 'netdev') return;
    const { tunnels } = readBridgeIds(await this.#bridge.open(), this.#options.bridge);
    await resolveNeighboursFor(changes, tunnels, {
      clock: this.#options.clock,
      control: this.control,
      send: (packets) => this.#openFlow.sendPackets(packets),
    });
  }
}

/** A client failure means that the switch is down, except for a refusal. */
async function mapDaemonFailure<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DaemonFailure) throw new SwitchDown(error.message, { cause: error });
    throw error;
  }
}
