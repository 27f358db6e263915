// The hosts that a report has excluded so far, counted by cause.
import type { FilterRejection } from './report.ts';

/** No more hosts are named with one cause. */
const NAMED_MAX = 8;

export interface FilterLoss {
  readonly rejection: FilterRejection;
  lost: number;
  /** The most that any of them had free of the requested amount; -Infinity where nothing was measured. */
  most: number;
  /** Of hosts that the request itself excludes by name, the first, sorted by name. */
  readonly hosts: string[];
}

export class Losses {
  readonly #byCause = new Map<string, FilterLoss>();

  count(rejection: FilterRejection): void {
    const key = `${rejection.filter} ${rejection.cause} ${factsKey(rejection.facts)}`;
    let loss = this.#byCause.get(key);
    if (loss === undefined) this.#byCause.set(key, (loss = { rejection, lost: 0, most: -Infinity, hosts: [] }));
    loss.lost += 1;
    if (rejection.left !== undefined && rejection.left > loss.most) loss.most = rejection.left;
    if (rejection.host !== undefined) loss.hosts.push(rejection.host);
  }

  /** Sorted by the number of excluded hosts. */
  rank(): FilterLoss[] {
    return [...this.#byCause]
      .sort(([one, { lost }], [other, { lost: otherLost }]) =>
        lost === otherLost ? (one < other ? -1 : 1) : otherLost - lost,
      )
      .map(([, loss]) => loss);
  }
}

/** The facts of each loss: its cause, the most that was free, and the named hosts. */
export function lossFacts({ rejection, most, hosts }: FilterLoss): Readonly<Record<string, string | number>> {
  return {
    ...rejection.facts,
    ...(most !== -Infinity && { most: Math.max(0, most) }),
    ...(hosts.length > 0 && { hosts: namesText(hosts) }),
  };
}

function namesText(named: readonly string[]): string {
  const names = [...named].sort();
  const more = names.length - NAMED_MAX;
  return `${names.slice(0, NAMED_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Called for every host of the fleet: it allocates nothing. */
function factsKey(facts: FilterRejection['facts']): string {
  let key = '';
  for (const name in facts) key += `${name}=${facts[name]} `;
  return key;
}
