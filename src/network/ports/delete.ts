// Deletes a user's port. Where the journal is the back end it is deleted at once; a back end outside deletes it first, by the operation
// `port-delete`, which repeats the order until it is answered. A port of an instance must never be deleted.
import { idOf, put, remove, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import {
  retryWithBackoff,
  expectUnchanged,
  newOperation,
  OPEN_ITEMS_BY_TARGET,
  OPERATION,
  record,
  formatFact,
  targetKey,
  type ActionOutcome,
  type PlannedStep,
  type OperationId,
  type OperationKind,
  type ReasonSentences,
  type RecordStep,
  type StoredItem,
} from '../../operations/index.ts';
import { capabilitiesOf, type ReleaseOrder, type PortAnswer } from '../back-ends/back-end.ts';
import { associatedPortProblem } from '../routers/floating-target.ts';
import { PORT } from '../model.ts';
import { portUserProblem } from './port-user.ts';
import { conflict, unknownResource } from '../refusal.ts';
import { findNetwork, type StoredPort } from '../networks/topology.ts';
import { undeliveredReason } from '../back-ends/undelivered-reason.ts';

const DELETE_DEADLINE_MS = 24 * 3600 * 1000;

export interface DeletePort {
  readonly id: string;
  /** The id of the operation, if one is needed. */
  readonly operation: OperationId;
  readonly by: string;
  readonly nowMs: number;
}

export interface PortDeletion {
  readonly port: StoredPort;
  /** Set when the port is deleted only after this operation. */
  readonly operation?: OperationId;
}

export function deletePort(fleet: FleetReader, { id, operation, by, nowMs }: DeletePort): Decision<PortDeletion> {
  const port = fleet.get(PORT, idOf(PORT, id));
  if (port === undefined) return refuse(unknownResource('port', id));
  if (port.doc.instance !== undefined) return refuse(portInUse(port));
  const used = portUserProblem(port) ?? associatedPortProblem(fleet, id);
  if (used !== undefined) return refuse(used);
  if (port.doc.state === 'releasing') {
    // A repeated request answers the same operation; a failed one is followed by another.
    const [running] = fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(PORT.name, id));
    if (running !== undefined) return accept([], { port, operation: idOf(OPERATION, running.doc.operation) });
  }
  if (isUnknownToBackEnds(fleet, port)) return accept([remove(PORT, port.id)], { port });
  const started = newOperation({
    id: operation,
    kind: portDelete.name,
    title: `delete port ${id}`,
    project: port.doc.project,
    by,
    nowMs,
    deadlineMs: DELETE_DEADLINE_MS,
    items: [{ key: id, target: { kind: PORT.name, id }, step: 'release' }],
  });
  const left = put(PORT, port.id, { ...port.doc, state: 'releasing', changedBy: by, changedAtMs: nowMs });
  return accept([left, ...started], { port, operation });
}

/** A back end outside cannot know of it: it is in the journal, or no build ever used it. */
function isUnknownToBackEnds(fleet: FleetReader, { doc }: StoredPort): boolean {
  return capabilitiesOf(fleet, doc.network).inline || (doc.state === 'wanted' && doc.serial === 0);
}

function portInUse({ id, doc }: StoredPort): Refusal {
  const message = `Port "${id}" is attached to "${doc.instance}". Delete the instance first; ports that you created stay then.`;
  return conflict('port-in-use', message, { facts: { port: id, instance: doc.instance } });
}

export const portDelete: OperationKind = {
  name: 'port-delete',
  steps: ['release'],
  cancel: { kind: 'none', because: 'the back end may have deleted the port already' },
  retry: { kind: 'does', what: 'a port that could not be deleted in time is tried again' },

  plan: (fleet, items, nowMs) =>
    items.flatMap((item) => {
      const port = fleet.get(PORT, idOf(PORT, item.doc.target.id));
      if (port === undefined) return [record(item, { state: 'done', step: 'release' })];
      return nowMs < (item.doc.retryAtMs ?? 0) ? [] : [planRelease(fleet, item, port)];
    }),

  observe: (item, outcome, { fleet, nowMs }) => {
    const port = fleet.get(PORT, idOf(PORT, item.doc.target.id));
    return port === undefined
      ? record(item, { state: 'done', step: 'release' })
      : handleReleaseOutcome(item, port, outcome, nowMs);
  },
};

function planRelease(fleet: FleetReader, item: StoredItem, { id, doc }: StoredPort): PlannedStep {
  const order: ReleaseOrder = {
    op: 'release',
    backEnd: findNetwork(fleet, doc.network)?.doc.backEnd ?? 'embedded',
    instance: '',
    ports: [{ port: id, serial: doc.serial + 1, nic: 0, createdBy: doc.createdBy, end: 'delete' }],
  };
  const args = order as unknown as Readonly<Record<string, unknown>>;
  const action = { driver: 'network', item: item.id, step: 'release', attempt: item.doc.attempt, args };
  return { kind: 'act', item: item.id, expected: item.revision, action };
}

function handleReleaseOutcome(item: StoredItem, port: StoredPort, outcome: ActionOutcome, nowMs: number): RecordStep {
  const answers = outcome.kind === 'applied' || outcome.kind === 'already' ? outcome.facts?.['ports'] : undefined;
  const answer = (answers as readonly PortAnswer[] | undefined)?.[0]?.outcome;
  if (answer === 'ok' || answer === 'not-found') {
    const made = { changes: [remove(PORT, port.id)], expects: [expectUnchanged(PORT, port)] };
    return record(item, { state: 'done', step: 'release' }, made);
  }
  const reason = undeliveredReason(outcome) ?? { code: 'port-not-deleted', port: port.id, answer: answer ?? 'none' };
  return retryWithBackoff(item, reason, { nowMs });
}

export const portSentences: ReasonSentences = {
  'port-not-deleted': ({ port, answer }) =>
    answer === 'none'
      ? `The network back end has not answered whether it deleted port ${formatFact(port)}; the order is repeated.`
      : `The network back end did not delete port ${formatFact(port)} (${formatFact(answer)}); the order is repeated.`,
};
