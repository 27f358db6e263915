// The answer to a request for workers that an operation carries out.
import { Type } from 'typebox';
import { answer, strictObject, type Answer } from '../../access/index.ts';
import type { WorkersAnswer } from './decide.ts';

export const WORKERS_ACCEPTED = strictObject({ operation: Type.String(), workers: Type.Array(Type.String()) });

export function answerAccepted(accepted: WorkersAnswer): Answer {
  return { ...answer(accepted, 202), headers: { location: `/api/v1/operations/${accepted.operation}` } };
}
