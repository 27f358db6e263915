// A small control plane whose nodes are in an inventory outside, which it reads. Pauses take no time; a request that hangs does until the test says that it is late.
import type { Clock } from '../../journal/index.ts';
import { ALARM, ALARMS_BY_CODE, type Alarm } from '../../alarms/index.ts';
import { idOf, put, SETTING } from '../../fleet/index.ts';
import type { StartedServer } from '../../hosts/world-fixture.ts';
import type { OperationsController } from '../../operations/runtime.ts';
import { NODE, type Node } from '../model.ts';
import { putManager } from '../reservations/reservations-fixture.ts';
import { ReservationsWorld } from '../reservations/reservations-world-fixture.ts';
import { INVENTORY, type InventoryNote } from './model.ts';
import { InventoryRefresh } from './refresh-controller.ts';
import { INVENTORY_REFRESH } from './settings.ts';

export const FIVE = ['n1', 'n2', 'n3', 'n4', 'n5'];

export class RefreshWorld extends ReservationsWorld {
  /** What hangs is late at once. */
  isLate = false;
  /** How long was slept, one after the other. */
  readonly pauses: number[] = [];
  readonly logged: string[] = [];
  refresh!: InventoryRefresh;

  /** Pages of two nodes, in inventory `ironic`. */
  static override async of(nodes: readonly string[] = FIVE): Promise<RefreshWorld> {
    const world = new RefreshWorld(nodes, 'ironic');
    await world.restart();
    const value = { intervalMs: 10_000, pageSize: 2 };
    await world.put(
      putManager('m1'),
      put(SETTING, INVENTORY_REFRESH.name, { value, changedBy: 'test', changedAtMs: 0 }),
    );
    return world;
  }

  protected override begin(server: StartedServer): OperationsController {
    const sleep: Clock['sleep'] = (ms, signal) => {
      if (ms === 30_000 && this.isLate) return Promise.resolve();
      if (ms !== 30_000) this.pauses.push(ms);
      return server.clock.sleep(ms, signal);
    };
    const log = (_facts: object, message: string): void => void this.logged.push(message);
    this.refresh = new InventoryRefresh({
      journal: server.journal,
      clock: { nowMs: () => server.clock.nowMs(), turn: () => server.clock.turn(), sleep },
      log: { info: log, warn: log },
      inventory: this.inventory,
    });
    return super.begin(server);
  }

  /** A pass, some time after the last one. */
  async readInventory(): Promise<void> {
    this.clock.now += 10_000;
    await this.refresh.reconcile();
  }

  get note(): InventoryNote | undefined {
    return this.fleet.get(INVENTORY, idOf(INVENTORY, 'ironic'))?.doc;
  }

  get alarms(): readonly Alarm[] {
    return Array.from(this.fleet.all(ALARM), ({ doc }) => doc);
  }

  alarm(code: string): Alarm | undefined {
    for (const { doc } of this.fleet.find(ALARMS_BY_CODE, code)) return doc;
    return undefined;
  }

  get states(): Readonly<Record<string, Node['state']>> {
    return Object.fromEntries(Array.from(this.fleet.all(NODE), ({ id, doc }) => [id, doc.state]));
  }

  /** Reads since the last call. */
  takeReads(): readonly string[] {
    return this.inventory.reads.splice(0);
  }
}
