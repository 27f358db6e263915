// When BFD to a host goes down at its peers, as their switches say it.
import { bfdPortName } from '../../src/dataplane/switch/derived-ids.ts';
import { OvsdbClient } from '../../src/dataplane/ovs/ovsdb/client-driver.ts';
import type { Monitor } from '../../src/dataplane/ovs/ovsdb/monitor.ts';
import { textColumn, textMapColumn } from '../../src/dataplane/ovs/ovsdb/read-column.ts';
import { realClock } from '../../src/main/clock.ts';
import type { LabHost } from '../underlay/host.ts';

const TABLES = { Interface: ['name', 'bfd_status'] };

export class BfdMonitor {
  readonly #clients: OvsdbClient[] = [];
  /** By listener: the moment by the clock. */
  readonly #missed = new Map<string, number>();
  readonly #listeners: number;

  private constructor(listeners: number) {
    this.#listeners = listeners;
  }

  static async start(listeners: readonly LabHost[], host: string): Promise<BfdMonitor> {
    const bfd = new BfdMonitor(listeners.length);
    const port = bfdPortName(host).slice(1, -1);
    for (const { names } of listeners) {
      const client = new OvsdbClient({ address: names.database, clock: realClock, random: Math.random });
      bfd.#clients.push(client);
      const monitor = await client.monitor('Open_vSwitch', TABLES);
      if (!isBfdUp(monitor, port)) throw new Error(`${names.name} has BFD to ${host} down`);
      monitor.onChange(() => {
        if (!isBfdUp(monitor, port) && !bfd.#missed.has(names.name)) bfd.#missed.set(names.name, Date.now());
      });
    }
    return bfd;
  }

  /** When the last of them missed it. */
  lastDownMs(): number {
    if (this.#missed.size < this.#listeners) throw new Error('not all of them missed it');
    return Math.max(...this.#missed.values());
  }

  async close(): Promise<void> {
    for (const client of this.#clients) await client.close();
  }
}

function isBfdUp(monitor: Monitor, port: string): boolean {
  const row = [...monitor.table('Interface').values()].find((one) => textColumn(one, 'name') === port);
  return textMapColumn(row, 'bfd_status')['forwarding'] === 'true';
}
