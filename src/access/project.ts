// What a caller that is bound to a project may request: things of that project, which it need not name.
import type { Refusal } from '../fleet/index.ts';
import type { Caller } from './role.ts';

/** Undefined unless the request names another project than the caller's own. */
export function denyOtherProject(caller: Caller, project: string | undefined): Refusal | undefined {
  if (caller.project === undefined || project === undefined || project === caller.project) return undefined;
  const message = `Your token is bound to project "${caller.project}": it makes nothing for another project. Leave the project out, or use a token that is bound to none.`;
  return { kind: 'forbidden', code: 'other-project', message, field: '/project' };
}

/** The project of what a request makes, when it or its caller says one. */
export function readRequestedProject(
  caller: Caller,
  project: string | undefined,
): { readonly project?: string; readonly isProjectScoped: boolean } {
  const of = project ?? caller.project;
  return { ...(of !== undefined && { project: of }), isProjectScoped: caller.project !== undefined };
}
