// The evacuator of ports that are bound to a host and belong to no instance there: nothing moves them, so they block the host's removal until an
// operator deletes them. Ports of instances move with their instances and must not be listed here.
import { put, type FleetReader } from '../../fleet/index.ts';
import { runInOneStep, type PlannedEvacuation, type Evacuator } from '../../hosts/index.ts';
import { formatFact, type ReasonSentences } from '../../operations/index.ts';
import { unbindPort } from './bind.ts';
import { CLAIM, claimId } from '../claim.ts';
import { PORT, PORTS_BY_HOST } from '../model.ts';
import type { StoredPort } from '../networks/topology.ts';

function listUnclaimedPorts(fleet: FleetReader, host: string): StoredPort[] {
  return [...fleet.find(PORTS_BY_HOST, host)].filter((port) => !isClaimedAt(fleet, port, host));
}

/** An instance is where its claims are, at both ends while it moves. */
function isClaimedAt(fleet: FleetReader, { doc: { instance } }: StoredPort, host: string): boolean {
  if (instance === undefined) return false;
  return (['home', 'move'] as const).some((role) => fleet.get(CLAIM, claimId(instance, role))?.doc.host === host);
}

export const portEvacuator: Evacuator = {
  name: 'ports',
  inventory: (fleet, host) => listUnclaimedPorts(fleet, host).map(({ id }) => ({ kind: PORT.name, id })),
  dependsOn: [PORTS_BY_HOST],
  countLeaving: () => 0,
  // Nothing of it depends on the others: it needs no trial.
  *plan(_openTrial, leavers) {
    const planned: PlannedEvacuation[] = [];
    for (const { host, tenants } of leavers) {
      for (const tenant of tenants) {
        const reason = { code: 'port-bound', port: tenant.id, host };
        planned.push({ host, tenant, evacuation: { kind: 'wait', reason } });
      }
      yield;
    }
    return planned;
  },
  begin: () => runInOneStep({ changes: [] }),
  // A back end outside may still have it bound there: the next bind has a higher serial and replaces it.
  abandon: (fleet, host, at) =>
    listUnclaimedPorts(fleet, host).map(({ id, doc }) => put(PORT, id, unbindPort(doc, at))),
};

export const portEvacuatorSentences: ReasonSentences = {
  'port-bound': ({ port, host }) =>
    `Port ${formatFact(port)} is bound to host ${formatFact(host)}, and no instance there has it. "muster ports show ${formatFact(port)}" shows its owner: delete the port, or what it is attached to.`,
};
