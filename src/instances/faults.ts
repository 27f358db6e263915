// The faults of a try to build an instance, and what follows: another try, or the end. A fault excludes exactly its cause: a host that failed, a pool
// that ran empty.
import { mark } from '../fleet/index.ts';
import type { Attempt, EXCLUSION_SCOPES, Instance } from './model.ts';
import type { PoolKey } from '../network/index.ts';
import { shortenText } from '../operations/index.ts';

type ExclusionScope = (typeof EXCLUSION_SCOPES)[number];

interface Consequence {
  readonly next: 'retry' | 'abort';
  readonly excludes: ExclusionScope;
  readonly sentence: string;
}

export const FAULTS = {
  'resources-gone': retry('host', 'The host had not enough free capacity any more.'),
  'affinity-broken': retry('host', 'The host would have violated the policy of the server group.'),
  'binding-failed': retry('host', 'The network could not bind a port to the host.'),
  'spawn-failed': retry('host', 'The host could not build the instance.'),
  'migration-failed': retry('host', 'The instance could not be migrated to the host.'),
  'not-plugged': retry('host', 'The network did not report the ports as plugged in time.'),
  'host-lost': retry('host', 'The host went down, was forced down or left while it built.'),
  unsupported: retry('host', 'The agent of the host is too old for this build.'),
  'no-network-access': retry('host', 'The host binds the ports itself and has no access to the network back end.'),
  'pool-empty': retry('pool', 'The pool that an address was to come from is empty.'),
  'mapping-gone': retry('host', 'The host does not reach the segment any more.'),
  'address-not-carried': retry('host', 'The host cannot carry an address that a port holds.'),
  'back-end-unavailable': retry('host', 'The network back end did not answer, also when the order was repeated.'),
  'addresses-exhausted': abort('There is no free address on the network.'),
  'not-found': abort('Something that the instance needs is gone: a port, a network or a subnet.'),
  forbidden: abort('The network back end does not allow it.'),
  quota: abort('A quota of the network back end is used up.'),
  taken: abort('A port is attached to something else.'),
  'bad-image': abort('The image cannot be used.'),
  'bad-flavor': abort('The flavor cannot be built.'),
} as const satisfies Readonly<Record<string, Consequence>>;

export type FaultCode = keyof typeof FAULTS;

function retry(excludes: ExclusionScope, sentence: string): Consequence {
  return { next: 'retry', excludes, sentence };
}

function abort(sentence: string): Consequence {
  return { next: 'abort', excludes: 'none', sentence };
}

/** The fault that a driver or an agent named; an unknown one counts as a failed spawn. */
export function toFaultCode(code: unknown): FaultCode {
  return typeof code === 'string' && Object.hasOwn(FAULTS, code) ? (code as FaultCode) : 'spawn-failed';
}

export interface AttemptFailure {
  readonly fault: FaultCode;
  readonly text?: string;
  /** The pool that is excluded, when the fault excludes one. */
  readonly pool?: string;
}

/** The instance with its last try marked as failed. */
export function recordFault(instance: Instance, failed: AttemptFailure): Instance {
  const { fault, text, pool } = failed;
  const { excludes, sentence } = FAULTS[fault];
  const last = instance.attempts.at(-1);
  if (last === undefined) return instance;
  if (excludes === 'pool' && pool !== undefined) mark('pool-excluded');
  const ended: Attempt = {
    ...last,
    fault,
    excludes: excludes === 'pool' && pool === undefined ? 'host' : excludes,
    ...(excludes === 'pool' && pool !== undefined && { excludedPool: pool }),
    text: shortenText(text ?? sentence, 500),
  };
  return { ...instance, attempts: [...instance.attempts.slice(0, -1), ended] };
}

/** Whether another host is tried after the last try failed. A host that was requested by name is tried once. */
export function canRetry(instance: Instance): boolean {
  const last = instance.attempts.at(-1);
  if (last?.fault === undefined) return true;
  if (FAULTS[toFaultCode(last.fault)].next === 'abort' || instance.place.onlyHost !== undefined) return false;
  return instance.attempts.length < instance.attemptsMax;
}

const NONE: readonly PoolKey[] = [];

/** The pools that the tries so far exclude from this build. */
export function listExcludedPools(attempts: readonly Attempt[]): readonly PoolKey[] {
  if (attempts.length === 0) return NONE;
  return attempts.flatMap(({ fault, excludedPool }) =>
    fault === undefined || excludedPool === undefined ? [] : [excludedPool as PoolKey],
  );
}
