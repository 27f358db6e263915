// Plans as text, for snapshots that read like prose: the next step of an item, decided on the present fleet, and the task of its host.
import { idOf, type Change } from '../fleet/index.ts';
import type { NetworkOrder } from '../network/index.ts';
import { ITEM, OPERATION, type PlannedStep, type RecordStep } from '../operations/index.ts';
import type { InstancesWorld } from './instances-fixture.ts';
import { KINDS } from './reference-fixture.ts';

/** The next steps of one instance's item. */
export function renderPlan(world: InstancesWorld, operation: string, instance: string): string[] {
  const { fleet, nowMs } = world;
  const item = fleet.get(ITEM, idOf(ITEM, `${operation}.${instance}`));
  const stored = fleet.get(OPERATION, idOf(OPERATION, operation));
  if (item === undefined || stored === undefined) return ['no such item'];
  const kind = KINDS.get(stored.doc.kind);
  const nexts = kind?.plan(fleet, [item], nowMs) ?? [];
  const task = kind?.task?.(item, { fleet });
  const lines = task === undefined ? [] : [`task for ${item.doc.host}: ${task.kind} ${JSON.stringify(task.args)}`];
  return [...nexts.flatMap((next) => renderNext(world, next)), ...lines];
}

function renderNext({ fleet, nowMs }: InstancesWorld, next: PlannedStep): string[] {
  switch (next.kind) {
    case 'act':
      return [`act: ${renderOrder(next.action.args as unknown as NetworkOrder)}`];
    case 'decide':
      return next.decide(fleet, nowMs).map((step) => `decide: ${renderStep(step)}`);
    case 'record':
      return [`record: ${renderStep(next)}`];
  }
}

function renderOrder(order: NetworkOrder): string {
  const ports = order.ports.map(({ port, serial }) =>
    order.op === 'create' ? port : `${port} under serial ${serial}`,
  );
  return `${order.backEnd} is to ${order.op} ${ports.join(', ')}${order.op === 'bind' ? ` at ${order.host}` : ''}`;
}

/** A step in words: the next state of its item, why, and which documents it changes. */
function renderStep({ progress, changes }: RecordStep): string {
  const { state, step, host, reason } = progress;
  const where = host === undefined ? '' : host === null ? ', no host' : ` at ${host}`;
  const why = reason === undefined ? '' : `, because ${JSON.stringify(reason)}`;
  const made = changes.length === 0 ? '' : `; ${changes.map(renderChange).join(', ')}`;
  return `${state} ${step}${where}${why}${made}`;
}

function renderChange({ kind, id, doc }: Change): string {
  if (doc === null) return `no ${kind} ${id}`;
  const { state, host, role } = doc as { readonly state?: string; readonly host?: string; readonly role?: string };
  const said = [role, state, host].filter((one) => one !== undefined);
  return `${kind} ${id}${said.length === 0 ? '' : ` (${said.join(', ')})`}`;
}
