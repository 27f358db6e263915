// Deciding on sites: create, describe, delete. A site that still holds something is not deleted.
import { idOf, put, remove, type FleetReader, type Refusal, type Stored } from '../fleet/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import { SITE, type Site, type SiteUse } from './model.ts';

export interface CreateSite {
  readonly name: string;
  readonly description?: string;
  readonly by: string;
  readonly nowMs: number;
}

type StoredSite = Stored<'site', Site>;

export function createSite(fleet: FleetReader, { name, description, by, nowMs }: CreateSite): Decision<Site> {
  const id = idOf(SITE, name);
  if (fleet.get(SITE, id) !== undefined) return refuse(siteExists(name));
  const site: Site = { name, ...(description !== undefined && { description }), changedBy: by, changedAtMs: nowMs };
  return accept([put(SITE, id, site)], site);
}

export function describeSite(fleet: FleetReader, command: CreateSite): Decision<Site> {
  const stored = fleet.get(SITE, idOf(SITE, command.name));
  if (stored === undefined) return refuse(unknownSite(command.name));
  const { name, description, by, nowMs } = command;
  const site: Site = { name, ...(description !== undefined && { description }), changedBy: by, changedAtMs: nowMs };
  return accept([put(SITE, stored.id, site)], site);
}

export interface DeleteSite {
  readonly name: string;
  readonly uses: readonly SiteUse[];
}

export function deleteSite(fleet: FleetReader, { name, uses }: DeleteSite): Decision<StoredSite> {
  const site = fleet.get(SITE, idOf(SITE, name));
  if (site === undefined) return refuse(unknownSite(name));
  for (const { what, count } of uses) {
    const held = count(fleet, site.id);
    if (held > 0) return refuse(siteInUse(name, held, what));
  }
  return accept([remove(SITE, site.id)], site);
}

export function unknownSite(name: string, field?: string): Refusal {
  const message = `There is no site "${name}". Name one of "muster sites list", or have an administrator create it with "muster sites create ${name}".`;
  return {
    kind: field === undefined ? 'not-found' : 'invalid',
    code: 'unknown-site',
    message,
    ...(field !== undefined && { field }),
    facts: { site: name },
  };
}

function siteExists(name: string): Refusal {
  return {
    kind: 'conflict',
    code: 'site-exists',
    message: `There is a site "${name}" already. Choose another name.`,
    field: '/name',
    facts: { site: name },
  };
}

function siteInUse(name: string, held: number, what: string): Refusal {
  const message = `Site "${name}" still has ${held} ${what}. Move or remove them first.`;
  return { kind: 'conflict', code: 'site-in-use', message, facts: { site: name, what, count: held } };
}
