// Hosts that a report has lost so far, counted by what stopped them.
import type { Fault } from './report.ts';

/** More hosts are not named with one cause. */
const NAMED_MAX = 8;

export interface Loss {
  readonly fault: Fault;
  lost: number;
  /** The most that any of them had left of what was asked; -Infinity where nothing was measured. */
  most: number;
  /** Of hosts that the request itself rules out by name, the first in the order of names. */
  readonly named: string[];
}

export class Losses {
  readonly #byCause = new Map<string, Loss>();

  count(fault: Fault): void {
    const key = `${fault.filter} ${fault.cause} ${factsKey(fault.facts)}`;
    let loss = this.#byCause.get(key);
    if (loss === undefined) this.#byCause.set(key, (loss = { fault, lost: 0, most: -Infinity, named: [] }));
    loss.lost += 1;
    if (fault.left !== undefined && fault.left > loss.most) loss.most = fault.left;
    if (fault.named !== undefined) loss.named.push(fault.named);
  }

  /** What stopped most of them first. */
  ranked(): Loss[] {
    return [...this.#byCause]
      .sort(([one, { lost }], [other, { lost: otherLost }]) =>
        lost === otherLost ? (one < other ? -1 : 1) : otherLost - lost,
      )
      .map(([, loss]) => loss);
  }
}

/** Told with every loss: the facts of its cause, the most that was left, and the hosts that are named. */
export function lossFacts({ fault, most, named }: Loss): Readonly<Record<string, string | number>> {
  return {
    ...fault.facts,
    ...(most !== -Infinity && { most: Math.max(0, most) }),
    ...(named.length > 0 && { hosts: namesText(named) }),
  };
}

function namesText(named: readonly string[]): string {
  const names = [...named].sort();
  const more = names.length - NAMED_MAX;
  return `${names.slice(0, NAMED_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Counted for every host of the fleet: no object is made for it. */
function factsKey(facts: Fault['facts']): string {
  let key = '';
  for (const name in facts) key += `${name}=${facts[name]} `;
  return key;
}
