// How a kind is shown: by whom it may be seen, to which site it belongs, and without what must stay inside. A document
// is rendered to text once, however often it is read.
import { Type, type TObject, type TProperties } from 'typebox';
import type { AnyDoc, FleetReader, Id, Kind, Stored } from '../fleet/index.ts';
import { seesSite, type Caller } from './role.ts';

export type SiteOf<D extends AnyDoc> = (doc: D, id: string, fleet: FleetReader) => string | undefined;

export interface View<K extends string = string, D extends AnyDoc = AnyDoc> {
  readonly kind: Kind<K, D>;
  /** Who may see it at all. */
  readonly access: 'viewer' | 'operator' | 'admin';
  /** The site it belongs to; undefined for what belongs to the whole fleet. */
  readonly siteOf: SiteOf<D>;
  /** The document as anybody may see it. */
  readonly show: (doc: D) => object;
  /** What is shown, with its id and revision. */
  readonly schema: TObject;
  /** The same as JSON text. */
  readonly text: (stored: Shown<D>) => string;
}

/** A stored document of whatever kind the view is for. */
export interface Shown<D extends AnyDoc> {
  readonly id: string;
  readonly revision: number;
  readonly doc: D;
}

export interface ViewOptions<K extends string, D extends AnyDoc> {
  readonly kind: Kind<K, D>;
  readonly access?: 'viewer' | 'operator' | 'admin';
  readonly siteOf?: SiteOf<D>;
  readonly show?: (doc: D) => object;
  /** The fields that `show` answers. */
  readonly fields: TProperties;
}

export function viewOf<K extends string, D extends AnyDoc>(options: ViewOptions<K, D>): View<K, D> {
  const { kind, access = 'viewer', siteOf = () => undefined, show = (doc: D) => doc, fields } = options;
  // Keyed by the stored document, which is replaced and never changed: what is forgotten there is forgotten here.
  const texts = new WeakMap<Shown<D>, string>();
  const text = (stored: Shown<D>): string => {
    let known = texts.get(stored);
    if (known === undefined) {
      known = JSON.stringify({ id: stored.id, revision: stored.revision, ...show(stored.doc) });
      texts.set(stored, known);
    }
    return known;
  };
  const schema = Type.Object({ id: Type.String(), revision: Type.Integer(), ...fields });
  return { kind, access, siteOf, show, schema, text };
}

/** The document, when it exists and the caller may know that it does. */
export function seen<K extends string, D extends AnyDoc>(
  fleet: FleetReader,
  view: View<K, D>,
  wanted: { readonly caller: Caller; readonly id: string },
): Stored<K, D> | undefined {
  const stored = fleet.get(view.kind, wanted.id as Id<K>);
  if (stored === undefined || wanted.caller.site === undefined) return stored;
  return seesSite(wanted.caller, view.siteOf(stored.doc, stored.id, fleet)) ? stored : undefined;
}
