// Join tokens: each makes one credential, once, for the agent of a host or for a manager of bare-metal nodes. Pure: secrets come as hashes.
import { Type } from 'typebox';
import { idOf, put, type Change, type FleetReader, type Refusal, type Stored } from '../fleet/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import { lifetimeTrouble, revokeTokenChange, tokensOfHost, tokensOfManager } from './decide.ts';
import { TOKEN, type Token, type TokenId } from './model.ts';

/** Of a credential, beside the id of its token. */
export const JOIN_SECRET = Type.String({
  pattern: '^[A-Za-z0-9_-]{40,200}$',
  description: 'chosen by the program that joins, 256 bits',
});

/** Whom a credential speaks for. */
export interface JoinSubject {
  readonly kind: 'host' | 'manager';
  readonly name: string;
}

export interface JoinTokenUse {
  /** The join token that was shown. */
  readonly joinToken: TokenId;
  readonly subject: JoinSubject;
  /** The credential that is made of it. */
  readonly credential: { readonly id: TokenId; readonly hash: string };
  readonly nowMs: number;
}

/**
 * One use of a join token, in the commit that creates the credential. The same credential requested again is answered as before: the answer may have
 * been lost. Older credentials of the same host or manager end here.
 */
export function consumeJoinToken(fleet: FleetReader, joining: JoinTokenUse): Decision<TokenId> {
  const { joinToken, subject, credential, nowMs } = joining;
  const token = fleet.get(TOKEN, joinToken);
  if (token === undefined || token.doc.role !== 'join' || token.doc.revoked !== undefined)
    return refuse(notAJoinToken(subject));
  if (token.doc[subject.kind] !== subject.name) return refuse(joinTokenOfOther(token.doc, subject));
  if (token.doc.consumed !== undefined) {
    const made = fleet.get(TOKEN, idOf(TOKEN, token.doc.consumed.token));
    const same = made !== undefined && made.doc.hash === credential.hash && made.doc.revoked === undefined;
    return same ? accept([], made.id) : refuse(joinTokenUsed(subject));
  }
  const trouble = lifetimeTrouble(token.doc, nowMs);
  if (trouble !== undefined) return refuse(trouble === 'expired' ? joinTokenExpired(subject) : joinTokenEarly(subject));
  const by = token.doc.name;
  const changes: Change[] = [
    put(TOKEN, token.id, { ...token.doc, consumed: { atMs: nowMs, token: credential.id } }),
    put(TOKEN, credential.id, composeCredential(subject, { hash: credential.hash, by, nowMs })),
    ...findCredentials(fleet, subject).map((old) => revokeTokenChange(old, by, nowMs)),
  ];
  return accept(changes, credential.id);
}

const PROGRAMS = { host: 'agent', manager: 'manager' } as const;

interface NewCredential {
  readonly hash: string;
  readonly by: string;
  readonly nowMs: number;
}

function composeCredential({ kind, name }: JoinSubject, { hash, by, nowMs }: NewCredential): Token {
  const role = PROGRAMS[kind];
  return {
    name: `${role}/${name}`.slice(0, 100),
    role,
    ...(kind === 'host' ? { host: name } : { manager: name }),
    ...{ hash, createdAtMs: nowMs, createdBy: by },
  };
}

function findCredentials(fleet: FleetReader, { kind, name }: JoinSubject): Stored<'token', Token>[] {
  const all = kind === 'host' ? tokensOfHost(fleet, name) : tokensOfManager(fleet, name);
  return all.filter(({ doc }) => doc.role === PROGRAMS[kind]);
}

const JOIN_TOKEN_COMMANDS = { host: 'muster hosts join-token', manager: 'muster baremetal managers join-token' };

function makeJoinToken({ kind, name }: JoinSubject): string {
  return `Make a new one with "${JOIN_TOKEN_COMMANDS[kind]} ${name}".`;
}

function notAJoinToken(subject: JoinSubject): Refusal {
  const message = `This is not a join token, or it was revoked. ${makeJoinToken(subject)}`;
  return { kind: 'forbidden', code: 'join-token-invalid', message };
}

/** The holder of a join token may know whom it is for: the token says so itself once it is used. */
function joinTokenOfOther({ host, manager }: Token, wanted: JoinSubject): Refusal {
  if (wanted.kind === 'host' && host !== undefined) return joinTokenOfOtherHost(host, wanted.name);
  const [kind, name] = manager === undefined ? ['host', host ?? ''] : ['manager', manager];
  const message = `This join token is for ${kind} "${name}", and not for ${wanted.kind} "${wanted.name}". ${makeJoinToken(wanted)}`;
  return { kind: 'forbidden', code: `join-token-other-${wanted.kind}`, message, facts: { [kind]: name } };
}

/** For an agent that says which host it believes to be. */
export function joinTokenOfOtherHost(host: string, claimed: string): Refusal {
  const message = `This join token is for host "${host}", and the agent says that it is host "${claimed}". Start the agent with --host ${host}, or make a token for the other host with "muster hosts join-token ${claimed}".`;
  return { kind: 'forbidden', code: 'join-token-other-host', message, facts: { host } };
}

function joinTokenUsed(subject: JoinSubject): Refusal {
  const message = `This join token was used already, for ${subject.kind} "${subject.name}". If its ${PROGRAMS[subject.kind]} lost its credential: ${makeJoinToken(subject)}`;
  return { kind: 'gone', code: 'join-token-used', message };
}

function joinTokenExpired(subject: JoinSubject): Refusal {
  const message = `This join token of ${subject.kind} "${subject.name}" has expired. ${makeJoinToken(subject)}`;
  return { kind: 'gone', code: 'join-token-expired', message };
}

function joinTokenEarly(subject: JoinSubject): Refusal {
  const message = `This join token of ${subject.kind} "${subject.name}" was made by a server whose clock was ahead, and does not count before that time. ${makeJoinToken(subject)}`;
  return { kind: 'gone', code: 'join-token-early', message };
}
