export type { NewItem } from './decide.ts';
export { cancelOperation, decideSteps, newOperation, recordStep, retryOperation } from './decide.ts';
export { decideLater, expectUnchanged, fail, itemOfTask, operationOf, record, taskId, wait } from './kind.ts';
export type * from './kind.ts';
export type * from './task-handler.ts';
export type { Log } from '../journal/index.ts';
export {
  isOpen,
  isUnfinished,
  ITEM,
  ITEMS_BY_OPERATION,
  OPEN_ITEMS_BY_ASSIGNEE,
  OPEN_ITEMS_BY_HOST,
  OPEN_ITEMS_BY_TARGET,
  OPERATION,
  operationsModel,
  targetKey,
  siteLimitOf,
} from './model.ts';
export type { Item, Operation, OperationId } from './model.ts';
export { retryWithBackoff, waitWithBackoff } from './backoff.ts';
export { explainer, operationSentences, formatFact, formatProblems } from './reason.ts';
export type { Explain, ReasonSentences } from './reason.ts';
export { isAwaited, recordTaskAnswer, taskOf } from './task-answer.ts';
export { endSentence, shortenText } from './short-text.ts';
