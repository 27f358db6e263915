// A host could not destroy its copy of an instance: the task is repeated with backoff.
import { waitWithBackoff, type RecordStep, type StoredItem, type TaskAnswer } from '../../operations/index.ts';

export function retryDestroy(item: StoredItem, { problems = [] }: TaskAnswer, nowMs: number): RecordStep {
  const { target, host } = item.doc;
  return waitWithBackoff(item, { code: 'not-destroyed', instance: target.id, host, problems }, { nowMs });
}
