export { cancelOperation, newOperation, recordStep, retryOperation, unknownOperation } from './decide.ts';
export type { NewItem, NewOperation, OperationCommand } from './decide.ts';
export { expecting, fail, itemOfTask, record, taskId, wait } from './kind.ts';
export type * from './kind.ts';
export type { Log } from './log.ts';
export {
  countsOf,
  isOpen,
  isUnfinished,
  ITEM,
  ITEM_STATES,
  ITEMS_BY_OPERATION,
  OPEN_ITEMS_BY_HOST,
  OPERATION,
  OPERATION_STATES,
  operationsModel,
} from './model.ts';
export type { Counts, Item, ItemId, ItemState, Operation, OperationId, OperationState } from './model.ts';
export { planOperation } from './plan.ts';
export { explainer, operationSentences, said } from './reason.ts';
export type { Explain, ReasonSentences } from './reason.ts';
