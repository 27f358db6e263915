export { keySentences } from './decide.ts';
export { findKeyIds, KEYS_RESOURCE, keysModel, parseKeyIds, type KeyIds } from './model.ts';
