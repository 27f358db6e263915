// The answer of start, end and recover: a result for each host that was named, sorted by name, each host once.
import type { FleetReader, Reason, Refusal } from '../../fleet/index.ts';
import type { OperationId } from '../../operations/index.ts';
import type { StoredHost } from '../decide.ts';
import { matchHost } from '../identity.ts';
import type { ScaleInVerb } from './verb-table.ts';

/** Answers are kept by their place in it: new ones come last. */
const RESULTS = ['accepted', 'unchanged', 'unknown', 'wrong-state', 'blocked'] as const;

export interface HostResult {
  /** As it was named. */
  readonly host: string;
  readonly name?: string;
  readonly result: (typeof RESULTS)[number];
  readonly operation?: string;
  readonly reason?: Reason;
  readonly blockers?: readonly Reason[];
}

export interface ScaleInAnswer {
  /** The operation that this request started, or, when it changed nothing, the one that is open for all of the hosts. */
  readonly operation?: OperationId;
  readonly hosts: readonly HostResult[];
}

/** A host of a request; without `host` when it is unknown. */
export interface NamedHost {
  readonly requestedId: string;
  readonly host?: StoredHost;
  /** The hosts that have this id, when there are several. */
  readonly matches?: readonly string[];
}

/** Hosts sorted by id, so that the order of a request does not matter; unknown names after them. */
export function resolveNamedHosts(fleet: FleetReader, names: readonly string[], site?: string): NamedHost[] {
  const found = new Map<string, NamedHost>();
  const unknown: NamedHost[] = [];
  for (const requestedId of new Set(names)) {
    const match = matchHost(fleet, requestedId, site);
    if (match.kind === 'unknown') unknown.push({ requestedId });
    else if (match.kind === 'ambiguous') unknown.push({ requestedId, matches: match.names });
    else if (!found.has(match.host.id)) found.set(match.host.id, { requestedId, host: match.host });
  }
  const known = [...found.values()].sort((one, other) => ((one.host?.id ?? '') < (other.host?.id ?? '') ? -1 : 1));
  return [...known, ...unknown];
}

export function unknownName({ requestedId, matches }: NamedHost): HostResult {
  const reason = matches === undefined ? { code: 'unknown-host', host: requestedId } : ambiguity(requestedId, matches);
  return { host: requestedId, result: 'unknown', reason };
}

function ambiguity(host: string, hosts: readonly string[]): Reason {
  return { code: 'ambiguous-host', host, hosts };
}

/** The operation that all of them have in common, if any. */
export function findSharedOperation(hosts: readonly HostResult[]): Pick<ScaleInAnswer, 'operation'> {
  const [first, ...others] = hosts;
  const operation = first?.operation;
  if (operation === undefined || others.some((one) => one.operation !== operation)) return {};
  return { operation: operation as OperationId };
}

/** What all hosts of an answer have in common; undefined when they differ. The operation is said unless the request began it. */
export function memoOf({ operation, hosts }: ScaleInAnswer, started: string): string | undefined {
  const [first] = hosts;
  if (first === undefined || hosts.some(({ result }) => result !== first.result)) return undefined;
  const result = String(RESULTS.indexOf(first.result));
  return operation === started ? result : `${result} ${operation ?? ''}`;
}

/** The answer in which every host has its own name, and nothing else is said of any of them. */
export function answerFromMemo(memo: string, names: readonly string[], started: string | undefined): ScaleInAnswer {
  const [nth = '', other] = memo.split(' ');
  const result = RESULTS[Number(nth)] ?? 'unknown';
  const operation = other ?? started;
  const same = operation !== undefined && operation !== '' && { operation: operation as OperationId };
  const hosts = [...new Set(names)].sort().map((host) => ({ host, name: host, result, ...same }));
  return { ...same, hosts };
}

const SAID: Readonly<Record<ScaleInVerb, string>> = {
  start: 'be taken out of service',
  end: 'be removed',
  recover: 'be brought back',
};

const BAD: Readonly<Record<HostResult['result'], string>> = {
  accepted: 'ready',
  unchanged: 'unchanged',
  unknown: 'unknown',
  'wrong-state': 'in the wrong state',
  blocked: 'blocked',
};

/** Refuses a request as a whole, with every bad name. */
export function refuseVerb(verb: ScaleInVerb, bad: readonly HostResult[]): Refusal {
  const entries = bad.map(({ host, result, reason, blockers }) => {
    if (reason?.code === 'ambiguous-host')
      return `${host}: an id of ${String(reason['hosts']).replaceAll(',', ' and ')}`;
    const why = reason?.code ?? blockers?.map(({ code }) => code).find((code) => code !== undefined);
    return `${host}: ${BAD[result]}${why === undefined || why === 'unknown-host' ? '' : ` (${why})`}`;
  });
  const message = `These hosts cannot ${SAID[verb]}: ${entries.join(', ')}. Nothing was changed. The sentence of each says what to do.`;
  const said = { message, field: '/hosts', facts: { hosts: bad } };
  if (bad.some(({ result }) => result === 'unknown')) return { kind: 'not-found', code: 'unknown-host', ...said };
  if (bad.some(({ result }) => result === 'wrong-state')) return { kind: 'conflict', code: 'wrong-state', ...said };
  return { kind: 'conflict', code: 'blocked', ...said };
}
