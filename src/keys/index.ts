export { type OwnKeys } from './decide.ts';
export { findKeyIds, findPredecessors, KEYS_RESOURCE, parseKeyIds, type KeyIds } from './model.ts';
