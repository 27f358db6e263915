// The credentials that a server was given for network back ends. Secrets must never be shown, logged, or quoted in an error about the file.
import { Type } from 'typebox';
import { parseDocument } from 'yaml';
import { Secret } from '../../access/index.ts';
import { ALARM, alarmId, clearAlarm, raiseAlarm } from '../../alarms/index.ts';
import { compileChecker, type Change, type FleetReader, type Reason } from '../../fleet/index.ts';
import { CAPABILITIES } from './back-end.ts';
import { BACK_ENDS, type BackEndName } from '../model.ts';

export interface Credential {
  readonly user: string;
  readonly secret: Secret;
  /** The address of the back end, if it is not the default one. */
  readonly url?: string;
}

export type Credentials = ReadonlyMap<BackEndName, Credential>;

const SHORT = { minLength: 1, maxLength: 500 };

const FILE = Type.Object(
  Object.fromEntries(
    backEndsNeedingCredentials().map((name) => [
      name,
      Type.Optional(
        Type.Object(
          { user: Type.String(SHORT), secret: Type.String(SHORT), url: Type.Optional(Type.String(SHORT)) },
          { additionalProperties: false },
        ),
      ),
    ]),
  ),
  { additionalProperties: false },
);

const problemsOf = compileChecker(FILE);

function backEndsNeedingCredentials(): BackEndName[] {
  return BACK_ENDS.filter((name) => CAPABILITIES[name].needsCredentials);
}

/**
 * Parses a credentials file (YAML or JSON): per back end `user`, `secret` and optionally `url`. Returns what is wrong with it otherwise,
 * without quoting its content.
 */
export function parseCredentials(text: string): Credentials | { readonly problems: readonly string[] } {
  const document = parseSecretDocument(text);
  if (document.problems !== undefined) return { problems: document.problems };
  const read = document.content;
  if (typeof read !== 'object' || read === null || Array.isArray(read) || Object.keys(read).length === 0) {
    const example = `${backEndsNeedingCredentials()[0]}: { user: …, secret: … }`;
    return { problems: [`the file must name at least one back end with its credentials, as in "${example}"`] };
  }
  const problems = problemsOf(read).map(({ field, message }) => `${field}: ${message}`);
  if (problems.length > 0) return { problems };
  const said = Object.entries(read as Readonly<Record<BackEndName, { user: string; secret: string; url?: string }>>);
  return new Map(said.map(([name, one]) => [name as BackEndName, { ...one, secret: new Secret(one.secret) }]));
}

/** Parses a file with secrets (YAML or JSON). What is wrong with it is said without quoting it. */
export function parseSecretDocument(
  text: string,
): { readonly content: unknown; readonly problems?: undefined } | { readonly problems: readonly string[] } {
  const file = parseDocument(text, { prettyErrors: false });
  if (file.errors.length > 0)
    return { problems: file.errors.map(({ code, pos }) => syntaxProblem(text, code, pos[0])) };
  return { content: parseContent(file) };
}

/** Undefined when an alias in it leads nowhere or multiplies without end. */
function parseContent(file: { readonly toJS: () => unknown }): unknown {
  try {
    return file.toJS();
  } catch (error) {
    if (error instanceof ReferenceError) return undefined;
    throw error;
  }
}

/** The parser's own message quotes the line, and the line may hold the secret. */
function syntaxProblem(text: string, code: string, at: number): string {
  const line = text.slice(0, at).split('\n').length;
  return `line ${line} is neither YAML nor JSON (${code.toLowerCase().replaceAll('_', '-')})`;
}

/** Anything that knows for which back ends it has credentials. */
interface CredentialSource {
  has(backEnd: BackEndName): boolean;
}

/** The back ends that need credentials and have none. */
export function findMissingCredentials(backEnds: Iterable<BackEndName>, source: CredentialSource): BackEndName[] {
  return [...new Set(backEnds)].filter((name) => CAPABILITIES[name].needsCredentials && !source.has(name));
}

/** Whether these back ends cannot be used here. `present`: the server has the credentials of all of them. */
export function isMissingCredentials(backEnds: Iterable<BackEndName>, present: boolean): boolean {
  if (present) return false;
  for (const name of backEnds) if (CAPABILITIES[name].needsCredentials) return true;
  return false;
}

/** Whether a server has the credentials of every back end that needs some. */
export function hasCredentials(source: CredentialSource): boolean {
  return findMissingCredentials(BACK_ENDS, source).length === 0;
}

const ALARM_CODE = 'network-credentials-missing';
const ALARM_ID = alarmId(ALARM_CODE, 'fleet');

/** One warning, however many builds used the old path because of it; cleared when the credentials are there. */
export function updateCredentialsAlarm(fleet: FleetReader, missing: boolean, nowMs: number): Change[] {
  if (!missing) return clearAlarm(fleet, ALARM_ID);
  const reason: Reason = { code: ALARM_CODE, backEnds: backEndsNeedingCredentials() };
  return raiseAlarm(fleet, ALARM_ID, { severity: 'warning', reason, sinceMs: nowMs });
}

/** Whether the last build that needed them found none. */
export function hasMissingCredentialsAlarm(fleet: FleetReader): boolean {
  return fleet.get(ALARM, ALARM_ID) !== undefined;
}
