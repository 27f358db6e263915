// The operation `instance-release`: what a build held whose deadline has passed is given back. Its host destroys what it has, ports
// that were made are deleted, users' ports are handed back, and the claim is dropped. The instance stays in error and says why.
import type { Change, FleetReader } from '../../fleet/index.ts';
import {
  newOperation,
  record,
  type PlannedStep,
  type OperationId,
  type OperationKind,
} from '../../operations/index.ts';
import { itemsOfHost, NO_DEADLINE_MS } from './clean.ts';
import {
  handleDestroyAnswer,
  composeDestroyTask,
  instanceOf,
  handleReleaseOutcome,
  planDestroy,
  planRelease,
  type ReleaseFinisher,
} from './release-steps.ts';
import { releaseFailedBuild, composeFault } from '../build/failure.ts';
import { INSTANCE, type Instance } from '../model.ts';
import { nonInlinePorts } from '../back-end-orders.ts';
import { portsOf, type StoredInstance } from '../build/placement.ts';

const RELEASER = 'operation:instance-release';

export const instanceRelease: OperationKind = {
  name: 'instance-release',
  steps: ['destroy', 'release'],
  cancel: { kind: 'none', because: 'what the build held would be nobody’s' },
  retry: { kind: 'does', what: 'the host or the back end is asked again' },

  plan: (fleet, _operation, items, nowMs) =>
    items.flatMap((item): readonly PlannedStep[] => {
      const instance = instanceOf(fleet, item);
      const { step } = item.doc;
      // A delete gives back what is left.
      if (instance?.doc.state !== 'error') return [record(item, { state: 'done', step })];
      return step === 'destroy'
        ? planDestroy(fleet, item, instance, nowMs)
        : planRelease(fleet, item, { instance, nowMs, finish });
    }),

  observe: (fleet, item, outcome, nowMs) => handleReleaseOutcome(fleet, item, { outcome, nowMs, finish }),
  task: (fleet, item) => composeDestroyTask(fleet, item),
  handleTaskAnswer: (fleet, item, answer, nowMs) => handleDestroyAnswer(fleet, item, answer, nowMs),
  itemsToWake: (fleet, { kind, before, after }) => itemsOfHost(fleet, kind, (after ?? before)?.id),
};

const finish: ReleaseFinisher = (fleet, _item, { id, doc }, nowMs) => {
  if (doc.state !== 'error') return { changes: [], progress: { state: 'done' } };
  const failed = { ...doc, fault: doc.fault ?? composeFault(doc, undefined, nowMs) };
  return { changes: releaseFailedBuild(fleet, id, failed, { by: RELEASER, nowMs }), progress: { state: 'done' } };
};

export interface OverdueBuild {
  /** The build's instance in error, with its fault. */
  readonly instance: StoredInstance & { readonly doc: Instance & { readonly fault: NonNullable<Instance['fault']> } };
  /** The host that may have a copy of it. */
  readonly sent: string | undefined;
  readonly key: string;
  readonly nowMs: number;
}

/** Gives back what a build held: at once where only the journal is concerned, else by an operation that it begins. */
export function releaseOverdue(fleet: FleetReader, { instance, sent, key, nowMs }: OverdueBuild): Change[] {
  const { id, doc } = instance;
  const outside = nonInlinePorts(fleet, portsOf(fleet, doc));
  if (sent === undefined && outside.length === 0) return releaseFailedBuild(fleet, id, doc, { by: RELEASER, nowMs });
  return newOperation({
    id: `release-${key}` as OperationId,
    kind: instanceRelease.name,
    title: `give back what the build of instance ${id} held`,
    by: 'muster',
    nowMs,
    deadlineMs: NO_DEADLINE_MS,
    items: [
      sent === undefined
        ? { key: id, target: { kind: INSTANCE.name, id }, step: 'release', state: 'running' }
        : { key: id, target: { kind: INSTANCE.name, id }, step: 'destroy', host: sent, state: 'running' },
    ],
  });
}
