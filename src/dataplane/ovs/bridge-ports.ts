// The ports of the bridge by the names that flows have for them, kept until the database tells of a change: a switch with hundreds of
// flows is asked for one of them hundreds of times while it is read.
import type { PortNames } from '../openflow/ports.ts';
import type { Monitor } from '../ovsdb/monitor.ts';
import { EXTERNAL_NAME, externalIn, portsIn, type BridgePlan } from './bridge.ts';

interface Known {
  readonly numbers: ReadonlyMap<string, number>;
  readonly names: ReadonlyMap<number, string>;
}

const NONE: Known = { numbers: new Map(), names: new Map() };

export class BridgePorts implements PortNames {
  readonly #plan: BridgePlan;
  #tables: Pick<Monitor, 'table'> | undefined;
  #known: Known | undefined;

  constructor(plan: BridgePlan) {
    this.#plan = plan;
  }

  /** The tables are others, or say something else. */
  changed(tables: Pick<Monitor, 'table'>): void {
    this.#tables = tables;
    this.#known = undefined;
  }

  number(name: string): number | undefined {
    return this.#look().numbers.get(name);
  }

  name(number: number): string | undefined {
    return this.#look().names.get(number);
  }

  all(): readonly string[] {
    return [...this.#look().numbers.keys()];
  }

  #look(): Known {
    return (this.#known ??= this.#tables === undefined ? NONE : known(this.#tables, this.#plan));
  }
}

/** The way out has one name everywhere. */
function known(tables: Pick<Monitor, 'table'>, plan: BridgePlan): Known {
  const external = externalIn(tables, plan);
  const ports = portsIn(tables, plan.bridge).map(({ name, ofport }) => {
    return { name: name === external ? EXTERNAL_NAME : name, ofport };
  });
  return {
    numbers: new Map(ports.map(({ name, ofport }) => [name, ofport])),
    names: new Map(ports.map(({ name, ofport }) => [ofport, name])),
  };
}
