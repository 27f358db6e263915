// The refusals of the reservation endpoint.
import type { SchemaProblem, Refusal } from '../../fleet/index.ts';

/** What a body means, as opposed to its form, is wrong: by field. */
export function malformedReservation(problems: readonly SchemaProblem[]): Refusal {
  const text = problems.map(({ field, message }) => `${field} ${message}`).join('; ');
  const message = `The body is not as this route wants it: ${text}. Change that, and send it again.`;
  const [first] = problems;
  return {
    kind: 'malformed',
    code: 'malformed-body',
    message,
    ...(first !== undefined && { field: first.field }),
    facts: { problems },
  };
}

export function requestDiffers(instance: string): Refusal {
  const message = `Instance "${instance}" has a reservation with another request. Show it with "muster baremetal reservations show ${instance}", and release it first if another node is wanted.`;
  return { kind: 'conflict', code: 'request-differs', message, facts: { instance } };
}

/** Its flavor says what the node of a build has to be: the manager that has the task requests that. */
export function buildOfManager(build: string): Refusal {
  const message = `"${build}" is a build of the control plane: only its manager requests its node. Leave "build" out.`;
  return { kind: 'invalid', code: 'build-of-manager', message, field: '/build', facts: { build } };
}

export function managerNotRegistered(manager: string): Refusal {
  const message = `There is no manager "${manager}" to act on the node. Start it with "muster manager --name ${manager}", or name one of "muster baremetal managers list".`;
  return { kind: 'conflict', code: 'manager-not-registered', message, field: '/manager', facts: { manager } };
}

export function managerLapsed(manager: string): Refusal {
  const message = `The lease of manager "${manager}" has expired: no manager would act on the node. Name a live one of "muster baremetal managers list".`;
  return { kind: 'conflict', code: 'manager-lapsed', message, field: '/manager', facts: { manager } };
}

export function managerDraining(manager: string): Refusal {
  const message = `Manager "${manager}" drains: it gets no new nodes. Name another one of "muster baremetal managers list".`;
  return { kind: 'conflict', code: 'manager-draining', message, field: '/manager', facts: { manager } };
}

export function unknownCandidate(candidate: string, at: number): Refusal {
  const message = `There is no node "${candidate}". List them with "muster baremetal nodes list".`;
  return {
    kind: 'invalid',
    code: 'unknown-candidate',
    message,
    field: `/candidate_nodes/${at}`,
    facts: { candidate },
  };
}

/** Answers with Retry-After; the limit is of work that is under way, not of the caller. */
export function tooManyAllocations(most: number): Refusal {
  const message = `${most} claims are in progress at inventories already. Repeat the request in a moment.`;
  return { kind: 'unavailable', code: 'allocations-at-limit', message, retryAfterMs: 1000, facts: { most } };
}

/** Until the inventory has answered, the instance may have a node there. */
export function claimUnsettled(instance: string, node: string): Refusal {
  const message = `The inventory has not said yet whether it took back node "${node}", which was claimed for instance "${instance}" before. Repeat the request in a moment.`;
  return { kind: 'unavailable', code: 'claim-unsettled', message, retryAfterMs: 2000, facts: { instance, node } };
}

export function instanceHasReservation(instance: string): Refusal {
  const message = `Instance "${instance}" has this node: its reservation ends with it. Delete the instance with "muster instances delete ${instance}".`;
  return { kind: 'conflict', code: 'reservation-in-use', message, facts: { instance } };
}
