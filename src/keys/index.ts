export { keySentences } from './decide.ts';
export { findKeyIds, keysModel } from './model.ts';
