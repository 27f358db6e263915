export { answer, noSuch, readResource, refused, resourceAfter } from './answer.ts';
export {
  callerOfToken,
  denyUnlessAuthorized,
  denyUnlessSufficient,
  findTokenTrouble,
  isTokenGood,
  refuseToken,
} from './authority.ts';
export type { Authority, StoredToken } from './authority.ts';
export {
  consumeJoinToken,
  createToken,
  hasAdmin,
  isExpired,
  lifetimeTrouble,
  revokedToken,
  revokeToken,
  tokensOfHost,
} from './decide.ts';
export type { NewToken } from './decide.ts';
export { guarded, usualLocation } from './idempotency.ts';
export type { Guard, Repeated, Written } from './idempotency.ts';
export { listAnswer, listQuery, listResources, scansFleet } from './list.ts';
export type { Filter, Listing } from './list.ts';
export { accessModel, IDEMPOTENCY, TOKEN } from './model.ts';
export type { FormerKeptAnswer, KeptAnswer, Token, TokenId } from './model.ts';
export { ADDRESS_UNAVAILABLE, denyForeignNames, NAME_UNAVAILABLE } from './new-names.ts';
export type { NewNames } from './new-names.ts';
export { denyOtherProject, projectAsked } from './project.ts';
export { createRoute, deleteRoute, editRoute, listRoute, readRoutes, showRoute } from './resource.ts';
export type { Resource } from './resource.ts';
export { isBound, NOBODY, permits, seesProject, seesSite } from './role.ts';
export { sightOf } from './sight.ts';
export type { Sight, SightOf } from './sight.ts';
export type { Caller } from './role.ts';
export { inTurns } from './in-turns.ts';
export { jsonPieces, LazyList } from './json-pieces.ts';
export {
  BY_ID,
  closed,
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
export { authorizingSubmit } from './submit.ts';
export { newSecret, secretText, tokenIdIn } from './secret.ts';
export { TOKEN_VIEW } from './token-view.ts';
export { seen, viewOf } from './view.ts';
export type { ProjectOf, SiteOf, View } from './view.ts';
