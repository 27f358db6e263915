export {
  countByKey,
  countKeysIn,
  damagedReason,
  missingKeyReason,
  NO_SECRETS,
  refuseToSeal,
  sealedKinds,
  SECRETS,
  type Secrets,
  type Unsealed,
} from './secrets.ts';
export { type OwnKeys } from './decide.ts';
export { findKeyIds, findPredecessors, KEYS_RESOURCE, parseKeyIds, type KeyIds } from './model.ts';
