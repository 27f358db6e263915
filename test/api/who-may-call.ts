// Who calls, and who is let in: the shorthand of the table of all routes.

export const CALLERS = [
  'nobody',
  'expired',
  'revoked',
  'garbage',
  'viewer',
  'operator',
  'admin',
  'site viewer',
  'site operator',
  'site admin',
  'other site admin',
  'agent',
  'superseded agent',
  'join',
  'project viewer',
  'project operator',
  'other project operator',
  'manager',
] as const;
export type CallerName = (typeof CALLERS)[number];

/** `+` is accepted, `-` is refused with 403, `0` is answered 404, `?` 401. In the order of CALLERS; a manager is refused where nothing is said. */
export const PUBLIC = '+ + + +  + + +  + + + +  + + +  + + +  +';
export const SEE_SITE = '? ? ? ?  + + +  + + + 0  - - -  - - -';
export const SEE_LIST = '? ? ? ?  + + +  + + + +  - - -  - - -';
export const OPERATE = '? ? ? ?  - + +  - + + 0  - - -  - - -';
export const SEE_FLEET = '? ? ? ?  + + +  - - - -  - - -  - - -';
export const OPERATE_FLEET = '? ? ? ?  - + +  - - - -  - - -  - - -';
export const RULE_FLEET = '? ? ? ?  - - +  - - - -  - - -  - - -';
export const AGENT = '? ? ? ?  - - -  - - - -  + - -  - - -';
export const JOIN = '? ? ? ?  - - -  - - - -  - - +  - - -';
export const MANAGER = '? ? ? ?  - - -  - - - -  - - -  - - -  +';
/** A join token here is for a host, and no route of managers takes it. */
export const NONE_OF_THESE = '? ? ? ?  - - -  - - - -  - - -  - - -';

/** The same where a project has something to do: its own viewer and operator, and the operator of another one. */
export const forProjects = (who: string, three: string): string => `${who.slice(0, -'- - -'.length)}${three}`;
