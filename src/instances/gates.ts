// Who makes the ports and who binds them: the control plane as soon as every host that counts knows what that means, an
// older host by itself until then. Read when a build begins, and kept with the build.
import { idOf, mark, type FleetReader } from '../fleet/index.ts';
import { EARLY_BIND_VERSION, EARLY_CREATE_VERSION, SERVICE_VERSIONS } from '../hosts/index.ts';
import { credentialsMissing, credentialsWereMissing, NETWORK } from '../network/index.ts';
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

/** The path of a build that begins now. `credentials` is false when a back end that it needs has none at this server. */
export function pathOf(fleet: FleetReader, credentials: boolean): Instance['path'] {
  const { minimum } = fleet.projection(SERVICE_VERSIONS);
  if (minimum < EARLY_CREATE_VERSION) mark('gate-create-closed');
  else if (!credentials) mark('gate-closed-without-credentials');
  else if (minimum < EARLY_BIND_VERSION) mark('gate-bind-closed');
  if (minimum < EARLY_CREATE_VERSION || !credentials) return BY_HOST;
  return minimum >= EARLY_BIND_VERSION ? BY_CONDUCTOR : BOUND_BY_HOST;
}

const BY_HOST: Instance['path'] = { create: 'host', bind: 'host' };
const BOUND_BY_HOST: Instance['path'] = { create: 'conductor', bind: 'host' };
const BY_CONDUCTOR: Instance['path'] = { create: 'conductor', bind: 'conductor' };

/**
 * The path of a move or rebuild that begins now. Not that of the build: since then hosts may have become newer, and speak to
 * no network any more.
 */
export function pathAgain(fleet: FleetReader, { nics }: Instance): Instance['path'] {
  const backEnds = nics.flatMap(({ network }) => fleet.get(NETWORK, idOf(NETWORK, network))?.doc.backEnd ?? []);
  return pathOf(fleet, !credentialsMissing(backEnds, !credentialsWereMissing(fleet)));
}
