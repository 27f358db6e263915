export { CLAIM, claimId, CLAIMS_BY_HOST } from './claim.ts';
export type { Claim, ClaimId } from './claim.ts';
export { PORT, PORTS_BY_INSTANCE, PROJECT } from './model.ts';
export type { Port } from './model.ts';
export { bandwidthClass } from './need.ts';
export type { NicNeed, PoolChoice, PoolKey } from './need.ts';
