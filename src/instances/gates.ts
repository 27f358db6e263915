// Who makes the ports and who binds them: the control plane as soon as every host that counts knows what that means, an
// older host by itself until then. Read when a build begins, and kept with the build.
import type { FleetReader } from '../fleet/index.ts';
import { EARLY_BIND_VERSION, EARLY_CREATE_VERSION, SERVICE_VERSIONS } from '../hosts/index.ts';
import type { Instance } from './model.ts';

export interface Gate {
  readonly open: boolean;
  /** The version that every host must have. */
  readonly needs: number;
  /** How many hosts that count are below it. */
  readonly below: number;
}

export interface Gates {
  /** The lowest version of a host that is neither removed nor forced down. */
  readonly minimumVersion: number;
  readonly create: Gate;
  readonly bind: Gate;
}

export function gatesOf(fleet: FleetReader): Gates {
  const versions = fleet.projection(SERVICE_VERSIONS);
  const gate = (needs: number): Gate => ({ open: versions.minimum >= needs, needs, below: versions.below(needs) });
  return { minimumVersion: versions.minimum, create: gate(EARLY_CREATE_VERSION), bind: gate(EARLY_BIND_VERSION) };
}

/** The path of a build that begins now. `credentials` is false when a back end that it needs has none at this server. */
export function pathOf(fleet: FleetReader, credentials: boolean): Instance['path'] {
  const { create, bind } = gatesOf(fleet);
  if (!create.open || !credentials) return { create: 'host', bind: 'host' };
  return { create: 'conductor', bind: bind.open ? 'conductor' : 'host' };
}
