// Who calls, and what a role may do. Roles of people grow into each other; those of machines reach only their own routes.
import type { Id } from '../fleet/index.ts';

export const ROLES = ['viewer', 'operator', 'admin', 'agent', 'join', 'manager'] as const;
export type Role = (typeof ROLES)[number];

/** The least that a route requires. `agent`, `join` and `manager` routes are for those tokens alone. */
export type Access = 'public' | Role;

export interface Caller {
  /** As the journal records it. */
  readonly name: string;
  readonly role: Role | 'nobody';
  readonly token?: Id<'token'>;
  /** Set for a token that sees and touches only one site. */
  readonly site?: string;
  /** Set for a token that sees and touches only what one project has. */
  readonly project?: string;
  /** Set for a token that speaks for one host. */
  readonly host?: string;
  /** Set for a token that speaks for one manager. */
  readonly manager?: string;
}

export const ANONYMOUS: Caller = { name: 'anonymous', role: 'nobody' };

const PEOPLE: readonly string[] = ['viewer', 'operator', 'admin'];

export function permits(caller: Caller, access: Access): boolean {
  if (access === 'public') return true;
  const rank = PEOPLE.indexOf(caller.role);
  const wanted = PEOPLE.indexOf(access);
  return wanted === -1 || rank === -1 ? caller.role === access : rank >= wanted;
}

/** Whether it sees and touches only a part of the fleet. */
export function isBound(caller: Caller): boolean {
  return caller.site !== undefined || caller.project !== undefined;
}

/** Whether something of this site is the caller's to see. What belongs to no site is hidden from a site-bound caller. */
export function canSeeSite(caller: Caller, site: string | undefined): boolean {
  return caller.site === undefined || caller.site === site;
}

/** The projects that have something: one or several; `true` when all may see it, undefined when none may. */
export type Projects = string | readonly string[] | true | undefined;

export function canSeeProject(caller: Caller, projects: Projects): boolean {
  if (caller.project === undefined || projects === true) return true;
  return Array.isArray(projects) ? projects.includes(caller.project) : projects === caller.project;
}
