export type { NewItem } from './decide.ts';
export { cancelOperation, newOperation, recordStep, retryOperation, stopOperation } from './decide.ts';
export { decideLater, expecting, fail, itemOfTask, record, taskId, wait } from './kind.ts';
export type * from './kind.ts';
export type { Log } from './log.ts';
export {
  isOpen,
  isUnfinished,
  ITEM,
  ITEMS_BY_OPERATION,
  OPEN_ITEMS_BY_HOST,
  OPEN_ITEMS_BY_TARGET,
  OPERATION,
  operationsModel,
  targetKey,
  withinOf,
} from './model.ts';
export type { Item, Operation, OperationId } from './model.ts';
export { againAfterMs } from './pace.ts';
export { explainer, operationSentences, said, saidProblems } from './reason.ts';
export type { Explain, ReasonSentences } from './reason.ts';
