export { CLAIM, claimId, CLAIMS_BY_HOST } from './claim.ts';
export type { Claim, ClaimId } from './claim.ts';
export { PROJECT } from './model.ts';
export { bandwidthClass } from './need.ts';
export type { NicNeed, PoolChoice, PoolKey } from './need.ts';
