export { keySentences, type OwnKeys } from './decide.ts';
export { findKeyIds, findPredecessors, KEYS_RESOURCE, keysModel, parseKeyIds, type KeyIds } from './model.ts';
