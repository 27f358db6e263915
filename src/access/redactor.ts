// Redaction for callers that are bound to a site or a project: nothing about others is shown. Documents and reasons of its own site may name hosts,
// instances and ports elsewhere, as the end of a move or as what is in the way; such names are removed from its answers.
import type { FleetReader, Id, Reason, Refusal } from '../fleet/index.ts';
import { isBound, type Caller } from './role.ts';
import { isVisibleTo, type Representation } from './representation.ts';

/** In place of a name that is not the caller's to know. */
const HIDDEN = '(hidden)';

/** Authors that are named after what they speak for; their names are made by this program. */
const MACHINE_AUTHOR = /^((?:agent|manager)\/|join )(.+)$/s;

/** The fields of documents that name an author. */
const AUTHOR_FIELDS: ReadonlySet<string> = new Set(['by', 'changedBy', 'createdBy']);

/** As ids are formed. A full stop or colon at the end belongs to the sentence. */
const WORD = /[A-Za-z0-9](?:[A-Za-z0-9._:@-]*[A-Za-z0-9_@-])?/g;

/** More than any id has; what has more is text, not a name. */
const PARTS_MAX = 12;

export class Redactor {
  readonly caller: Caller;
  readonly #fleet: FleetReader;
  readonly #named: readonly Representation[];
  /** Words that are no secret: the caller said them, or is bound to that site. */
  readonly #requestWords: ReadonlySet<string>;

  constructor(caller: Caller, fleet: FleetReader, named: readonly Representation[], said: Iterable<string> = []) {
    this.caller = caller;
    this.#fleet = fleet;
    this.#named = named;
    this.#requestWords = new Set(caller.site === undefined ? said : [...said, caller.site]);
  }

  /** Whether there is something of this kind and name that the caller may see. */
  canSee(kind: string, id: string): boolean {
    return this.#named.some((one) => one.kind.name === kind && this.#visibilityOf(one, id) === 'seen');
  }

  /** A text that this program has written, without the names of what the caller may not see. */
  redactText(text: string): string {
    return text.replaceAll(WORD, (word) => (!this.#requestWords.has(word) && this.#namesForeign(word) ? HIDDEN : word));
  }

  /** The same for text that a caller gave: to its own author it is shown as it was written. */
  redactTextBy(text: string, author: string): string {
    return author === this.caller.name ? text : this.redactText(text);
  }

  /**
   * An author without the host that it speaks for. The caller must see that host: that none is found under its name does not make it
   * the caller's to know.
   */
  redactAuthor(author: string): string {
    const [, role, name] = author === this.caller.name ? [] : (MACHINE_AUTHOR.exec(author) ?? []);
    if (role === undefined || name === undefined || this.canSee('host', name)) return author;
    return `${role}${HIDDEN}`;
  }

  /** What is shown of any document, without such authors: who wrote it is in fields of the same names in every kind. */
  redactAuthors<T>(shown: T): T {
    if (Array.isArray(shown)) {
      const items = shown.map((one: unknown) => this.redactAuthors(one));
      return items.some((one, at) => one !== shown[at]) ? (items as T) : shown;
    }
    if (typeof shown !== 'object' || shown === null) return shown;
    const changed = Object.entries(shown).flatMap(([name, value]: [string, unknown]) => {
      const isAuthor = typeof value === 'string' && AUTHOR_FIELDS.has(name);
      const redacted = isAuthor ? this.redactAuthor(value) : this.redactAuthors(value);
      return redacted === value ? [] : [[name, redacted] as const];
    });
    return changed.length === 0 ? shown : { ...shown, ...Object.fromEntries(changed) };
  }

  redactReason<R extends Reason>(reason: R): R {
    return { ...this.redactFacts(reason), code: reason.code };
  }

  redactFacts<F extends object>(facts: F): F {
    return Object.fromEntries(Object.entries(facts).map(([name, fact]) => [name, this.#fact(fact)])) as F;
  }

  /**
   * A refusal without what is in the way elsewhere. Words of the request stay, whether they name something or not: else what is left out
   * would reveal which names exist.
   */
  redactRefusal(refusal: Refusal, sent: string): Refusal {
    const sight = new Redactor(this.caller, this.#fleet, this.#named, sent.match(WORD) ?? []);
    const { message, facts, ...rest } = refusal;
    return {
      ...rest,
      message: sight.redactText(message),
      ...(facts !== undefined && { facts: sight.redactFacts(facts) }),
    };
  }

  #fact(fact: unknown): unknown {
    if (typeof fact === 'string') return this.redactText(fact);
    if (Array.isArray(fact)) return fact.map((one) => this.#fact(one));
    if (typeof fact !== 'object' || fact === null) return fact;
    return this.redactFacts(fact);
  }

  /** Ids of operations and items are made of others: `drain-12.compute-7.instance-moves`. */
  #namesForeign(word: string): boolean {
    const parts = word.split('.');
    if (parts.length === 1 || parts.length > PARTS_MAX) return this.#isForeign(word);
    if (this.#named.some((one) => this.#visibilityOf(one, word) === 'seen')) return false;
    return parts.some((_, from) =>
      parts.some((__, to) => to >= from && this.#isForeign(parts.slice(from, to + 1).join('.'))),
    );
  }

  /**
   * A word that names something of the caller's own is no secret, whatever else has the same name: so no caller finds out what others
   * have by giving names to things.
   */
  #isForeign(word: string): boolean {
    let isForeign = false;
    for (const representation of this.#named) {
      const found = this.#visibilityOf(representation, word);
      if (found === 'seen') return false;
      isForeign ||= found === 'foreign';
    }
    return isForeign;
  }

  #visibilityOf(representation: Representation, id: string): 'seen' | 'foreign' | 'nothing' {
    const stored = this.#fleet.get(representation.kind, id as Id<string>);
    if (stored === undefined) return 'nothing';
    // What belongs to no site may be named to callers of any site.
    const { site: _, ...anywhere } = this.caller;
    const caller = representation.hasSite ? this.caller : anywhere;
    return isVisibleTo(caller, representation, { stored, fleet: this.#fleet }) ? 'seen' : 'foreign';
  }
}

/** Undefined for a caller that sees everything. */
export type RedactorFor = (caller: Caller, fleet: FleetReader) => Redactor | undefined;

/** From how every kind is shown. */
export function redactorFactory(named: readonly Representation<string, never>[]): RedactorFor {
  const all = named as unknown as readonly Representation[];
  const placed = all.filter(({ hasSite }) => hasSite);
  const owned = all.filter(({ hasSite, hasProject }) => hasSite || hasProject);
  return (caller, fleet) =>
    isBound(caller) ? new Redactor(caller, fleet, caller.project === undefined ? placed : owned) : undefined;
}
