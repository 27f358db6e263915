// What agents and drains leave behind, made by the program's own functions: its authors, ids and titles are in it as the program forms
// them, so that an attack which looks for names of hosts also finds those that no fixture would think of.
import { agentName } from '../../src/agent/server/decide.ts';
import { idOf, put, type Change } from '../../src/fleet/index.ts';
import { findHost } from '../../src/hosts/decide.ts';
import { runInOneStep, type Evacuator } from '../../src/hosts/evacuator.ts';
import { drainStep } from '../../src/hosts/scale-in/drain.ts';
import { INSTANCE } from '../../src/instances/index.ts';
import { INSTANCE_EVACUATOR } from '../../src/instances/reference-fixture.ts';
import { accept } from '../../src/journal/index.ts';
import { PORT } from '../../src/network/index.ts';
import { ITEM, newOperation, OPERATION } from '../../src/operations/index.ts';
import type { ApiTestServer } from '../api/api-test-server.ts';

interface Drained {
  /** It is draining, with an operation `op-drained`. */
  readonly host: string;
  /** Runs there. */
  readonly instance: string;
  /** In which the host is. */
  readonly site: string;
}

/** A pass of a drain that moves an instance off a host. */
export async function drainInstance(world: ApiTestServer, { host, instance, site }: Drained): Promise<void> {
  const operation = idOf(OPERATION, 'op-drained');
  await world.commit(
    ...newOperation({
      ...{ id: operation, kind: 'scale-in', title: `scale in host ${host}`, by: 'admin', site },
      ...{ nowMs: 1, deadlineMs: 10 ** 12, items: [{ key: host, target: { kind: 'host', id: host }, step: 'move' }] },
    }),
  );
  const tenant = { kind: INSTANCE.name, id: instance };
  const move = { kind: 'move', how: 'live', to: 'central-1' } as const;
  const evacuator: Evacuator = {
    ...INSTANCE_EVACUATOR,
    listRemainingTenants: () => [tenant],
    plan: () => runInOneStep([{ host, tenant, evacuation: move }]),
  };
  const nowMs = world.clock.nowMs();
  await world.journal.submit({
    ...{ by: 'operation:scale-in', operation },
    decide: (fleet) => {
      const [item, stored] = [fleet.get(ITEM, idOf(ITEM, `${operation}.${host}`)), findHost(fleet, host)];
      if (item === undefined || stored === undefined) throw new Error('the fixture is not whole');
      const context = { fleet, evacuators: [evacuator], item, host: stored, by: 'admin', within: undefined, nowMs };
      const changes = drainStep(context).flatMap((step) => (step.kind === 'record' ? step.changes : []));
      return accept(changes, undefined);
    },
  });
}

/** An operation of a caller's site that an agent of another has begun. */
export async function beginAsAgent(world: ApiTestServer, host: string): Promise<void> {
  await world.commit(
    ...newOperation({
      ...{ id: idOf(OPERATION, 'op-of-agent'), kind: 'instance-build', title: 'build vm-1', by: agentName(host) },
      ...{ site: 'central', nowMs: 1, deadlineMs: 10 ** 12, items: [] },
    }),
  );
}

/** What agents of a host write to instances and ports: they are the author of the commit and of the documents. */
export async function recordAsAgent(
  world: ApiTestServer,
  host: string,
  ids: { readonly instances: readonly string[]; readonly ports: readonly string[] },
): Promise<void> {
  for (const by of [agentName(host), `manager/${host}`, `join ${host}`]) {
    await world.journal.submit({
      by,
      decide: (fleet) => {
        const instances = ids.instances.flatMap((id) => fleet.get(INSTANCE, idOf(INSTANCE, id)) ?? []);
        const ports = ids.ports.flatMap((id) => fleet.get(PORT, idOf(PORT, id)) ?? []);
        const changes: Change[] = [
          ...instances.map(({ id, doc }) => put(INSTANCE, id, { ...doc, createdBy: by, changedBy: by })),
          ...ports.map(({ id, doc }) => put(PORT, id, { ...doc, changedBy: by })),
        ];
        return accept(changes, undefined);
      },
    });
  }
}

interface WaitingMove {
  readonly id: string;
  readonly project: string;
  readonly instance: string;
  /** What the back end said. */
  readonly fault: string;
}

/** A move off a host that waits, with a reason that names the host. */
export function waitingMove({ id, project, instance, fault }: WaitingMove): Change[] {
  const reason = { code: 'not-bound', instance, host: 'central-0', fault: 'unavailable', message: fault };
  return [
    ...newOperation({
      ...{ id: idOf(OPERATION, id), kind: 'instance-move', title: `move of ${instance} off central-0`, by: 'admin' },
      ...{ site: 'central', project, nowMs: 1, deadlineMs: 10 ** 12, items: [], why: 'scale-in of host central-0' },
    }),
    put(ITEM, idOf(ITEM, `${id}.${instance}`), {
      ...{ operation: id, target: { kind: 'instance', id: instance }, host: 'central-0', step: 'move' },
      ...{ state: 'waiting', reason, attempt: 1, sinceMs: 1 },
    }),
  ];
}
