// What every program with a whole control plane in it provides to the modules: the server, the simulation and the acceptance tests. What a
// module needs beside these has a default, and is no part of it.
import { GATEWAY_OPTIONS } from '../agent/module.ts';
import { provide, type Provider, type Runtime, type ServiceOf } from '../composition/index.ts';
import { TRUSTED_TIME } from '../journal/module.ts';
import { OWN_KEYS } from '../keys/module.ts';
import { BACK_END_CREDENTIALS } from '../network/index.ts';
import { LEASE_IDENTITY } from '../operations/module.ts';

export interface ServerCore {
  /** Who this server is to the others. */
  readonly lease: ServiceOf<typeof LEASE_IDENTITY>;
  readonly keys: ServiceOf<typeof OWN_KEYS>;
  /** Of network back ends. */
  readonly credentials: ServiceOf<typeof BACK_END_CREDENTIALS>;
  readonly trustedTime: (runtime: Runtime) => ServiceOf<typeof TRUSTED_TIME>;
  readonly gateway: (runtime: Runtime) => ServiceOf<typeof GATEWAY_OPTIONS>;
}

export function coreProviders({ lease, keys, credentials, trustedTime, gateway }: ServerCore): readonly Provider[] {
  return [
    provide(LEASE_IDENTITY, () => lease),
    provide(OWN_KEYS, () => keys),
    provide(BACK_END_CREDENTIALS, () => credentials),
    provide(TRUSTED_TIME, trustedTime),
    provide(GATEWAY_OPTIONS, gateway),
  ];
}
