// What must be true of hosts and operations once all faults are over: each operation is finished or names a reason that is true, and every
// running machine is reachable and has converged on its view.
import { composeView } from '../../src/agent/index.ts';
import { ALARM, alarmId } from '../../src/alarms/index.ts';
import { idOf, type Fleet } from '../../src/fleet/index.ts';
import { HOST, hostJoin, type Host } from '../../src/hosts/index.ts';
import {
  isOpen,
  isUnfinished,
  ITEMS_BY_OPERATION,
  OPERATION,
  type Item,
  type StoredItem,
} from '../../src/operations/index.ts';
import type { HostMachine } from '../world/machine.ts';
import { viewSource } from '../world/parts.ts';
import type { World } from '../world/world.ts';

export function checkHostsAtRest(world: World): string[] {
  const holder = world.servers.find((server) => server.incarnation?.journal.fence !== undefined)?.incarnation;
  if (holder === undefined) return ['no server holds the lease although everything has healed'];
  const { fleet } = holder.journal;
  return [
    ...unfinishedOperations(world, fleet, holder.clock.nowMs()),
    ...world.machines.flatMap((machine) => machineAtRest(world, fleet, machine, holder.journal.fence?.epoch ?? 0)),
  ];
}

/** By the holder's clock, which may be off. */
function unfinishedOperations(world: World, fleet: Fleet, nowMs: number): string[] {
  return [...fleet.all(OPERATION)].flatMap(({ id, doc }) => {
    if (doc.kind !== hostJoin.name || !isUnfinished(doc)) return [];
    if (doc.state === 'cancelling') return [`operation ${id} is still being cancelled`];
    if (nowMs > doc.deadlineAtMs + DEADLINE_GRACE_MS) return [`operation ${id} is past its deadline`];
    const open = [...fleet.find(ITEMS_BY_OPERATION, id)].filter((item) => isOpen(item.doc));
    if (open.length === 0) return [`operation ${id} has nothing left to do and is not finished`];
    return open.flatMap((item) => untrueReason(world, fleet, item));
  });
}

/** The interval of the engine's loop. */
const DEADLINE_GRACE_MS = 10_000;

function untrueReason(world: World, fleet: Fleet, { id, doc }: StoredItem): string[] {
  const machine = world.machines.find(({ name }) => name === doc.target.id);
  const host = fleet.get(HOST, idOf(HOST, doc.target.id))?.doc;
  if (host === undefined) return [`item ${id} waits for a host that is not there`];
  return isTrue(doc, machine, host)
    ? []
    : [`item ${id} waits at ${doc.step} (${doc.reason?.code ?? doc.state}), untruly`];
}

/** There is no machine when the requester never learned that the host was registered. */
function isTrue({ reason }: Item, machine: HostMachine | undefined, host: Host): boolean {
  switch (reason?.code) {
    case 'agent-not-joined':
      return host.credential === undefined && (machine?.incarnation === undefined || machine.joinToken === undefined);
    case 'agent-not-connected':
      return host.connection.state !== 'up' && machine?.incarnation === undefined;
    case 'preflight-failed':
      return machine?.passesPreflight === false;
    default:
      return false;
  }
}

function machineAtRest(world: World, fleet: Fleet, machine: HostMachine, leaseEpoch: number): string[] {
  const host = fleet.get(HOST, idOf(HOST, machine.name))?.doc;
  const status = machine.incarnation?.agent.status();
  if (host?.credential === undefined) return [];
  const { state } = host.connection;
  if (machine.incarnation === undefined) {
    const alarm = fleet.get(ALARM, alarmId('mass-silence', machine.site));
    return state === 'down' || state === 'unknown' || alarm !== undefined
      ? []
      : [`${machine.name} is off and ${state}`];
  }
  if (status?.refusal !== undefined) return [`${machine.name} is not let in: ${status.refusal.code}`];
  if (state !== 'up') return [`${machine.name} runs and is ${state}`];
  const wanted = composeView(fleet, viewSource(world), machine.name, { journalId: world.disk.journalId, leaseEpoch });
  if (machine.convergedDigest !== wanted.digest) return [`${machine.name} has not converged on its view`];
  return [];
}
