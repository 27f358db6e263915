// Whether a caller may do what it requests, decided on the very fleet that the decision is made on. What was true when the
// request arrived grants nothing: the lease, the token and its expiry may change before the body is there, or while a
// group waits for its store.
import type { FleetReader, Refusal, Stored } from '../fleet/index.ts';
import { lifetimeTrouble } from './decide.ts';
import { TOKEN, type Token, type TokenId } from './model.ts';
import { permits, ROLES, type Access, type Caller, type Role } from './role.ts';

/** What a route requires of its caller. */
export interface Demand {
  readonly access: Access;
  readonly scope?: 'fleet' | 'site';
  /** Whether a caller that is bound to a project has anything to do here. */
  readonly forProjects?: true;
  /** Whether a manager of bare-metal nodes may, beside people. */
  readonly forManagers?: true;
}

export type StoredToken = Stored<'token', Token>;

/** A caller, the token that it proved to have the secret of, and what it requests. */
export interface Authority {
  readonly caller: Caller;
  /** As it was when the secret was compared with its hash. Undefined only for public routes. */
  readonly token: StoredToken | undefined;
  readonly demand: Demand;
  /** The host and the manager that the request names in its path, if it does. */
  readonly named?: NamedByPath | undefined;
  /** The request is to a route that changes nothing: what it has decided commits nothing. */
  readonly readsOnly?: true;
}

export interface NamedByPath {
  readonly host?: string | undefined;
  readonly manager?: string | undefined;
}

export type TokenTrouble = 'missing' | 'unknown' | 'expired' | 'early' | 'revoked' | 'changed';

/** Whose token it was is not always known: a host's agent gets a new one by other means than a person. */
const NEW_TOKEN =
  'Get a new one: from an administrator ("muster token create"), or for the agent of a host from an operator ("muster hosts join-token").';

const SENTENCES: Readonly<Record<TokenTrouble, string>> = {
  missing: 'This route needs a token. Send it as "Authorization: Bearer <token>".',
  unknown:
    'This control plane does not know this token: it was not copied in full, belongs to another control plane, or ended long ago. Check it, or get a new one.',
  expired: `This token has expired. ${NEW_TOKEN}`,
  early: `This token was made by a server whose clock was ahead, and does not count before that time. ${NEW_TOKEN}`,
  revoked: `This token was revoked. ${NEW_TOKEN}`,
  changed: 'This token was changed while the request was under way. Send the request again.',
};

export function refuseToken(trouble: TokenTrouble): Refusal {
  return { kind: 'unauthenticated', code: `token-${trouble}`, message: SENTENCES[trouble] };
}

export function callerOfToken({ id, doc }: StoredToken): Caller {
  const { name, role, site, project, host, manager } = doc;
  return {
    name,
    role,
    token: id,
    ...(site !== undefined && { site }),
    ...(project !== undefined && { project }),
    ...(host !== undefined && { host }),
    ...(manager !== undefined && { manager }),
  };
}

/** Why nothing may be done for this caller on this fleet at this time; undefined when it may. */
export function denyUnlessAuthorized(fleet: FleetReader, authority: Authority, nowMs: number): Refusal | undefined {
  const { token, demand, caller } = authority;
  if (demand.access === 'public') return undefined;
  if (token === undefined) return refuseToken('missing');
  const trouble = findTokenTrouble(fleet, token, nowMs);
  if (trouble !== undefined) return refuseToken(trouble);
  return denyUnlessSufficient(caller, demand, authority.named);
}

/** What became of a token since it was last compared with a secret; undefined while it is still good for the same. */
export function findTokenTrouble(
  fleet: FleetReader,
  token: Pick<StoredToken, 'id' | 'doc'>,
  nowMs: number,
): TokenTrouble | undefined {
  const now = fleet.get(TOKEN, token.id);
  if (now === undefined) return 'unknown';
  if (now !== token && now.doc.hash !== token.doc.hash) return 'unknown';
  if (now.doc.revoked !== undefined) return 'revoked';
  if (now !== token && !isSameCaller(now.doc, token.doc)) return 'changed';
  return lifetimeTrouble(now.doc, nowMs);
}

/** The same, for a token that is known by its id alone. */
export function findTroubleOf(fleet: FleetReader, id: TokenId, nowMs: number): TokenTrouble | undefined {
  const stored = fleet.get(TOKEN, id);
  return stored === undefined ? 'unknown' : findTokenTrouble(fleet, stored, nowMs);
}

function isSameCaller(one: Token, other: Token): boolean {
  const isSamePlace = one.site === other.site && one.project === other.project && one.host === other.host;
  const isSameRole = one.role === other.role && one.manager === other.manager;
  return one.name === other.name && isSameRole && isSamePlace;
}

/** Why a caller that is who it says may not do this. */
export function denyUnlessSufficient(
  caller: Caller,
  { access, scope, forProjects, forManagers }: Demand,
  named: NamedByPath = {},
): Refusal | undefined {
  if (!permits(caller, access) && !(forManagers === true && permits(caller, 'manager'))) {
    const message = `This route is for ${rolesText(access, forManagers)}; your token has the role "${caller.role}". Use a token with the right role.`;
    return { kind: 'forbidden', code: 'role-insufficient', message };
  }
  if (caller.site !== undefined && scope !== 'site') {
    const message = `Your token is bound to site "${caller.site}"; this route concerns the whole fleet. Use a token that is bound to no site.`;
    return { kind: 'forbidden', code: 'site-bound', message };
  }
  if (caller.project !== undefined && forProjects !== true) {
    const message = `Your token is bound to project "${caller.project}"; this route is not for projects. Use a token that is bound to no project.`;
    return { kind: 'forbidden', code: 'project-bound', message };
  }
  if (caller.host !== undefined && named.host !== undefined && named.host !== caller.host) {
    const message = `Your token speaks for host "${caller.host}" and no other. Use the token of the host that the request names.`;
    return { kind: 'forbidden', code: 'other-host', message };
  }
  // Names of managers are compared in lower case, as everywhere.
  if (caller.manager !== undefined && named.manager !== undefined && named.manager.toLowerCase() !== caller.manager) {
    return otherManager(caller.manager, named.manager);
  }
  return undefined;
}

/** Also for managers that are named elsewhere than in the path. */
export function otherManager(own: string, named: string): Refusal {
  const message = `Your token speaks for manager "${own}" and no other. Use the token of "${named}", or ask an administrator for one.`;
  return { kind: 'forbidden', code: 'other-manager', message };
}

/** The roles that a route takes: those of people include those below them. */
function rolesText(access: Access, forManagers: true | undefined): string {
  const isAllowed = (role: Role): boolean =>
    permits({ name: '', role }, access) || (forManagers === true && role === 'manager');
  const allowed = ROLES.filter(isAllowed).map((role) => `"${role}"`);
  return `the role${allowed.length > 1 ? 's' : ''} ${allowed.join(', ')}`;
}
