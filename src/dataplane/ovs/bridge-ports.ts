// The ports of the bridge by the names that flows use, cached until the database notifies of a change: while a switch with hundreds of
// flows is read, ports are looked up hundreds of times.
import type { PortNames } from './openflow/ports.ts';
import type { Monitor } from './ovsdb/monitor.ts';
import { EXTERNAL_NAME, externalPortName, readPorts, type BridgePlan } from './bridge.ts';

interface PortTable {
  readonly numbers: ReadonlyMap<string, number>;
  readonly names: ReadonlyMap<number, string>;
}

const NONE: PortTable = { numbers: new Map(), names: new Map() };

export class BridgePorts implements PortNames {
  readonly #plan: BridgePlan;
  #tables: Pick<Monitor, 'table'> | undefined;
  #known: PortTable | undefined;

  constructor(plan: BridgePlan) {
    this.#plan = plan;
  }

  /** The tables were replaced or changed. */
  update(tables: Pick<Monitor, 'table'>): void {
    this.#tables = tables;
    this.#known = undefined;
  }

  number(name: string): number | undefined {
    return this.#readTable().numbers.get(name);
  }

  name(number: number): string | undefined {
    return this.#readTable().names.get(number);
  }

  names(): readonly string[] {
    return [...this.#readTable().numbers.keys()];
  }

  #readTable(): PortTable {
    return (this.#known ??= this.#tables === undefined ? NONE : readPortTable(this.#tables, this.#plan));
  }
}

/** The external port has one name everywhere. */
function readPortTable(tables: Pick<Monitor, 'table'>, plan: BridgePlan): PortTable {
  const external = externalPortName(tables, plan);
  const ports = readPorts(tables, plan.bridge).map(({ name, ofport }) => {
    return { name: name === external ? EXTERNAL_NAME : name, ofport };
  });
  return {
    numbers: new Map(ports.map(({ name, ofport }) => [name, ofport])),
    names: new Map(ports.map(({ name, ofport }) => [ofport, name])),
  };
}
