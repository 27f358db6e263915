// The core of a server of which only some parts are used: it takes no lease, and hosts cannot join it.
import type { ServerCore } from './core-providers.ts';

export const IDLE_CORE: ServerCore = {
  lease: { holder: 'nobody', url: () => '' },
  keys: { ids: () => ({ serial: 1, signing: ['signing-1'], authorities: ['authority-1'] }) },
  credentials: { has: () => true },
  trustedTime: () => () => undefined,
  gateway: () => ({ hash: (text) => text }),
};
