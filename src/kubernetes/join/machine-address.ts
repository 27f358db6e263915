// Where the machine of a worker is reached, and what it has to prove itself by.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import { PORT } from '../../network/index.ts';
import type { HostKeyTrust } from '../machines/ssh/machine.ts';
import type { Cluster } from '../model.ts';
import { instanceOf } from '../workers/instance-of.ts';
import type { StoredWorker } from '../workers/transitions.ts';
import type { MachineAddress } from './join-order.ts';

interface WorkerOfCluster {
  readonly fleet: FleetReader;
  readonly cluster: Cluster;
  readonly worker: StoredWorker;
}

/** Undefined when nothing says where it is. */
export function findMachineAddress(found: WorkerOfCluster): MachineAddress | undefined {
  const { cluster, worker } = found;
  const { reach, ssh } = cluster;
  if (reach === 'simulated') return { kind: 'simulated' };
  const host = ssh?.address?.replaceAll('{node}', worker.doc.node) ?? firstAddress(found);
  if (ssh === undefined || host === undefined) return undefined;
  const { port, user, sudo } = ssh;
  return { kind: 'ssh', host, port, user, ...(sudo === true && { sudo }), trust: trustOf(found) };
}

function trustOf({ cluster: { ssh }, worker }: WorkerOfCluster): HostKeyTrust {
  if (ssh?.hostKeys === 'pinned') return { kind: 'pinned', knownHosts: ssh.knownHosts };
  const { machineKey } = worker.doc;
  return machineKey === undefined ? { kind: 'any' } : { kind: 'remembered', key: machineKey.key };
}

/** Of the first NIC. */
function firstAddress(found: WorkerOfCluster): string | undefined {
  const port = instanceOf(found)?.nics[0]?.port;
  if (port === undefined) return undefined;
  return found.fleet.get(PORT, idOf(PORT, port))?.doc.addresses[0]?.ip;
}
