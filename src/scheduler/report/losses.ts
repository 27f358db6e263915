// Hosts that a report has lost so far, counted by what stopped them.
import type { Rejection } from './report.ts';

/** More hosts are not named with one cause. */
const NAMED_MAX = 8;

export interface Loss {
  readonly rejection: Rejection;
  lost: number;
  /** The most that any of them had left of what was asked; -Infinity where nothing was measured. */
  most: number;
  /** Of hosts that the request itself rules out by name, the first in the order of names. */
  readonly hosts: string[];
}

export class Losses {
  readonly #byCause = new Map<string, Loss>();

  count(rejection: Rejection): void {
    const key = `${rejection.filter} ${rejection.cause} ${factsKey(rejection.facts)}`;
    let loss = this.#byCause.get(key);
    if (loss === undefined) this.#byCause.set(key, (loss = { rejection, lost: 0, most: -Infinity, hosts: [] }));
    loss.lost += 1;
    if (rejection.left !== undefined && rejection.left > loss.most) loss.most = rejection.left;
    if (rejection.host !== undefined) loss.hosts.push(rejection.host);
  }

  /** What stopped most of them first. */
  rank(): Loss[] {
    return [...this.#byCause]
      .sort(([one, { lost }], [other, { lost: otherLost }]) =>
        lost === otherLost ? (one < other ? -1 : 1) : otherLost - lost,
      )
      .map(([, loss]) => loss);
  }
}

/** Told with every loss: the facts of its cause, the most that was left, and the hosts that are named. */
export function lossFacts({ rejection, most, hosts }: Loss): Readonly<Record<string, string | number>> {
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

/** Counted for every host of the fleet: no object is made for it. */
function factsKey(facts: Rejection['facts']): string {
  let key = '';
  for (const name in facts) key += `${name}=${facts[name]} `;
  return key;
}
