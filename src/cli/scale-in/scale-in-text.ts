// A scale-in as people read it: results of a request, hosts on their way, and the progress of a wait. Pure: what it shows comes in.
import { relativeTime, durationText } from '../output/duration.ts';
import { stateColour, type Paint } from '../output/paint.ts';
import { sentenceOf } from '../operations/progress.ts';
import { truncate, sanitizeLine } from '../output/text-width.ts';
import type { BlockedTenants, ScaleInAnswer, ScaleInStatus } from '../client/representations.ts';

/** A repeated request is answered without its hosts when the first answer was too large to keep; a note says so. */
export type VerbAnswer = Partial<ScaleInAnswer> & { readonly note?: string };

export type HostResult = ScaleInAnswer['hosts'][number];

export type HostProgress = ScaleInStatus['hosts'][number];

type Strays = NonNullable<HostProgress['strays']>;

/** A heading and a line for each host with strays; they are not moved by a drain, and `end` is refused. */
export function straysLines(hosts: readonly { readonly host: string; readonly strays?: Strays }[]): string[] {
  const lines = hosts.flatMap(({ host, strays }) =>
    strays === undefined ? [] : [`  ${sanitizeLine(`${host}: ${namesOf(strays)}`)}`],
  );
  return lines.length === 0
    ? []
    : ['Strays, which a drain does not move and which keep their host from being removed:', ...lines];
}

function namesOf({ names, count }: Strays): string {
  const more = count - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

export type Blocked = BlockedTenants['blocked'][number];

/** Why a service stays although another host could take it: an operator holds elections, or its switch cannot be stopped. */
const HELD: ReadonlySet<string> = new Set(['elections-held', 'held-out-of-control']);

/** What is inside of it leaves first: where it goes is decided then. */
const NEXT: ReadonlySet<string> = new Set(['worker-leaves-first']);

/** A heading, a line for each that is listed, and how many are not; nothing when all can go. What is held, or goes next, has a heading of its own. */
export function blockedLines(blocked: readonly Blocked[], inAll: number): string[] {
  const held = blocked.filter(({ reason }) => HELD.has(reason.code));
  const next = blocked.filter(({ reason }) => NEXT.has(reason.code));
  const homeless = blocked.filter(({ reason }) => !HELD.has(reason.code) && !NEXT.has(reason.code));
  const more = inAll - blocked.length;
  return [
    ...headedLines(`No place to go (${held.length + next.length === 0 ? inAll : homeless.length}):`, homeless),
    ...headedLines(`Held where they are (${held.length}):`, held),
    ...headedLines(`Moved when what runs in them has left (${next.length}):`, next),
    ...(more > 0 ? [`  and ${more} more, not listed. "muster scale-in status HOST" lists those of one host.`] : []),
  ];
}

function headedLines(heading: string, blocked: readonly Blocked[]): string[] {
  if (blocked.length === 0) return [];
  return [
    heading,
    ...blocked.map(({ host, kind, id, sentence }) => `  ${sanitizeLine(`${host} ${kind} ${id}: ${sentence}`)}`),
  ];
}

/** Hosts whose instances are left to the operator, and how to see where each could go. */
export function undrainedLines(hosts: readonly HostProgress[]): string[] {
  return hosts
    .filter(
      ({ state, drain, left }) => state === 'draining' && !drain && Object.values(left).some((count) => count > 0),
    )
    .map(({ host }) =>
      sanitizeLine(
        `Instances are not moved off ${host}: it was started with --no-drain. "muster hosts tenants ${host}" shows where each could go, or what it lacks.`,
      ),
    );
}

export type ScaleInSubcommand = 'start' | 'end' | 'recover';

const ACCEPTED: Readonly<Record<ScaleInSubcommand, string>> = {
  start: 'leaves service',
  end: 'is being removed',
  recover: 'comes back into service',
};
const UNCHANGED: Readonly<Record<ScaleInSubcommand, string>> = {
  start: 'leaves service already',
  end: 'is removed or being removed already',
  recover: 'is in service or on its way back already',
};
/** Blockers listed by name; the rest is counted. */
const BLOCKERS_MAX = 10;

/** One line for each host, and one for each thing that is in its way. */
export function resultLines(
  verb: ScaleInSubcommand,
  { host, name, result, blockers = [], ...details }: HostResult,
): string[] {
  const who = sanitizeLine(name === undefined ? host : `${host} (${name})`);
  if (result === 'accepted') return [`${who} ${ACCEPTED[verb]}.`];
  if (result === 'unchanged') return [`${who} ${UNCHANGED[verb]}.`];
  if (blockers.length === 0) return [`${who}: ${sentenceOf(details) ?? result}`];
  const more = blockers.length - BLOCKERS_MAX;
  return [
    `${who} is blocked:`,
    ...blockers.slice(0, BLOCKERS_MAX).map(({ sentence, code }) => `  ${sanitizeLine(sentence ?? code)}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

/** Not done for this host, and not because there was nothing to do. */
export function isRefused({ result }: HostResult): boolean {
  return result !== 'accepted' && result !== 'unchanged';
}

/** `2 instances, 1 port`; `nothing` when all is gone. */
export function leftText(left: Readonly<Record<string, number>>): string {
  const some = Object.entries(left).filter(([, count]) => count > 0);
  return some.length === 0 ? 'nothing' : some.map(([kind, count]) => countText(count, kind)).join(', ');
}

/** Kinds are given in the plural. */
export function countText(count: number, kind: string): string {
  return `${count} ${count === 1 ? kind.replace(/s$/, '') : kind}`;
}

/** How a host stands, in a line. */
export function hostLine(host: HostProgress): string {
  const { state, left, underWay, sentence, reason } = host;
  const moving = underWay === 0 ? '' : `, ${underWay} on the way`;
  const here = state === 'draining' || state === 'drained' ? `, ${leftText(left)} left${moving}` : '';
  const why = sentenceOf({ ...(sentence !== undefined && { sentence }), ...(reason !== undefined && { reason }) });
  return `${sanitizeLine(host.host)} ${state}${here}${why === undefined ? '' : `: ${why}`}`;
}

/** What is followed: hosts on their way, and those that have got there. */
export interface ScaleInProgress {
  readonly operations: readonly { readonly id: string; readonly state: string; readonly title: string }[];
  readonly hosts: readonly HostProgress[];
  readonly startedMs: number;
}

/** Hosts shown at once: more would scroll. Those that wait come first. */
const HOSTS_MAX = 15;

export function renderProgress(
  { operations, hosts, startedMs }: ScaleInProgress,
  { paint, nowMs, columns }: { readonly paint: Paint; readonly nowMs: number; readonly columns: number },
): string[] {
  const head = operations.map(({ title, state }) => `${sanitizeLine(title)} ${paint(stateColour(state), state)}`);
  const first = [...hosts].sort((one, other) => Number(other.reason !== undefined) - Number(one.reason !== undefined));
  const more = hosts.length - HOSTS_MAX;
  return [
    `${head.join(', ')}, ${durationText(nowMs - startedMs)}`,
    ...first.slice(0, HOSTS_MAX).map((host) => paint('dim', truncate(`  ${hostLine(host)}`, columns - 1))),
    ...(more > 0 ? [paint('dim', `  and ${more} more`)] : []),
  ];
}

/** For pipes and logs: a line whenever the state of a host or an operation differs from the last one printed. */
export class ScaleInChanges {
  readonly #lastLines = new Map<string, string>();

  lines({ operations, hosts }: ScaleInProgress): string[] {
    return [
      ...operations.flatMap(({ id, state }) => this.#changedLine(id, `${id} ${state}`)),
      ...hosts.flatMap((host) => this.#changedLine(`host ${host.host}`, `  ${hostLine(host)}`)),
    ];
  }

  #changedLine(key: string, line: string): string[] {
    if (this.#lastLines.get(key) === line) return [];
    this.#lastLines.set(key, line);
    return [line];
  }
}

/** How empty hosts are removed. Hosts with strays, or recovered meanwhile, are left out. */
export function emptyText(hosts: readonly HostProgress[]): string | undefined {
  const empty = hosts
    .filter(({ state, strays }) => state === 'drained' && strays === undefined)
    .map(({ host }) => host);
  if (empty.length === 0) return undefined;
  const they = empty.length === 1 ? 'It is empty. Remove it' : 'They are empty. Remove them';
  return `${they} with: muster scale-in end ${empty.join(' ')} --disconnect`;
}

type PendingCleanUp = ScaleInStatus['pendingCleanUps'][number];

/** Peers listed by name; the rest is counted. */
const PENDING_MAX = 20;

export function cleanUpLines(
  { pending, inAll }: { readonly pending: readonly PendingCleanUp[]; readonly inAll: number },
  nowMs: number,
): string[] {
  const first = pending.slice(0, PENDING_MAX);
  return [
    ...first.map(
      ({ peer, host, sinceMs }) =>
        `${peer} has yet to clean up what it has of ${host}, since ${relativeTime(sinceMs, nowMs)}.`,
    ),
    ...(inAll > first.length ? [`and ${inAll - first.length} more, ${inAll} in all.`] : []),
  ];
}
