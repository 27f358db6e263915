// Begins builds on hosts. The ports come first, then the placement: where the network's back end is in the journal, both are in the commit that accepts
// the request; otherwise the build continues from there. All of the request is accepted, or none of it.
import { idOf, put, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { PORT } from '../../network/index.ts';
import { newOperation, type NewItem } from '../../operations/index.ts';
import { reportText, scopeReportToSite, type ScheduleReport } from '../../scheduler/index.ts';
import {
  composeInstance,
  composePorts,
  type ValidatedRequest,
  type CreateInstances,
  type RequestedInstance,
  type StageChanges,
} from './request.ts';
import type { CreatedInstances, Preview } from '../builder.ts';
import { decideInParts, readRequestedInstance } from './parts.ts';
import { attemptPlacement, type AttemptResult } from './attempt.ts';
import { INSTANCE } from '../model.ts';
import { isInline, placeInstance } from './placement.ts';

export function beginOnHosts(
  fleet: FleetReader,
  command: CreateInstances,
  request: ValidatedRequest,
): Decision<CreatedInstances> {
  return decideInParts(fleet, request, (seen, show) => {
    const made: PreparedBuild[] = [];
    for (let nth = 0; nth < request.names.length; nth += 1) {
      const one = prepareBuild(seen, command, readRequestedInstance(request, nth), show);
      if ('code' in one) return refuse(one);
      if (one.kind === 'none') {
        // The others have the same requirements: they find nothing either.
        if (made.length < command.minCount) return refuse(noValidHost(command, made.length, one.report));
        break;
      }
      made.push(one);
      if (made.length < request.names.length) show(one.changes);
    }
    const changes = request.changes.concat(...made.map((one) => one.changes), beginBuildOperation(command, made));
    return accept(changes, { operation: command.operation, instances: made.map((one) => one.name) });
  });
}

interface PreparedBuild {
  readonly kind: 'made';
  readonly name: string;
  readonly changes: readonly Change[];
  readonly item: NewItem;
}

interface NoValidHost {
  readonly kind: 'none';
  readonly report: ScheduleReport | undefined;
}

/** One instance with its ports; placed at once when nothing outside the journal has to be called first. */
function prepareBuild(
  fleet: FleetReader,
  command: CreateInstances,
  of: RequestedInstance,
  show: StageChanges,
): PreparedBuild | NoValidHost | Refusal {
  const ports = composePorts(fleet, command, of, show);
  if ('code' in ports) return ports;
  const target = { kind: INSTANCE.name, id: of.name };
  const hasNonInlinePorts = of.path.create === 'conductor' && ports.some((port) => !isInline(fleet, port.doc));
  // An instance that is placed now is counted now: only one that is placed later records that it belongs to others.
  const instance = composeInstance(command, of, ports, hasNonInlinePorts ? command.minCount : 1);
  const prepareStep = (step: string): PreparedBuild => {
    const intents = ports.map(({ id, doc }) => put(PORT, id, doc));
    const changes = [put(INSTANCE, idOf(INSTANCE, of.name), instance), ...intents];
    return { kind: 'made', name: of.name, changes, item: { key: of.name, target, step } };
  };
  if (hasNonInlinePorts) return prepareStep('ports');
  const result: AttemptResult = attemptPlacement(fleet, {
    id: of.name,
    instance,
    ports,
    by: command.by,
    nowMs: command.nowMs,
  });
  // The build records why, with the report, in its own commit: the request is accepted all the same.
  if (result.kind === 'exhausted')
    return command.count > 1 ? { kind: 'none', report: result.report } : prepareStep('schedule');
  // The changes contain the instance and each of its ports.
  const { changes, step, host } = result;
  return { kind: 'made', name: of.name, changes, item: { key: of.name, target, step, host, state: 'running' } };
}

function beginBuildOperation(command: CreateInstances, made: readonly PreparedBuild[]): Change[] {
  const { operation, by, why, nowMs, deadlineMs, project, place: where } = command;
  const title = made.length === 1 ? `build instance ${made[0]?.name}` : `build ${made.length} instances`;
  const items = made.map((one) => one.item);
  const { site } = where;
  const of = { by, why, site, project, nowMs, deadlineMs };
  return newOperation({ id: operation, kind: 'instance-build', title, ...of, items });
}

function noValidHost(
  { count, minCount, siteLimit }: CreateInstances,
  made: number,
  report: ScheduleReport | undefined,
): Refusal {
  const why = report === undefined ? '' : ` ${reportText(report)}`;
  const shown = report === undefined || siteLimit === undefined ? report : scopeReportToSite(report);
  const message = `Only ${made} of ${count} instances can be placed, and at least ${minCount} were requested. Nothing was created.${why} Request fewer, or free capacity.`;
  return { kind: 'conflict', code: 'no-valid-host', message, facts: { placed: made, count, minCount, ...shown } };
}

/** A dry run: the same choice as a creation, without a commit. */
export function previewOnHosts(
  fleet: FleetReader,
  command: CreateInstances,
  request: ValidatedRequest,
): Preview | Refusal {
  return decideInParts(fleet, request, (seen, show) => {
    const done: Preview['placed'][number][] = [];
    for (let nth = 0; nth < request.names.length; nth += 1) {
      const one = readRequestedInstance(request, nth);
      const ports = composePorts(seen, command, one, show);
      if ('code' in ports) return ports;
      const { by, nowMs, minCount } = command;
      const instance = composeInstance(command, one, ports, minCount);
      const found = placeInstance(seen, { id: one.name, instance, ports, role: 'home', by, nowMs });
      if (found.kind !== 'placed') return { placed: done, ...(found.kind === 'none' && { report: found.report }) };
      done.push({ name: one.name, host: found.host, pools: found.pools });
      if (done.length < request.names.length)
        show([found.claim, ...found.bound.map(({ id, doc }) => put(PORT, id, doc))]);
    }
    return { placed: done };
  });
}
