// Asking for instances. The ports come first, then the place: where the network's back end is part of the journal, both are
// in the commit that accepts the request; otherwise the build takes it from there. All of the request, or none of it.
import { idOf, runTrial, put, type Change, type FleetReader, type Refusal } from '../fleet/index.ts';
import { accept, refuse, type Decision } from '../journal/index.ts';
import { PORT, type PoolKey } from '../network/index.ts';
import { newOperation, type NewItem, type OperationId } from '../operations/index.ts';
import { reportText, reportWithinSite, type ScheduleReport } from '../scheduler/index.ts';
import { newInstance, portsFor, understood, type Asked, type CreateInstances, type One, type Show } from './asked.ts';
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
  return inParts(fleet, asked, (seen, show) => {
    const made: Made[] = [];
    for (let nth = 0; nth < asked.names.length; nth += 1) {
      const one = make(seen, command, oneOf(asked, nth), show);
      if ('code' in one) return refuse(one);
      if (one.kind === 'none') {
        // The others ask for the same: they find nothing either.
        if (made.length < command.minCount) return refuse(tooFew(command, made.length, one.report));
        break;
      }
      made.push(one);
      if (made.length < asked.names.length) show(one.changes);
    }
    const changes = asked.changes.concat(...made.map((one) => one.changes), begun(command, made));
    return accept(changes, { operation: command.operation, instances: made.map((one) => one.name) });
  });
}

/**
 * Decides part after part, each on what those before it show. A request for one instance with one NIC has no parts: it is
 * decided on the fleet itself, which costs less than a trial.
 */
function inParts<T>(fleet: FleetReader, asked: Asked, decide: (seen: FleetReader, show: Show) => T): T {
  const { names, nics, changes } = asked;
  if (names.length === 1 && nics.length < 2 && changes.length === 0) return decide(fleet, showNothing);
  return runTrial(fleet, (trial) => {
    if (changes.length > 0) trial.add(changes);
    return decide(trial, (more) => void trial.add(more));
  });
}

function showNothing(): never {
  throw new Error('a request without parts shows a part');
}

function oneOf({ names, flavor, nics, path, changes, revision }: Asked, nth: number): One {
  return { names, flavor, nics, path, changes, revision, name: names[nth] as string, nth };
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
function make(fleet: FleetReader, command: CreateInstances, of: One, show: Show): Made | None | Refusal {
  const ports = portsFor(fleet, command, of, show);
  if ('code' in ports) return ports;
  const target = { kind: INSTANCE.name, id: of.name };
  const outside = of.path.create === 'conductor' && ports.some((port) => !isInline(fleet, port.doc));
  // What is placed at once is counted at once: only what comes later has to remember that it goes with others.
  const instance = newInstance(command, of, ports, outside ? command.minCount : 1);
  const later = (step: string): Made => {
    const intents = ports.map(({ id, doc }) => put(PORT, id, doc));
    const changes = [put(INSTANCE, idOf(INSTANCE, of.name), instance), ...intents];
    return { kind: 'made', name: of.name, changes, item: { key: of.name, target, step } };
  };
  if (outside) return later('ports');
  const tried: Tried = placed(fleet, { id: of.name, instance, ports, by: command.by, nowMs: command.nowMs });
  // The build says why, with the report, in its own commit: the request is accepted all the same.
  if (tried.kind === 'given-up') return command.count > 1 ? { kind: 'none', report: tried.report } : later('schedule');
  // The instance and each of its ports are among the changes, as they are there.
  const { changes, step, host } = tried;
  return { kind: 'made', name: of.name, changes, item: { key: of.name, target, step, host, state: 'running' } };
}

function begun(command: CreateInstances, made: readonly Made[]): Change[] {
  const { operation, by, why, nowMs, deadlineMs, project, place: where } = command;
  const title = made.length === 1 ? `build instance ${made[0]?.name}` : `build ${made.length} instances`;
  const items = made.map((one) => one.item);
  const { site } = where;
  const of = { by, why, site, project, nowMs, deadlineMs };
  return newOperation({ id: operation, kind: 'instance-build', title, ...of, items });
}

function tooFew(
  { count, minCount, boundTo }: CreateInstances,
  made: number,
  report: ScheduleReport | undefined,
): Refusal {
  const why = report === undefined ? '' : ` ${reportText(report)}`;
  const shown = report === undefined || boundTo === undefined ? report : reportWithinSite(report);
  const message = `Only ${made} of ${count} instances find a place, and at least ${minCount} were asked for. Nothing was made.${why}`;
  return { kind: 'conflict', code: 'no-valid-host', message, facts: { placed: made, count, minCount, ...shown } };
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
  return inParts(fleet, asked, (seen, show) => {
    const done: Preview['placed'][number][] = [];
    for (let nth = 0; nth < asked.names.length; nth += 1) {
      const one = oneOf(asked, nth);
      const ports = portsFor(seen, command, one, show);
      if ('code' in ports) return ports;
      const { by, nowMs, minCount } = command;
      const instance = newInstance(command, one, ports, minCount);
      const found = place(seen, { id: one.name, instance, ports, role: 'home', by, nowMs });
      if (found.kind !== 'placed') return { placed: done, ...(found.kind === 'none' && { report: found.report }) };
      done.push({ name: one.name, host: found.host, pools: found.pools });
      if (done.length < asked.names.length)
        show([found.claim, ...found.bound.map(({ id, doc }) => put(PORT, id, doc))]);
    }
    return { placed: done };
  });
}
