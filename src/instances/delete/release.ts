// The operation `instance-release`: releases the resources of a build whose deadline has passed. Its host destroys the copy, created ports are deleted,
// users' ports are handed back, and the claim is released. The instance stays in error with its fault.
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
  cancel: { kind: 'none', because: 'the resources of the build would never be released' },
  retry: { kind: 'does', what: 'the task or the order is repeated' },

  plan: (fleet, items, nowMs) =>
    items.flatMap((item): readonly PlannedStep[] => {
      const instance = instanceOf(fleet, item);
      const { step } = item.doc;
      // A delete releases the rest.
      if (instance?.doc.state !== 'error') return [record(item, { state: 'done', step })];
      return step === 'destroy'
        ? planDestroy(fleet, item, instance, nowMs)
        : planRelease(fleet, item, { instance, nowMs, finish });
    }),

  observe: (item, outcome, { fleet, nowMs }) => handleReleaseOutcome(fleet, item, { outcome, nowMs, finish }),
  task: (item, { fleet }) => composeDestroyTask(fleet, item),
  handleTaskAnswer: (item, answer, { fleet, nowMs }) => handleDestroyAnswer(fleet, item, answer, nowMs),
  itemsToWake: (fleet, { kind, before, after }) => itemsOfHost(fleet, kind, (after ?? before)?.id),
};

const finish: ReleaseFinisher = (fleet, { id, doc }, nowMs) => {
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

/** Releases the resources of a build: at once where only the journal is concerned, else by an operation that it starts. */
export function releaseOverdue(fleet: FleetReader, { instance, sent, key, nowMs }: OverdueBuild): Change[] {
  const { id, doc } = instance;
  const outside = nonInlinePorts(fleet, portsOf(fleet, doc));
  if (sent === undefined && outside.length === 0) return releaseFailedBuild(fleet, id, doc, { by: RELEASER, nowMs });
  return newOperation({
    id: `release-${key}` as OperationId,
    kind: instanceRelease.name,
    title: `release the resources of the build of instance ${id}`,
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
