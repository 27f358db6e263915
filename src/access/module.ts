import { extensionPoint, hideKind, type Module } from '../composition/index.ts';
import type { Kind } from '../fleet/index.ts';
import { accessModel, IDEMPOTENCY } from './model.ts';
import { tokenRoutes } from './routes.ts';
import { noProject, wholeFleet } from './representation.ts';
import { TOKEN_REPRESENTATION } from './token-representation.ts';

/** The kinds of documents that a token can be bound to. Access knows neither sites nor hosts: their modules say which they are. */
export const TOKEN_SITE_KIND = extensionPoint<Kind<string, never>>('token-site-kind');
export const TOKEN_HOST_KIND = extensionPoint<Kind<string, never>>('token-host-kind');

export const accessModule: Module = {
  name: 'access',
  models: () => [accessModel],
  representations: () => [TOKEN_REPRESENTATION],
  hiddenKinds: [hideKind(IDEMPOTENCY, { siteOf: wholeFleet, projectOf: noProject })],
  routes: ({ composition }) =>
    tokenRoutes({ site: composition.one(TOKEN_SITE_KIND), host: composition.one(TOKEN_HOST_KIND) }),
};
