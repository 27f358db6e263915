// The switch of a host on Open vSwitch: the database for bridges and ports, OpenFlow for flows and groups, the control socket to wait until
// changes are in force. It decides nothing; changes that refer to something missing are refused before anything is sent.
import type { Clock } from '../../journal/index.ts';
import type { PacketOut } from './openflow/mods.ts';
import type { PacketIn } from './openflow/replies.ts';
import { OpenFlowClient } from './openflow/client-driver.ts';
import { applyTransaction } from './ovsdb/apply-transaction.ts';
import { DaemonFailure } from './transport/failures.ts';
import type { Monitor } from './ovsdb/monitor.ts';
import type { Operation } from './ovsdb/operation.ts';
import { OvsdbClient } from './ovsdb/client-driver.ts';
import {
  SwitchDown,
  SwitchRefused,
  type BfdPortError,
  type Group,
  type SwitchIdentity,
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
  BRIDGE_TABLES,
  bridgeOperations,
  findBridge,
  DATABASE,
  EXTERNAL_NAME,
  externalPortName,
  readIdentity,
  readBridgeIds,
  isStatusOnlyChange,
  readPluggedInterfaces,
  plugOperations,
  setUpOperations,
  tearDownOperations,
  unplugOperations,
  type BridgePlan,
} from './bridge.ts';
import { BridgePorts } from './bridge-ports.ts';
import { applyFlowChanges } from './flow-changes-driver.ts';
import { ConntrackTable } from './conntrack-driver.ts';
import { BfdStatus } from './bfd-status.ts';
import { bfdOperations, externalIdOperations, type ChangeStage } from './database-changes.ts';
import { resolveNeighboursFor } from './tunnel-neighbours-driver.ts';
import { findBfdPortErrors, findUplinkErrors } from './interface-errors.ts';
import { ChangeNotifier } from './change-notifier.ts';
import { probeSwitch } from './probe-driver.ts';

export interface OvsSwitchOptions extends BridgePlan {
  /** Of the database: `unix:/path` or `tcp:host:port`. */
  readonly database: string;
  /** The OpenFlow address of the bridge. */
  readonly openFlow: string;
  /** The control socket of ovs-vswitchd; looked up again for each connection. */
  readonly control: string | (() => string);
  /** Whether ovs-vswitchd is known not to run; absent where that cannot be known. */
  readonly isDaemonGone?: () => boolean;
  /** Nothing is set up: for callers that only read. */
  readonly readOnly?: boolean;
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
}

/** A bridge with many ports takes its time. */
const SET_UP_MS = 10_000;
/** Longer than the delays between the first connection attempts. */
const OPENFLOW_WAIT_MS = 2000;

export class OvsSwitch implements Switch {
  readonly control: UnixctlClient;
  readonly #options: OvsSwitchOptions;
  readonly #database: OvsdbClient;
  readonly #openFlow: OpenFlowClient;
  readonly #ports: BridgePorts;
  readonly #notifier = new ChangeNotifier();
  readonly #bfdStatus: BfdStatus;
  readonly #bfdListeners = new Set<() => void>();
  #opened: Promise<Monitor> | undefined;
  #monitor: Monitor | undefined;
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
    this.#conntrack = new ConntrackTable({ control: this.control, sendPackets: (packets) => this.sendPackets(packets) });
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
      await this.#open();
      await this.#openFlow.sendPackets(packets);
    });
  }

  /** Plugs an interface of this machine into the bridge. Idempotent. */
  async plug(name: string): Promise<void> {
    await mapDaemonFailure(async () => this.#transact(plugOperations(await this.#open(), this.#options.bridge, name)));
  }

  async unplug(name: string): Promise<void> {
    await mapDaemonFailure(async () =>
      this.#transact(unplugOperations(await this.#open(), this.#options.bridge, name)),
    );
  }

  async identity(): Promise<SwitchIdentity> {
    return mapDaemonFailure(async () => readIdentity(await this.#open(), this.#options.bridge));
  }

  read(): Promise<SwitchContents> {
    return this.#notifier.trackRead(() => this.#readAll());
  }

  #readAll(): Promise<SwitchContents> {
    return mapDaemonFailure(async () => {
      const tables = await this.#open();
      const [flows, groups] = await Promise.all([this.#openFlow.flows(), this.#openFlow.groups()]);
      return {
        flows,
        // Types that we never use are foreign, and only scanned for references.
        groups: groups as readonly Group[],
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
    await mapDaemonFailure(async () => this.#applyOperations(setUpOperations(await this.#open(), this.#options)));
  }

  async tearDown(): Promise<void> {
    await mapDaemonFailure(async () => this.#applyOperations(tearDownOperations(await this.#open(), this.#options)));
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
    return mapDaemonFailure(async () => readPluggedInterfaces(await this.#open(), this.#options));
  }

  probe(): Promise<SwitchCondition | undefined> {
    return probeSwitch({
      clock: this.#options.clock,
      isDaemonGone: this.#options.isDaemonGone ?? (() => false),
      uplinkErrors: () => (this.#monitor === undefined ? [] : findUplinkErrors(this.#monitor, this.#options)),
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
    return this.#monitor === undefined ? [] : findBfdPortErrors(this.#monitor, this.#options);
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
      const external = externalPortName(await this.#open(), this.#options) ?? EXTERNAL_NAME;
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

  /** The tables of the database, once the bridge is set up. */
  async #open(): Promise<Monitor> {
    this.#opened ??= this.#startMonitor();
    try {
      const tables = await this.#opened;
      await this.#ensureBridge(tables);
      await this.#waitForOpenFlow();
      return tables;
    } catch (error) {
      if (this.#monitor === undefined) this.#opened = undefined;
      throw error;
    }
  }

  async #startMonitor(): Promise<Monitor> {
    const monitor = await this.#database.monitor(DATABASE, BRIDGE_TABLES);
    this.#monitor = monitor;
    this.#ports.update(monitor);
    this.#updateBfdStatus(monitor);
    monitor.onChange((changes) => {
      // Statistics counters say nothing about ports.
      if (changes.every(({ table }) => table === 'Open_vSwitch')) return;
      this.#ports.update(monitor);
      this.#updateBfdStatus(monitor);
      if (changes.some((change) => change.table !== 'Open_vSwitch' && !isStatusOnlyChange(change)))
        this.#notifier.recordChange();
    });
    return monitor;
  }

  #updateBfdStatus(tables: Monitor): void {
    const { hasChanged, hasFirstUp } = this.#bfdStatus.update(tables);
    if (hasChanged) for (const listener of this.#bfdListeners) listener();
    if (hasFirstUp) this.#notifier.notify();
  }

  async #ensureBridge(tables: Monitor): Promise<void> {
    if (this.#options.readOnly === true) {
      const { bridge } = this.#options;
      if (findBridge(tables, bridge) === undefined) throw new SwitchDown(`there is no bridge ${bridge}`);
      return;
    }
    await this.#applyOperations(bridgeOperations(tables, this.#options));
  }

  /** Resolves when the switch itself has applied it, and ports have their numbers. */
  async #applyOperations(operations: readonly Operation[]): Promise<void> {
    const tables = this.#monitor;
    if (operations.length === 0 || tables === undefined) return;
    await applyTransaction(this.#database, tables, { operations, timeoutMs: SET_UP_MS });
  }

  /** A bridge that was created just now accepts connections a moment later; a missing one fails at once. */
  async #waitForOpenFlow(): Promise<void> {
    if (this.#openFlow.isUp) return;
    const up = new AbortController();
    const stop = this.#openFlow.onUp(() => up.abort());
    await this.#options.clock.sleep(OPENFLOW_WAIT_MS, up.signal);
    stop();
  }

  async #transact(operations: readonly Operation[]): Promise<void> {
    if (operations.length === 0) return;
    await this.#database.transact(DATABASE, operations);
    // Updates arrive before the answer to a later request: what is read next shows the change.
    await this.#database.echo();
  }

  /** Ports are added before a group watches them, and removed after none does. They have numbers when the switch has applied them. */
  async #configure(changes: readonly SwitchChange[], what: ChangeStage): Promise<void> {
    const tables = await this.#open();
    const words = externalIdOperations(this.#options.bridge, changes, what);
    const ports = bfdOperations(tables, this.#options.bridge, changes, what);
    if (ports.length === 0) return this.#transact(words);
    // The notification of the switch follows the change: what is read next shows both.
    await applyTransaction(this.#database, tables, { operations: [...words, ...ports], timeoutMs: SET_UP_MS });
  }

  /** Only the user-space datapath loses packets to peers that it does not know. */
  async #resolveNeighbours(changes: readonly SwitchChange[]): Promise<void> {
    if (this.#options.datapath !== 'netdev') return;
    const { tunnels } = readBridgeIds(await this.#open(), this.#options.bridge);
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
