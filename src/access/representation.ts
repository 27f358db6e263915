// How a kind is shown: by whom it may be seen, to which site it belongs, and without what must stay inside. A document
// is rendered to text once, however often it is read.
import { Type, type TObject, type TProperties } from 'typebox';
import { mapSealed, type AnyDoc, type FleetReader, type Id, type Kind, type Stored } from '../fleet/index.ts';
import { canSeeProject, canSeeSite, type Caller, type Projects } from './role.ts';
import type { Redactor } from './redactor.ts';

/** The site that a document belongs to; undefined for what belongs to the whole fleet. */
export type SiteOf<D extends AnyDoc> = (doc: D, fleet: FleetReader) => string | undefined;

/** Which projects have it, or may see it. */
export type ProjectOf<D extends AnyDoc> = (doc: D, fleet: FleetReader) => Projects;

/** The site of what belongs to no site. */
export const wholeFleet: SiteOf<AnyDoc> = () => undefined;

/** The project of what no project may see. */
export const noProject: ProjectOf<AnyDoc> = () => undefined;

/** The project of what every project may see. */
export const everyProject: ProjectOf<AnyDoc> = () => true;

export interface Representation<K extends string = string, D extends AnyDoc = AnyDoc> {
  readonly kind: Kind<K, D>;
  /** Who may see it at all. */
  readonly access: 'viewer' | 'operator' | 'admin';
  readonly siteOf: SiteOf<D>;
  readonly projectOf: ProjectOf<D>;
  /** Whether some of them are a project's own. */
  readonly hasProject: boolean;
  /** Whether some of them belong to a site, so that other sites' callers may not see their names. */
  readonly hasSite: boolean;
  /** The document as it is shown; for a caller that sees a part of the fleet, without what it says of others. */
  readonly toJson: (doc: D, sight?: Redactor) => object;
  /** What is shown, with its id and revision. */
  readonly schema: TObject;
  /** The same as JSON text. */
  readonly toJsonText: (stored: StoredDocument<D>, sight?: Redactor) => string;
}

/** A stored document of whatever kind the representation is for. */
export interface StoredDocument<D extends AnyDoc> {
  readonly id: string;
  readonly revision: number;
  readonly doc: D;
}

export interface RepresentationOptions<K extends string, D extends AnyDoc> {
  readonly kind: Kind<K, D>;
  readonly access?: 'viewer' | 'operator' | 'admin';
  /** `wholeFleet` for a kind that has nothing to do with sites. */
  readonly siteOf: SiteOf<D>;
  /** `noProject` for a kind that no project may see. */
  readonly projectOf: ProjectOf<D>;
  readonly toJson?: (doc: D) => object;
  /** The document without what it says of others, for a caller that may not see them. */
  readonly redact?: (doc: D, sight: Redactor) => D;
  /** The fields that `show` answers. */
  readonly fields: TProperties;
}

export function defineRepresentation<K extends string, D extends AnyDoc>(
  options: RepresentationOptions<K, D>,
): Representation<K, D> {
  const { kind, access = 'viewer', siteOf, projectOf, redact, toJson = (doc: D) => doc, fields } = options;
  // Keyed by the stored document, which is replaced and never changed: what is forgotten there is forgotten here.
  const texts = new WeakMap<StoredDocument<D>, string>();
  // Authors are in every kind, so that no kind can forget them.
  const limitTo = (doc: D, sight: Redactor | undefined): D =>
    sight === undefined ? doc : sight.redactAuthors(redact === undefined ? doc : redact(doc, sight));
  // Here and not by each kind: a secret is never shown, not even sealed.
  const { sealedFields = [] } = kind;
  const show = (doc: D): object =>
    toJson(sealedFields.length === 0 ? doc : mapSealed(doc, sealedFields, () => '[secret]'));
  const render = ({ id, revision }: StoredDocument<D>, doc: D): string =>
    JSON.stringify({ id, revision, ...show(doc) });
  const toJsonText = (stored: StoredDocument<D>, sight?: Redactor): string => {
    const limited = limitTo(stored.doc, sight);
    if (limited !== stored.doc) return render(stored, limited);
    let known = texts.get(stored);
    if (known === undefined) texts.set(stored, (known = render(stored, stored.doc)));
    return known;
  };
  const showTo = (doc: D, sight?: Redactor): object => show(limitTo(doc, sight));
  const schema = Type.Object({ id: Type.String(), revision: Type.Integer(), ...fields });
  return {
    kind,
    access,
    siteOf,
    projectOf,
    hasProject: projectOf !== noProject,
    hasSite: siteOf !== wholeFleet,
    toJson: showTo,
    schema,
    toJsonText,
  };
}

/** The document, when it exists and the caller may know that it does. */
export function findVisible<K extends string, D extends AnyDoc>(
  fleet: FleetReader,
  representation: Representation<K, D>,
  wanted: { readonly caller: Caller; readonly id: string },
): Stored<K, D> | undefined {
  const stored = fleet.get(representation.kind, wanted.id as Id<K>);
  if (stored === undefined) return undefined;
  return isVisibleTo(wanted.caller, representation, { stored, fleet }) ? stored : undefined;
}

/** Whether a caller may see a document, as far as its site and project are concerned. */
export function isVisibleTo<D extends AnyDoc>(
  caller: Caller,
  representation: Pick<Representation<string, D>, 'siteOf' | 'projectOf'>,
  { stored, fleet }: { readonly stored: { readonly id: string; readonly doc: D }; readonly fleet: FleetReader },
): boolean {
  if (caller.site !== undefined && !canSeeSite(caller, representation.siteOf(stored.doc, fleet))) return false;
  return caller.project === undefined || canSeeProject(caller, representation.projectOf(stored.doc, fleet));
}
