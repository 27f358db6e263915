// Sites: places where hosts are. Each is its own failure domain.
import { Type, type Static } from 'typebox';
import { schemaKind, type FleetReader, type Id, type Model } from '../fleet/index.ts';

/** Names appear in URLs, host names and file names: lower case, digits, dots and dashes. */
export const NAME = Type.String({
  pattern: '^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$',
  'x-form': 'a name of lower-case letters, digits, dots and dashes (at most 63), with a letter or digit at both ends',
});

const SITE_SCHEMA = Type.Object(
  {
    name: NAME,
    description: Type.Optional(Type.String({ maxLength: 500 })),
    changedBy: Type.String(),
    changedAtMs: Type.Integer(),
  },
  { additionalProperties: false },
);

export type Site = Static<typeof SITE_SCHEMA>;
export type SiteId = Id<'site'>;

export const SITE = schemaKind('site', SITE_SCHEMA);

/** The site that an empty fleet starts with. */
export const FIRST_SITE = 'central' as SiteId;

/** Something that a site may hold. A site with any of it is not deleted. */
export interface SiteUse {
  /** In the plural: "hosts". */
  readonly what: string;
  readonly count: (fleet: FleetReader, site: SiteId) => number;
}

export const sitesModel: Model = { kinds: [SITE] };
