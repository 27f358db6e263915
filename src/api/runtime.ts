export { hashSecret } from './authenticate.ts';
export { ADMIN_TOKEN_FILE, ensureAdminToken } from './first-token.ts';
export { InsecureListen, type ListenAddress } from './listen.ts';
export { Metrics } from './metrics.ts';
export { describeApi } from './openapi.ts';
export type { PeerProofs } from './peer-proof.ts';
export { createServer } from './server.ts';
export type { ApiServer, ServerOptions } from './server.ts';
