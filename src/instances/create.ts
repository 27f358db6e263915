// Asking for instances. The ports come first, then the place: where the network's back end is part of the journal, both are
// in the commit that accepts the request; otherwise the build takes it from there. All of the request, or none of it.
import { idOf, onTrial, put, type Change, type FleetReader, type Refusal, type Trial } from '../fleet/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import { PORT, type PoolKey } from '../network/index.ts';
import { newOperation, type NewItem, type OperationId } from '../operations/index.ts';
import { reportText, type ScheduleReport } from '../scheduler/index.ts';
import { newInstance, portsFor, understood, type CreateInstances, type One } from './asked.ts';
import { placed, type Tried } from './attempt.ts';
import { INSTANCE } from './model.ts';
import { isInline, place } from './place.ts';

export type { CreateInstances } from './asked.ts';

export interface Created {
  readonly operation: OperationId;
  readonly instances: readonly string[];
}

export function createInstances(fleet: FleetReader, command: CreateInstances): Decision<Created> {
  const asked = understood(fleet, command);
  if ('code' in asked) return refuse(asked);
  return onTrial(fleet, (trial) => {
    if (asked.changes.length > 0) trial.add(asked.changes);
    const made: Made[] = [];
    for (const [nth, name] of asked.names.entries()) {
      const one = make(trial, command, { ...asked, name, nth });
      if ('code' in one) return refuse(one);
      if (one.kind === 'none') {
        // The others ask for the same: they find nothing either.
        if (made.length < command.minCount) return refuse(tooFew(command, made.length, one.report));
        break;
      }
      made.push(one);
      if (made.length < asked.names.length) trial.add(one.changes);
    }
    const changes = [...asked.changes, ...made.flatMap((one) => one.changes), ...begun(command, made)];
    return accept(changes, { operation: command.operation, instances: made.map((one) => one.name) });
  });
}

interface Made {
  readonly kind: 'made';
  readonly name: string;
  readonly changes: readonly Change[];
  readonly item: NewItem;
}

interface None {
  readonly kind: 'none';
  readonly report: ScheduleReport | undefined;
}

/** One instance with its ports; placed at once when nothing outside the journal has to be asked first. */
function make(trial: Trial, command: CreateInstances, of: One): Made | None | Refusal {
  const ports = portsFor(trial, command, of);
  if ('code' in ports) return ports;
  const key = { key: of.name, target: { kind: INSTANCE.name, id: of.name } };
  const outside = of.path.create === 'conductor' && ports.some((port) => !isInline(trial, port.doc));
  // What is placed at once is counted at once: only what comes later has to remember that it goes with others.
  const instance = newInstance({ ...command, minCount: outside ? command.minCount : 1 }, of, ports);
  const later = (step: string): Made => {
    const intents = ports.map(({ id, doc }) => put(PORT, id, doc));
    const changes = [put(INSTANCE, idOf(INSTANCE, of.name), instance), ...intents];
    return { kind: 'made', name: of.name, changes, item: { ...key, step } };
  };
  if (outside) return later('ports');
  const tried: Tried = placed(trial, { id: of.name, instance, ports, by: command.by, nowMs: command.nowMs });
  // The build says why, with the report, in its own commit: the request is accepted all the same.
  if (tried.kind === 'given-up') return command.count > 1 ? { kind: 'none', report: tried.report } : later('schedule');
  // The instance and each of its ports are among the changes, as they are there.
  const { changes, step, host } = tried;
  return { kind: 'made', name: of.name, changes, item: { ...key, step, host, state: 'running' } };
}

function begun(command: CreateInstances, made: readonly Made[]): Change[] {
  const { operation, by, why, nowMs, deadlineMs, place: where } = command;
  const title = made.length === 1 ? `build instance ${made[0]?.name}` : `build ${made.length} instances`;
  const items = made.map((one) => one.item);
  const said = { ...(why !== undefined && { why }), ...(where.site !== undefined && { site: where.site }) };
  return newOperation({ id: operation, kind: 'instance-build', title, by, ...said, nowMs, deadlineMs, items });
}

function tooFew({ count, minCount }: CreateInstances, made: number, report: ScheduleReport | undefined): Refusal {
  const why = report === undefined ? '' : ` ${reportText(report)}`;
  const message = `Only ${made} of ${count} instances find a place, and at least ${minCount} were asked for. Nothing was made.${why}`;
  return { kind: 'conflict', code: 'no-valid-host', message, facts: { placed: made, count, minCount, ...report } };
}

/** Where instances would go now, and why not all of them, if so. */
export interface Preview {
  readonly placed: readonly { readonly name: string; readonly host: string; readonly pools: readonly PoolKey[] }[];
  readonly report?: ScheduleReport;
}

/** A dry run: the same checks and the same choice as asking for them, and nothing is kept. */
export function previewInstances(fleet: FleetReader, command: CreateInstances): Preview | Refusal {
  const asked = understood(fleet, command);
  if ('code' in asked) return asked;
  return onTrial(fleet, (trial) => {
    trial.add(asked.changes);
    const done: Preview['placed'][number][] = [];
    for (const [nth, name] of asked.names.entries()) {
      const ports = portsFor(trial, command, { ...asked, name, nth });
      if ('code' in ports) return ports;
      const instance = newInstance(command, { ...asked, name, nth }, ports);
      const { by, nowMs } = command;
      const found = place(trial, { id: name, instance, ports, role: 'home', by, nowMs });
      if (found.kind !== 'placed') return { placed: done, ...(found.kind === 'none' && { report: found.report }) };
      trial.add([found.claim, ...found.bound.map(({ id, doc }) => put(PORT, id, doc))]);
      done.push({ name, host: found.host, pools: found.pools });
    }
    return { placed: done };
  });
}
