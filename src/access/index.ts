export { answer, documentRef, noSuch, problemAnswer, readResource, refusalAnswer, renderCommitted } from './answer.ts';
export {
  callerOfToken,
  denyUnlessAuthorized,
  denyUnlessSufficient,
  findTokenTrouble,
  findTroubleOf,
  otherManager,
  refuseToken,
} from './authority.ts';
export type { Authority, NamedByPath, StoredToken } from './authority.ts';
export {
  createToken,
  hadAdmin,
  hasAdmin,
  isExpired,
  lifetimeTrouble,
  revokeTokenChange,
  revokeToken,
  tokensOfHost,
  tokensOfManager,
} from './decide.ts';
export type { NewToken } from './decide.ts';
export { consumeJoinToken, JOIN_SECRET, joinTokenOfOtherHost } from './join-token.ts';
export { guardWrite, usualLocation } from './write-guard.ts';
export type { WriteGuard, ReplayedAnswer, WriteOutcome } from './write-guard.ts';
export { listAnswer, listQuery, listResources, scansFleet } from './list.ts';
export type { FilterField, Listing } from './list.ts';
export { accessModel, IDEMPOTENCY, MANAGER_NAME, TOKEN } from './model.ts';
export { unpackAnswer } from './kept-answer.ts';
export type { KeptContent, KeptParts } from './kept-answer.ts';
export type { FormerKeptAnswer, Token, TokenId } from './model.ts';
export { ADDRESS_UNAVAILABLE, denyForeignNames, NAME_UNAVAILABLE } from './new-names.ts';
export type { NewNames } from './new-names.ts';
export { denyOtherProject, readRequestedProject } from './project.ts';
export { createRoute, deleteRoute, editRoute, listRoute, readRoutes, showRoute } from './resource.ts';
export type { Resource } from './resource.ts';
export { isBound, ANONYMOUS, permits, canSeeProject, canSeeSite } from './role.ts';
export { redactorFactory } from './redactor.ts';
export type { Redactor, RedactorFor } from './redactor.ts';
export type { Caller, Projects } from './role.ts';
export { runInSlices } from './run-in-slices.ts';
export { jsonPieces, LazyList } from './json-pieces.ts';
export {
  BY_ID,
  bulk,
  strictObject,
  HOST_MARK,
  HOST_REF,
  ID,
  NOT_PREPARED,
  notPrepared,
  optionalFields,
  read,
  stream,
  write,
  type HostMark,
} from './route.ts';
export type * from './route.ts';
export { createAuthorizedSubmit } from './submit.ts';
export { newSecret, secretText, tokenIdIn } from './token-secret.ts';
export { SEALED, sealingKeyOf, Secret } from './secret.ts';
export type { Seal, SecretOwner } from './secret.ts';
export { SecretMask } from './secret-mask.ts';
export { TOKEN_REPRESENTATION } from './token-representation.ts';
export { defineRepresentation, everyProject, findVisible, noProject, wholeFleet } from './representation.ts';
export type { ProjectOf, SiteOf, Representation } from './representation.ts';
