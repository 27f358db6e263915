// The translated connections of Open vSwitch: what is in a conntrack zone, and how connections that were made elsewhere get into one.
import type { ConntrackImport, TrackedConnection } from '../switch/switch.ts';
import { connectionKey, conntrackPacketOut, hasSameNatSource, toTrackedConnections } from './conntrack-entries.ts';
import type { PacketOut } from './openflow/mods.ts';
import { CommandRefused, type UnixctlClient } from './unixctl/client-driver.ts';

/** The thread that forwards packets also processes these: few enough that no packet waits for long. */
const PACKETS_AT_ONCE = 500;

export interface ConntrackParts {
  readonly control: UnixctlClient;
  readonly sendPackets: (packets: readonly PacketOut[]) => Promise<void>;
}

export class ConntrackTable {
  readonly #parts: ConntrackParts;
  /** Track connections whose beginning was not seen. A restarted switch has lost that setting. */
  #isSequenceCheckOff = false;

  constructor(parts: ConntrackParts) {
    this.#parts = parts;
  }

  /** The switch was restarted. */
  forgetSettings(): void {
    this.#isSequenceCheckOff = false;
  }

  /** Before any flow tracks connections: those whose beginning another host saw must not break. */
  async ensureSequenceCheckOff(): Promise<void> {
    if (this.#isSequenceCheckOff) return;
    try {
      await this.#parts.control.disableTcpSequenceCheck();
    } catch (error) {
      // The kernel datapath has a setting of its own.
      if (!(error instanceof CommandRefused)) throw error;
    }
    this.#isSequenceCheckOff = true;
  }

  async list(zone: number): Promise<readonly TrackedConnection[]> {
    return toTrackedConnections((await this.#parts.control.dumpConntrack({ zone })).entries);
  }

  /** Those that are there stay as they are. */
  async import(zone: number, connections: readonly TrackedConnection[]): Promise<ConntrackImport> {
    const known = indexByKey(await this.list(zone));
    const missing = connections.filter((one) => !known.has(connectionKey(one)));
    const packets = missing.flatMap((one) => conntrackPacketOut(zone, one) ?? []);
    for (let at = 0; at < packets.length; at += PACKETS_AT_ONCE)
      await this.#parts.sendPackets(packets.slice(at, at + PACKETS_AT_ONCE));
    const now = missing.length === 0 ? known : indexByKey(await this.list(zone));
    const imported = missing.filter((one) => {
      const there = now.get(connectionKey(one));
      return there !== undefined && hasSameNatSource(there, one);
    }).length;
    return { imported, present: connections.length - missing.length, failed: missing.length - imported };
  }

  async flush(zone: number): Promise<void> {
    await this.#parts.control.flushConntrack({ zone });
  }
}

function indexByKey(connections: readonly TrackedConnection[]): Map<string, TrackedConnection> {
  return new Map(connections.map((one) => [connectionKey(one), one]));
}
