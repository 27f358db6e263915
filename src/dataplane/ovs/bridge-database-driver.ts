// The bridge of a host in the database of Open vSwitch: monitored, set up before anything is read from it, and changed by transactions that are
// waited for. It knows ports and settings, and no flows.
import type { OvsdbOperation } from './ovsdb/operation.ts';
import type { Monitor } from './ovsdb/monitor.ts';
import type { OvsdbClient } from './ovsdb/client-driver.ts';
import { applyTransaction } from './ovsdb/apply-transaction.ts';
import { SwitchDown } from '../switch/switch.ts';
import {
  BRIDGE_TABLES,
  bridgeOperations,
  DATABASE,
  findBridge,
  isStatusOnlyChange,
  type BridgePlan,
} from './bridge.ts';

export interface BridgeDatabaseOptions extends BridgePlan {
  /** Nothing is set up: for callers that only read. */
  readonly readOnly?: boolean;
}

export interface BridgeDatabaseParts {
  readonly client: OvsdbClient;
  /** Called with the tables when they are first there, and after each change of them. */
  readonly onTables: (tables: Monitor) => void;
  /** Called after a change of configuration, by whomever; not after one of status alone. */
  readonly onChanged: () => void;
  /** Resolves when the bridge that the database describes can be spoken to. */
  readonly waitForBridge: () => Promise<void>;
}

/** A bridge with many ports takes its time. */
const SET_UP_MS = 10_000;

export class BridgeDatabase {
  readonly #options: BridgeDatabaseOptions;
  readonly #parts: BridgeDatabaseParts;
  #opened: Promise<Monitor> | undefined;
  #monitor: Monitor | undefined;

  constructor(options: BridgeDatabaseOptions, parts: BridgeDatabaseParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** What was read of the database last; undefined before the first time. */
  get tables(): Monitor | undefined {
    return this.#monitor;
  }

  /** The tables of the database, once the bridge is set up. */
  async open(): Promise<Monitor> {
    this.#opened ??= this.#startMonitor();
    try {
      const tables = await this.#opened;
      await this.#ensureBridge(tables);
      await this.#parts.waitForBridge();
      return tables;
    } catch (error) {
      if (this.#monitor === undefined) this.#opened = undefined;
      throw error;
    }
  }

  async #startMonitor(): Promise<Monitor> {
    const monitor = await this.#parts.client.monitor(DATABASE, BRIDGE_TABLES);
    this.#monitor = monitor;
    this.#parts.onTables(monitor);
    monitor.onChange((changes) => {
      // Statistics counters say nothing about ports.
      if (changes.every(({ table }) => table === 'Open_vSwitch')) return;
      this.#parts.onTables(monitor);
      if (changes.some((change) => change.table !== 'Open_vSwitch' && !isStatusOnlyChange(change)))
        this.#parts.onChanged();
    });
    return monitor;
  }

  async #ensureBridge(tables: Monitor): Promise<void> {
    if (this.#options.readOnly === true) {
      const { bridge } = this.#options;
      if (findBridge(tables, bridge) === undefined) throw new SwitchDown(`there is no bridge ${bridge}`);
      return;
    }
    await this.apply(bridgeOperations(tables, this.#options));
  }

  /** Resolves when the switch itself has applied it, and ports have their numbers. Its notification follows: what is read next shows the change. */
  async apply(operations: readonly OvsdbOperation[]): Promise<void> {
    const tables = this.#monitor;
    if (operations.length === 0 || tables === undefined) return;
    await applyTransaction(this.#parts.client, tables, { operations, timeoutMs: SET_UP_MS });
  }

  /** Resolves when it is in the database. */
  async transact(operations: readonly OvsdbOperation[]): Promise<void> {
    if (operations.length === 0) return;
    await this.#parts.client.transact(DATABASE, operations);
    // Updates arrive before the answer to a later request: what is read next shows the change.
    await this.#parts.client.echo();
  }
}
