// The fields that requests for workers have in common.
import { Type } from 'typebox';
import { DNS_LABEL, DRAIN_POLICY_SCHEMA } from '../model.ts';
import { WORKERS_AT_ONCE_MAX, type ChosenWorkers } from './decide.ts';

export const WORKERS = Type.Array(DNS_LABEL, { minItems: 1, maxItems: WORKERS_AT_ONCE_MAX });
export const REASON = Type.Optional(Type.String({ minLength: 1, maxLength: 500 }));

/** Exactly one of them: the decision refuses neither and both. */
export const WORKERS_FIELDS = {
  workers: Type.Optional(WORKERS),
  count: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: WORKERS_AT_ONCE_MAX,
      description: 'in place of names: unhealthy ones first, then the newest',
    }),
  ),
};

const { deadlineMs, evictBare, keepEmptyDir } = DRAIN_POLICY_SCHEMA.properties;
export const POLICY_FIELDS = {
  deadlineMs: Type.Optional(deadlineMs),
  evictBare: Type.Optional(evictBare),
  keepEmptyDir: Type.Optional(keepEmptyDir),
};

export function chosenWorkers(nodes: readonly string[] | undefined, count: number | undefined): ChosenWorkers {
  return { ...(nodes !== undefined && { nodes }), ...(count !== undefined && { count }) };
}
