// A small control plane that reserves nodes whose inventory is outside the journal. Time passes when the test says so; no call takes any.
import { accept, type Clock } from '../../journal/index.ts';
import type { Change } from '../../fleet/index.ts';
import { TestWorld, type StartedServer } from '../../hosts/world-fixture.ts';
import type { ActionOutcome } from '../../operations/index.ts';
import { OperationsController } from '../../operations/runtime.ts';
import { NODES_BY_CLAIM, RESERVATION, type InventoryName, type Node, type Reservation } from '../model.ts';
import { MODELS, nodeOf, putNode } from '../nodes-fixture.ts';
import { reservationClaim } from './claim-operation.ts';
import { CLAIMS_DRIVER } from './claim-order.ts';
import { ClaimsDriver } from './claims-driver.ts';
import { reservationId } from './documents.ts';
import { FakeInventory } from './inventory-fixture.ts';
import { beginRelease, type Release } from './release.ts';
import { reservationRelease } from './release-operation.ts';
import { putManager, reservationOf, reserveCommand, type BodyFields } from './reservations-fixture.ts';
import { reserveNode, type ReserveAnswer } from './reserve.ts';

const KINDS = new Map([reservationClaim, reservationRelease].map((kind) => [kind.name, kind]));

function waitUntilAborted(signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  signal?.addEventListener('abort', () => resolve(undefined));
  return promise;
}

const NEVER = Promise.withResolvers<ActionOutcome>().promise;

/** Waits for an answer as long as it takes. */
export const STILL: Clock = {
  nowMs: () => 0,
  sleep: (_ms, signal) => waitUntilAborted(signal),
  turn: async () => undefined,
};

export class ReservationsWorld extends TestWorld {
  readonly inventory: FakeInventory;
  /** Calls hang from here on, until the server is started anew. */
  isHanging = false;

  constructor(ids: readonly string[], name: InventoryName = 'simulated') {
    super(MODELS);
    this.inventory = new FakeInventory(ids, name);
  }

  static async of(nodes: readonly string[], more: readonly Change[] = []): Promise<ReservationsWorld> {
    const world = new ReservationsWorld(nodes);
    await world.restart();
    await world.put(putManager('m1'), ...nodes.map((id) => putNode(id)), ...more);
    return world;
  }

  protected override get tickMs(): number {
    return 250;
  }

  protected override begin({ journal, clock, log }: StartedServer): OperationsController {
    const inventories = new Map([[this.inventory.name, this.inventory]]);
    const driver = new ClaimsDriver({ clock: STILL, inventories });
    const carryOut: typeof driver.carryOut = (...call) => (this.isHanging ? NEVER : driver.carryOut(...call));
    return new OperationsController({
      journal,
      clock,
      kinds: KINDS,
      drivers: new Map([[CLAIMS_DRIVER, { carryOut }]]),
      log,
      scanMs: 250,
    });
  }

  async reserve(body: BodyFields = {}): Promise<ReserveAnswer['kind']> {
    const operation = this.operation();
    const command = reserveCommand(body, { operation, nowMs: this.nowMs, claimModeOf: () => 'endpoint' });
    return (await this.commit((fleet) => reserveNode(fleet, command))).kind;
  }

  async release(instance = 'i1'): Promise<Release['kind']> {
    const operation = this.operation();
    const { nowMs } = this;
    return this.commit((fleet) => {
      const stored = fleet.get(RESERVATION, reservationId(instance));
      if (stored === undefined) return accept([], 'released' as const);
      const release = beginRelease(fleet, stored, { operation, by: 'test', nowMs });
      return accept(release.changes, release.kind);
    });
  }

  async ticks(count: number): Promise<void> {
    for (let nth = 0; nth < count; nth += 1) await this.tick();
  }

  reservation(instance = 'i1'): Reservation | undefined {
    return reservationOf(this.fleet, instance);
  }

  node(id: string): Node | undefined {
    return nodeOf(this.fleet, id);
  }

  /** The nodes that are held for an instance. */
  held(instance = 'i1'): string[] {
    return [...this.fleet.find(NODES_BY_CLAIM, instance)].map(({ id }) => id);
  }

  /** The claims that were requested, in their order. */
  claims(): string[] {
    return this.inventory.calls.map(({ op, node, answer }) => `${op} ${node}: ${answer}`);
  }
}
