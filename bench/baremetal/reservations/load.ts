// Reservations under load: callers in one process, each requesting one node after the other, as the route would on behalf of its clients. They request in
// bursts, and release between two bursts what they got, so that a small fleet does not run out of nodes.
import { hash } from 'node:crypto';
import { idOf } from '../../../src/fleet/index.ts';
import type { Journal } from '../../../src/journal/index.ts';
import { ManagerLeases } from '../../../src/baremetal/managers/leases.ts';
import { managerLease, RESERVATION } from '../../../src/baremetal/model.ts';
import {
  canonicalRequest,
  parseReservationBody,
  type ReservationBody,
} from '../../../src/baremetal/matching/request.ts';
import { reservationId } from '../../../src/baremetal/reservations/documents.ts';
import { releaseReservation } from '../../../src/baremetal/reservations/release.ts';
import { reserveNode, type ReserveCommand } from '../../../src/baremetal/reservations/reserve.ts';
import { OPERATION } from '../../../src/operations/index.ts';
import { realClock } from '../../../src/main/clock.ts';
import { realIds } from '../../../src/main/ids.ts';
import type { Commits } from '../../commits/recorded.ts';
import { threadCpuMs } from '../../slices.ts';
import { MANAGER_NAME, reservationBody } from './fleet.ts';

const ids = realIds();
const BY = 'bench-client';

/** The lease of the manager, as the store would have said it. */
const leases = new ManagerLeases(realClock);
const LEASE_MS = 3_600_000;
leases.note(
  MANAGER_NAME,
  { name: managerLease(MANAGER_NAME), holder: 'bench', url: '', epoch: 1, expiresInMs: LEASE_MS },
  realClock.nowMs(),
);

export interface Burst {
  readonly callers: number;
  readonly count: number;
  /** What the nth request is for; a class of the sample fleet unless said. */
  readonly bodyOf?: (instance: string, nth: number) => Readonly<Record<string, unknown>>;
}

export interface BurstResult {
  readonly ms: number;
  /** Of this thread, which decides. */
  readonly cpuMs: number;
  readonly instances: readonly string[];
}

/** Reserves so many nodes. */
export async function reserveBurst(journal: Journal, burst: Burst): Promise<BurstResult> {
  const { bodyOf = reservationBody } = burst;
  const instances: string[] = [];
  const startedMs = performance.now();
  const before = threadCpuMs();
  await each(burst, async (nth) => {
    const instance = ids.next('i');
    instances.push(instance);
    await reserveOne(journal, bodyOf(instance, nth));
  });
  return {
    ms: performance.now() - startedMs,
    cpuMs: threadCpuMs() - before,
    instances,
  };
}

async function reserveOne(journal: Journal, sent: Readonly<Record<string, unknown>>): Promise<void> {
  const body = sent as ReservationBody;
  const request = parseReservationBody(body);
  if (!('requirements' in request)) throw new Error(request.map(({ message }) => message).join('; '));
  const command: ReserveCommand = {
    request,
    body,
    digest: hash('sha256', canonicalRequest(body), 'hex'),
    isVisible: () => true,
    operation: idOf(OPERATION, ids.next('op')),
    claimModeOf: () => 'inline',
    isLeaseLive: leases.isLive,
    by: BY,
    nowMs: realClock.nowMs(),
  };
  const why = `reserve a node for ${request.instance}`;
  const outcome = await journal.submit({ by: BY, why, decide: (fleet) => reserveNode(fleet, command) });
  if (outcome.kind !== 'accepted') throw new Error(`refused: ${outcome.refusal.message}`);
  if (outcome.answer.kind !== 'reserved') throw new Error(`${request.instance} is ${outcome.answer.kind}`);
}

/** Gives back what a burst reserved. */
export async function releaseBurst(
  journal: Journal,
  { callers, instances }: Pick<Burst, 'callers'> & Pick<BurstResult, 'instances'>,
): Promise<number> {
  const startedMs = performance.now();
  await each({ callers, count: instances.length }, async (nth) => {
    const instance = instances[nth] as string;
    const operation = idOf(OPERATION, ids.next('op'));
    const nowMs = realClock.nowMs();
    const outcome = await journal.submit({
      by: BY,
      why: `release the reservation of ${instance}`,
      decide: (fleet) =>
        releaseReservation(fleet, fleet.get(RESERVATION, reservationId(instance)), {
          instance,
          operation,
          by: BY,
          nowMs,
        }),
    });
    if (outcome.kind !== 'accepted' || outcome.answer.kind !== 'released') throw new Error('it was not released');
  });
  return performance.now() - startedMs;
}

/** Callers that do one after the other until all is done. */
async function each(
  { callers, count }: Pick<Burst, 'callers' | 'count'>,
  work: (nth: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await work(next - 1);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

/** Each commit of a burst has a node and its reservation. */
export function demandReserved(written: readonly Commits[], count: number): void {
  const commits = written.flat();
  const isRight = commits.every(({ changes }) => changes.map(({ kind }) => kind).join() === 'node,reservation');
  if (!isRight || commits.length !== count) throw new Error(`${commits.length} commits for ${count} reservations`);
}
