// The fields that requests for workers have in common.
import { Type } from 'typebox';
import { DRAIN_POLICY_SCHEMA } from '../model.ts';
import { WORKERS_AT_ONCE_MAX, type ChosenWorkers } from './chosen-workers.ts';

const WORKER_NAME = Type.String({
  pattern: '^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)?[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$',
  'x-form': 'the name of a Node (a DNS label), or of a worker: the name of its cluster, a dot, and that of its Node',
});
export const WORKERS = Type.Array(WORKER_NAME, { minItems: 1, maxItems: WORKERS_AT_ONCE_MAX });
export const REASON = Type.Optional(Type.String({ minLength: 1, maxLength: 500 }));

/** Exactly one of them: the decision refuses neither and both. */
export const WORKERS_FIELDS = {
  workers: Type.Optional(WORKERS),
  count: Type.Optional(
    Type.Integer({
      description: `1 to ${WORKERS_AT_ONCE_MAX}, in place of names: unhealthy ones first, then the newest`,
    }),
  ),
};

const { deadlineMs, evictBare, keepEmptyDir } = DRAIN_POLICY_SCHEMA.properties;
export const POLICY_FIELDS = {
  deadlineMs: Type.Optional(deadlineMs),
  evictBare: Type.Optional(evictBare),
  keepEmptyDir: Type.Optional(keepEmptyDir),
};

export function readChosenWorkers(nodes: readonly string[] | undefined, count: number | undefined): ChosenWorkers {
  return { ...(nodes !== undefined && { nodes }), ...(count !== undefined && { count }) };
}
