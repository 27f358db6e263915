// Upgrade gates: who creates the ports and who binds them. The control plane does as soon as every host that counts supports it, an older host itself
// until then. Read when a build starts, and kept with the build.
import { idOf, mark, type FleetReader } from '../fleet/index.ts';
import { EARLY_BIND_VERSION, EARLY_CREATE_VERSION, SERVICE_VERSIONS } from '../hosts/index.ts';
import { isMissingCredentials, hasMissingCredentialsAlarm, NETWORK } from '../network/index.ts';
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
  const gate = (needs: number): Gate => ({ open: versions.minimum >= needs, needs, below: versions.countBelow(needs) });
  return { minimumVersion: versions.minimum, create: gate(EARLY_CREATE_VERSION), bind: gate(EARLY_BIND_VERSION) };
}

/** The path of a build that starts now. `credentials` is false when a back end that it needs has none at this server. */
export function pathOf(fleet: FleetReader, hasCredentials: boolean): Instance['path'] {
  const { minimum } = fleet.projection(SERVICE_VERSIONS);
  if (minimum < EARLY_CREATE_VERSION) mark('gate-create-closed');
  else if (!hasCredentials) mark('gate-closed-without-credentials');
  else if (minimum < EARLY_BIND_VERSION) mark('gate-bind-closed');
  if (minimum < EARLY_CREATE_VERSION || !hasCredentials) return ALL_BY_HOST;
  return minimum >= EARLY_BIND_VERSION ? ALL_BY_CONDUCTOR : BINDING_BY_HOST;
}

const ALL_BY_HOST: Instance['path'] = { create: 'host', bind: 'host' };
const BINDING_BY_HOST: Instance['path'] = { create: 'conductor', bind: 'host' };
const ALL_BY_CONDUCTOR: Instance['path'] = { create: 'conductor', bind: 'conductor' };

/**
 * The path of a move or rebuild that starts now. Not that of the build: hosts may have been upgraded since, and no longer call a network back end
 * themselves.
 */
export function currentPathOf(fleet: FleetReader, { nics }: Instance): Instance['path'] {
  const backEnds = nics.flatMap(({ network }) => fleet.get(NETWORK, idOf(NETWORK, network))?.doc.backEnd ?? []);
  return pathOf(fleet, !isMissingCredentials(backEnds, !hasMissingCredentialsAlarm(fleet)));
}
