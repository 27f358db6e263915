// All modules of one server, with what only a real server can provide to them: its keys and certificates, its clock, its address.
import { INTEGRITY_CONTROLLER, INTEGRITY_HOOKS } from '../alarms/module.ts';
import { AGENT_CERTIFICATES, HEARTBEAT_LISTENER } from '../agent/module.ts';
import { hashSecret, type Metrics } from '../api/runtime.ts';
import { MANAGER_CERTIFICATES, OUTSIDE_INVENTORIES } from '../baremetal/index.ts';
import { provide, Runtime, SECRET_MASK, type ServiceOf } from '../composition/index.ts';
import type { SecretMask } from '../access/index.ts';
import { SECRETS, type Secrets } from '../keys/index.ts';
import { LIVENESS_CONTROLLER } from '../hosts/index.ts';
import type { Journal, Lease } from '../journal/index.ts';
import type { BACK_END_CREDENTIALS } from '../network/index.ts';
import type { Log } from '../operations/index.ts';
import { LEASE_CONTROLLER } from '../operations/module.ts';
import type { ClientCertificates } from './client-certificates.ts';
import { readClocks, realClock } from './clock.ts';
import { coreProviders } from './core-providers.ts';
import { realIds } from './ids.ts';
import type { KeyRing } from './key-ring.ts';
import { PROGRAM } from './modules.ts';
import { createStatementIssuer } from './statement-signing.ts';
import { createTrustedTime } from './trusted-time.ts';

export interface ServerParts {
  readonly journal: Journal;
  readonly log: Log;
  /** Called when everything that was found wrong with the store is on record. */
  readonly release: () => void;
  readonly metrics: Metrics;
  readonly keys: KeyRing;
  readonly secrets: Secrets;
  readonly mask: SecretMask;
  readonly credentials: ServiceOf<typeof BACK_END_CREDENTIALS>;
  /** Inventories of bare-metal nodes beside the simulated one. */
  readonly outsideInventories: ServiceOf<typeof OUTSIDE_INVENTORIES>;
  readonly certificates: ClientCertificates;
  /** Agents authenticate this server by its certificate. */
  readonly isSecure: boolean;
  /** Of this server, for operators. */
  readonly name: string;
  /** Its address, which is known once it listens. */
  readonly own: { readonly url?: string };
}

export function composeServer(parts: ServerParts): Runtime {
  const { journal, log, release, metrics, keys, credentials, certificates, isSecure, name, own, outsideInventories } =
    parts;
  const { secrets, mask } = parts;
  const ids = realIds();
  const core = coreProviders({
    // It takes the lease only when it listens.
    lease: { holder: ids.next('server'), url: () => own.url ?? name },
    keys,
    credentials,
    trustedTime: (runtime) =>
      createTrustedTime({ journal, readClocks, server: name, integrity: runtime.get(INTEGRITY_CONTROLLER) }),
    gateway: (runtime) => {
      const holder = (): Lease | undefined => runtime.get(LEASE_CONTROLLER).holder();
      const statements = createStatementIssuer({ journal, keys, isSecure, holder, ownUrl: () => own.url });
      return { hash: hashSecret, statements };
    },
  });
  return new Runtime(PROGRAM, { journal, clock: realClock, ids, log }, [
    ...core,
    provide(SECRETS, () => secrets),
    provide(SECRET_MASK, () => mask),
    provide(INTEGRITY_HOOKS, () => ({
      onRecorded: release,
      onReported: (code) => metrics.countIntegrityFinding(code),
    })),
    provide(HEARTBEAT_LISTENER, (runtime) => countingListener(metrics, runtime.get(LIVENESS_CONTROLLER))),
    provide(AGENT_CERTIFICATES, () => certificates),
    provide(MANAGER_CERTIFICATES, () => ({ issuer: certificates.managerIssuer })),
    provide(OUTSIDE_INVENTORIES, () => outsideInventories),
  ]);
}

function countingListener(
  metrics: Metrics,
  liveness: ServiceOf<typeof LIVENESS_CONTROLLER>,
): ServiceOf<typeof HEARTBEAT_LISTENER> {
  return {
    recordHeartbeat: (host, isUp) => {
      metrics.countHeartbeat();
      liveness.recordHeartbeat(host, isUp);
    },
  };
}
