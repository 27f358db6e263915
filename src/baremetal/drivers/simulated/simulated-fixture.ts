// Simulated machines on a journal in memory, for tests: nodes that are enrolled, and a way to their machines that checks nothing but what they check.
import { Registry, SETTING, idOf, put, type Change } from '../../../fleet/index.ts';
import { Journal, type Clock, type Decision } from '../../../journal/index.ts';
import { MemoryDisk, MemoryStore } from '../../../journal/runtime.ts';
import { NODE, type Node } from '../../model.ts';
import type { NodeFence } from '../inventory.ts';
import { actOnMachine, readMachine, type RightCheck } from './act.ts';
import { armFault, disarmFaults, type ArmFault } from './faults.ts';
import type { MachineLink } from './machine-driver.ts';
import { MACHINE, MACHINE_CALL, MACHINE_FAULT, type MachineCallNote } from './model.ts';
import { SIMULATED_INVENTORY, type SimulatedInventorySettings } from './settings.ts';

/** Time passes during sleeps. */
class PassingClock implements Clock {
  now = 1_000_000;
  nowMs(): number {
    return this.now;
  }
  async sleep(ms: number): Promise<void> {
    this.now += ms;
  }
  async turn(): Promise<void> {}
}

const CHANGED = { changedBy: 'test', changedAtMs: 0 };

function enrolled(name: string, facts: Partial<Node> = {}): Change {
  const doc: Node = {
    name,
    inventory: 'simulated',
    traits: [],
    memoryMiB: 1024,
    cpus: 4,
    localGiB: 100,
    physicalNetworks: [],
    state: 'available',
    power: 'off',
    epoch: 0,
    ...CHANGED,
    ...facts,
  };
  return put(NODE, idOf(NODE, name), doc);
}

export class SimulatedMachineWorld {
  readonly clock = new PassingClock();
  readonly nodes = ['n1', 'n2', 'n3', 'n4', 'n5'];
  /** Every caller has the right to act, unless a test says otherwise. */
  deny: RightCheck = () => undefined;
  readonly #journal: Journal;
  #ids = 0;

  private constructor(journal: Journal) {
    this.#journal = journal;
  }

  static async start(settings: Partial<SimulatedInventorySettings> = {}): Promise<SimulatedMachineWorld> {
    const disk = new MemoryDisk({ journalId: 'test', nowMs: () => 1 });
    const store = new MemoryStore(disk);
    const registry = new Registry([{ kinds: [SETTING, NODE, MACHINE, MACHINE_FAULT, MACHINE_CALL] }]);
    const ids = { next: (prefix: string) => world.nextId(prefix), secret: () => 'secret' };
    const journal: Journal = new Journal({ store, registry, clock: new PassingClock(), ids });
    const world: SimulatedMachineWorld = new SimulatedMachineWorld(journal);
    await journal.open();
    const lease = await store.acquireLease({ name: 'fleet', holder: 'one', url: 'test://one', ttlMs: 10 ** 12 });
    if (lease.kind !== 'held') throw new Error('the lease is taken');
    await journal.lead({ lease: 'fleet', epoch: lease.lease.epoch });
    const value = { ...SIMULATED_INVENTORY.defaultValue, ...settings };
    await world.put(
      put(SETTING, SIMULATED_INVENTORY.name, { value, ...CHANGED }),
      ...world.nodes.map((one) => enrolled(one)),
    );
    return world;
  }

  get journal(): Journal {
    return this.#journal;
  }

  get ids(): { next: (prefix: string) => string; secret: () => string } {
    return { next: (prefix) => this.nextId(prefix), secret: () => 'secret' };
  }

  nextId(prefix: string): string {
    return `${prefix}-${String((this.#ids += 1)).padStart(8, '0')}`;
  }

  async put(...changes: Change[]): Promise<void> {
    await this.submit(() => ({ kind: 'accept', changes, answer: undefined }));
  }

  async submit<A>(decide: (fleet: Journal['fleet']) => Decision<A>): Promise<A> {
    const outcome = await this.#journal.submit({ by: 'test', decide: (fleet) => decide(fleet as Journal['fleet']) });
    if (outcome.kind === 'refused') throw new Error(`${outcome.refusal.code}: ${outcome.refusal.message}`);
    return outcome.answer;
  }

  async entitle({ node, nodeEpoch, instance }: NodeFence): Promise<void> {
    await this.put(enrolled(node, { state: 'reserved', epoch: nodeEpoch, instance, manager: 'm1', managerEpoch: 1 }));
  }

  async arm(fault: Omit<ArmFault, 'id' | 'by' | 'nowMs'>): Promise<void> {
    const command = { ...fault, id: this.nextId('fault'), by: 'test', nowMs: this.clock.now };
    await this.submit((fleet) => armFault(fleet, command));
  }

  async disarm(): Promise<void> {
    await this.submit((fleet) => disarmFaults(fleet));
  }

  calls(): MachineCallNote[] {
    return Array.from(this.#journal.fleet.all(MACHINE_CALL), ({ doc }) => doc);
  }

  readonly link: MachineLink = {
    act: async (call, { signal }) => {
      if (signal.aborted) return { kind: 'away' };
      const command = { call, note: this.nextId('call'), nowMs: this.clock.now };
      const answer = await this.submit((fleet) => actOnMachine(fleet, command, this.deny));
      if (answer.kind === 'lost') return { kind: 'away' };
      if (answer.kind === 'outcome') return answer;
      return { kind: 'refused', code: answer.refusal.code, message: answer.refusal.message };
    },
    inspect: async (node) => readMachine(this.#journal.fleet, node, this.clock.now),
  };
}
