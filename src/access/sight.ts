// What a caller that is bound to a site or a project may be told of others: nothing. Documents and reasons of its own site may name hosts,
// instances and ports elsewhere, as the end of a move or as what is in the way; such names are taken out of what it is shown.
import type { FleetReader, Id, Reason, Refusal } from '../fleet/index.ts';
import { isBound, type Caller } from './role.ts';
import { isSeenBy, type View } from './view.ts';

/** In place of a name that is not the caller's to know. */
const HIDDEN = '(hidden)';

/** As ids are formed. A full stop or colon at the end belongs to the sentence. */
const WORD = /[A-Za-z0-9](?:[A-Za-z0-9._:@-]*[A-Za-z0-9_@-])?/g;

/** More than any id has; what has more is text, not a name. */
const PARTS_MAX = 12;

export class Sight {
  readonly caller: Caller;
  readonly #fleet: FleetReader;
  readonly #named: readonly View[];
  /** Words that are no secret, because the caller said them. */
  readonly #said: ReadonlySet<string>;

  constructor(caller: Caller, fleet: FleetReader, named: readonly View[], said: Iterable<string> = []) {
    this.caller = caller;
    this.#fleet = fleet;
    this.#named = named;
    this.#said = new Set(said);
  }

  /** Whether there is something of this kind and name that the caller may see. */
  sees(kind: string, id: string): boolean {
    return this.#named.some((view) => view.kind.name === kind && this.#look(view, id) === 'seen');
  }

  /** A text that this program has written, without the names of what the caller may not see. */
  text(text: string): string {
    return text.replaceAll(WORD, (word) => (!this.#said.has(word) && this.#tellsOfOthers(word) ? HIDDEN : word));
  }

  /** The same for text that a caller gave: to its own author it is shown as it was written. */
  textBy(text: string, author: string): string {
    return author === this.caller.name ? text : this.text(text);
  }

  reason<R extends Reason>(reason: R): R {
    return { ...this.facts(reason), code: reason.code };
  }

  facts<F extends object>(facts: F): F {
    return Object.fromEntries(Object.entries(facts).map(([name, fact]) => [name, this.#fact(fact)])) as F;
  }

  /**
   * A refusal without what is in the way elsewhere. Words of the request stay, whether they name something or not: else what is left out
   * would tell which names exist.
   */
  refusal(refusal: Refusal, sent: string): Refusal {
    const sight = new Sight(this.caller, this.#fleet, this.#named, sent.match(WORD) ?? []);
    const { message, facts, ...rest } = refusal;
    return { ...rest, message: sight.text(message), ...(facts !== undefined && { facts: sight.facts(facts) }) };
  }

  #fact(fact: unknown): unknown {
    if (typeof fact === 'string') return this.text(fact);
    if (Array.isArray(fact)) return fact.map((one) => this.#fact(one));
    if (typeof fact !== 'object' || fact === null) return fact;
    return this.facts(fact);
  }

  /** Ids of operations and items are made of others: `drain-12.compute-7.instance-moves`. */
  #tellsOfOthers(word: string): boolean {
    const parts = word.split('.');
    if (parts.length === 1 || parts.length > PARTS_MAX) return this.#isForeign(word);
    if (this.#named.some((view) => this.#look(view, word) === 'seen')) return false;
    return parts.some((_, from) =>
      parts.some((__, to) => to >= from && this.#isForeign(parts.slice(from, to + 1).join('.'))),
    );
  }

  /**
   * A word that names something of the caller's own is no secret, whatever else has the same name: so nobody finds out what others
   * have by giving names to things.
   */
  #isForeign(word: string): boolean {
    let isForeign = false;
    for (const view of this.#named) {
      const found = this.#look(view, word);
      if (found === 'seen') return false;
      isForeign ||= found === 'foreign';
    }
    return isForeign;
  }

  #look(view: View, id: string): 'seen' | 'foreign' | 'nothing' {
    const stored = this.#fleet.get(view.kind, id as Id<string>);
    if (stored === undefined) return 'nothing';
    // What is no site's own may be named to everybody of any site.
    const { site: _, ...anywhere } = this.caller;
    const caller = view.isPlaced ? this.caller : anywhere;
    return isSeenBy(caller, view, { stored, fleet: this.#fleet }) ? 'seen' : 'foreign';
  }
}

/** Undefined for a caller that sees everything. */
export type SightOf = (caller: Caller, fleet: FleetReader) => Sight | undefined;

/** From how every kind is shown. */
export function sightOf(named: readonly View<string, never>[]): SightOf {
  const views = named as unknown as readonly View[];
  const placed = views.filter(({ isPlaced }) => isPlaced);
  const owned = views.filter(({ isPlaced, isOwned }) => isPlaced || isOwned);
  return (caller, fleet) =>
    isBound(caller) ? new Sight(caller, fleet, caller.project === undefined ? placed : owned) : undefined;
}
