// What a server does with the calls of managers, as its routes do: leases are renewed at any of them, everything else is passed on to the one that decides.
import { accept, isJournalAway, type Decision, type Outcome } from '../../../src/journal/index.ts';
import { idOf, valueOf, type FleetReader, type Refusal } from '../../../src/fleet/index.ts';
import type { Reply } from '../../../src/link/index.ts';
import { OPERATION } from '../../../src/operations/index.ts';
import type { MachineCall, MachineStatus } from '../../../src/baremetal/drivers/inventory.ts';
import { readMachine, type ActAnswer } from '../../../src/baremetal/drivers/simulated/act.ts';
import { SIMULATED_INVENTORY } from '../../../src/baremetal/drivers/simulated/settings.ts';
import { STOP_EARLY_MS } from '../../../src/baremetal/managers/settings.ts';
import type { MachineReply } from '../../../src/baremetal/drivers/simulated/machine-driver.ts';
import type { ReservationReply } from '../../../src/baremetal/manager/ports.ts';
import type { GatewayReply, ManagerCaller, ManagerCommand } from '../../../src/baremetal/managers/gateway.ts';
import {
  canonicalRequest,
  parseReservationBody,
  type ReservationBody,
} from '../../../src/baremetal/matching/request.ts';
import { malformedReservation } from '../../../src/baremetal/reservations/refusals.ts';
import { reservationId } from '../../../src/baremetal/reservations/documents.ts';
import type { ReserveAnswer } from '../../../src/baremetal/reservations/reserve.ts';
import { RESERVATION, type Reservation } from '../../../src/baremetal/index.ts';
import { CLAIM_MODES, MANAGER_LEASES } from '../../../src/baremetal/service-keys.ts';
import { sha256 } from '../parts.ts';
import type { Incarnation } from '../server.ts';
import type { World } from '../world.ts';

/** `down`: no answer that a client can use, as 503 and a connection that breaks off. */
export type Served<A> =
  { readonly kind: 'reply'; readonly reply: Reply<A> } | { readonly kind: 'down'; readonly retryAfterMs?: number };

export const DOWN = { kind: 'down' } as const;

/** How long a request for a node waits for its inventory, as in the program. */
const SETTLE_MS = 2000;

export async function serveCall<A>(
  life: Incarnation,
  serve: (life: Incarnation) => Promise<Served<A>>,
): Promise<Served<A>> {
  // Until the fleet is loaded, a server does not listen.
  if (!life.open) return DOWN;
  try {
    return await serve(life);
  } catch (error) {
    if (!isJournalAway(error)) throw error;
    return DOWN;
  }
}

export function callerOf({ journal }: Incarnation, manager: string): ManagerCaller {
  const by = writerOf(manager);
  return { manager, by, submit: (request) => journal.submit({ ...request, by }) };
}

/** As commits of a manager are signed. */
export function writerOf(manager: string): string {
  return `token of ${manager}`;
}

export function fromGateway<A>(reply: GatewayReply<A>): Served<A> {
  return reply.kind === 'answer' ? { kind: 'reply', reply } : refuseWith(reply.refusal);
}

function refuseWith({ kind, code, message, ...refusal }: Refusal): Served<never> {
  if (kind === 'unavailable') {
    const { retryAfterMs } = refusal as { readonly retryAfterMs?: number };
    return { kind: 'down', ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
  return { kind: 'reply', reply: { kind: 'refused', code, message } };
}

export async function commitFor<A>(life: Incarnation, manager: string, command: ManagerCommand<A>): Promise<Served<A>> {
  const outcome = await life.journal.submit({ by: writerOf(manager), ...command });
  return fromOutcome(outcome, (answer) => ({ kind: 'reply', reply: { kind: 'answer', answer } }));
}

function fromOutcome<A, B>(outcome: Outcome<A>, accepted: (answer: A) => Served<B>): Served<B> {
  return outcome.kind === 'accepted' ? accepted(outcome.answer) : refuseWith(outcome.refusal);
}

/** What `POST /nodes/:id/actions` does. */
export async function actFor(
  world: World,
  life: Incarnation,
  call: MachineCall & { readonly sentAtMs: number },
): Promise<Served<MachineReply>> {
  const { actOnMachine, denyUnlessAwaited, denyUnlessManages } = world.parts.baremetal;
  const { operationKinds } = life.runtime.composition;
  const { isLive: isLeaseLive } = life.runtime.get(MANAGER_LEASES);
  const command = { call, note: life.ids.next('call'), nowMs: life.clock.nowMs() };
  const outcome = await life.journal.submit<ActAnswer>({
    by: writerOf(call.manager),
    why: `${call.action} node ${call.node} for ${call.instance}`,
    decide: (fleet): Decision<ActAnswer> => {
      const { nowMs } = world.scheduler;
      // Nothing but its manager's clock keeps one away that compares no epochs: whatever is longer on its way than a manager stops early is lost.
      const isBlind = !valueOf(fleet, SIMULATED_INVENTORY).checksEpochs;
      if (isBlind && nowMs - call.sentAtMs > STOP_EARLY_MS) return accept([], { kind: 'lost' });
      world.machineCallsAtMs.set(command.note, nowMs);
      const { task } = call.args;
      if (typeof task === 'string') world.machineCallTasks.set(command.note, task);
      return actOnMachine(
        fleet,
        command,
        (at, claimed) =>
          denyUnlessManages(at, { ...claimed, isLeaseLive }) ?? denyUnlessAwaited(at, operationKinds, call),
      );
    },
  });
  return fromOutcome(outcome, (answer): Served<MachineReply> => {
    if (answer.kind === 'lost') return { kind: 'reply', reply: { kind: 'answer', answer: { kind: 'away' } } };
    if (answer.kind === 'outcome') return { kind: 'reply', reply: { kind: 'answer', answer } };
    const { code, message } = answer.refusal;
    return { kind: 'reply', reply: { kind: 'answer', answer: { kind: 'refused', code, message } } };
  });
}

export async function inspectFor({ journal, clock }: Incarnation, node: string): Promise<Served<MachineStatus>> {
  return { kind: 'reply', reply: { kind: 'answer', answer: readMachine(journal.fleet, node, clock.nowMs()) } };
}

interface ReserveCall {
  readonly body: Readonly<Record<string, unknown>>;
  readonly by: string;
}

/** What `POST /reservations` does. */
export async function reserveFor(
  world: World,
  life: Incarnation,
  call: ReserveCall,
): Promise<Served<ReservationReply>> {
  const body = call.body as ReservationBody;
  const request = parseReservationBody(body);
  if (!('requirements' in request)) return refuseWith(malformedReservation(request));
  const outcome = await life.journal.submit<ReserveAnswer>({
    by: call.by,
    why: `reserve a node for ${request.instance}`,
    decide: (fleet) => decideReservation(world, life, { ...call, fleet }),
  });
  if (outcome.kind === 'refused') return refuseWith(outcome.refusal);
  const { answer } = outcome;
  if (answer.kind === 'no-match') return refuseWith(answer.refusal);
  if (answer.kind === 'allocating') await awaitSettled(life, request.instance);
  const doc = findReservation(life.journal.fleet, request.instance);
  if (doc?.state === 'error' && answer.kind === 'allocating')
    return { kind: 'reply', reply: { kind: 'refused', code: doc.reason?.code ?? 'no-match', message: 'no node' } };
  const said = { state: doc?.state ?? 'allocating', ...(doc?.node !== undefined && { node: doc.node }) };
  return { kind: 'reply', reply: { kind: 'answer', answer: said } };
}

export function decideReservation(
  world: World,
  { runtime, ids, clock }: Incarnation,
  { fleet, body, by }: ReserveCall & { readonly fleet: FleetReader },
): Decision<ReserveAnswer> {
  const request = parseReservationBody(body as ReservationBody);
  if (!('requirements' in request)) throw new Error('the body of a request for a node is malformed');
  const { project } = request;
  return world.parts.baremetal.reserveNode(fleet, {
    ...{ request, body, digest: sha256(canonicalRequest(body as ReservationBody)), by, nowMs: clock.nowMs() },
    ...(project !== undefined && { project }),
    isVisible: () => true,
    operation: idOf(OPERATION, ids.next('op')),
    claimModeOf: runtime.get(CLAIM_MODES).modeOf,
    isLeaseLive: runtime.get(MANAGER_LEASES).isLive,
  });
}

async function awaitSettled({ journal, clock }: Incarnation, instance: string): Promise<void> {
  const untilMs = clock.nowMs() + SETTLE_MS;
  while (clock.nowMs() < untilMs && findReservation(journal.fleet, instance)?.state === 'allocating')
    await clock.sleep(100);
}

function findReservation(fleet: FleetReader, instance: string): Reservation | undefined {
  return fleet.get(RESERVATION, reservationId(instance))?.doc;
}
