// One try after the other until an instance is placed, and the next step there. A try that the networks refuse at once excludes the cause and is
// followed by the next, within the same decision.
import { idOf, put, type Change, type FleetReader } from '../../fleet/index.ts';
import { PORT, unbindPort, type Port, type StoredPort } from '../../network/index.ts';
import type { ScheduleReport } from '../../scheduler/index.ts';
import { canRetry, recordFault } from '../faults.ts';
import { INSTANCE, type Attempt, type Instance } from '../model.ts';
import { placeInstance, type Placement } from './placement.ts';

export interface AttemptRequest {
  readonly id: string;
  readonly instance: Instance;
  /** In NIC order. */
  readonly ports: readonly StoredPort[];
  readonly by: string;
  readonly nowMs: number;
  /** Only hosts of this site. */
  readonly within?: string | undefined;
}

export type AttemptResult =
  | {
      readonly kind: 'placed';
      readonly host: string;
      /** `bind` when a back end outside the journal has to bind ports first. */
      readonly step: 'bind' | 'build';
      /** Counts the tries from 1. */
      readonly nth: number;
      readonly changes: readonly Change[];
    }
  /** Nothing is left to be tried. `report` is there when the last look found no host. */
  | { readonly kind: 'exhausted'; readonly instance: Instance; readonly report?: ScheduleReport };

export function attemptPlacement(fleet: FleetReader, request: AttemptRequest): AttemptResult {
  const { id, ports, by, nowMs, within } = request;
  let instance = request.instance;
  while (canRetry(instance)) {
    const placement = placeInstance(fleet, { id, instance, ports, role: 'home', by, nowMs, within });
    if (placement.kind === 'none') return { kind: 'exhausted', instance, report: placement.report };
    // Unlike a spread list this allocates no spare capacity: documents stay in memory for long.
    const attempts = instance.attempts.concat(composeAttempt(placement, instance, nowMs));
    if (placement.kind === 'placed') {
      const doc: Instance = { ...instance, attempts, host: placement.host, changedBy: by, changedAtMs: nowMs };
      return composePlaced({ ...request, instance: doc }, placement);
    }
    const { fault } = placement;
    const excluded = fault.code === 'pool-empty' ? { pool: fault.pool } : {};
    instance = recordFault({ ...instance, attempts }, { fault: fault.code, ...excluded });
  }
  return { kind: 'exhausted', instance };
}

function composeAttempt(
  { host, site, pools }: Exclude<Placement, { kind: 'none' }>,
  instance: Instance,
  atMs: number,
): Attempt {
  return { nth: instance.attempts.length + 1, host, site, pools: [...pools], atMs };
}

function composePlaced(
  { id, instance, ports, by, nowMs }: AttemptRequest,
  { host, claim, bound, mode }: Placement & { readonly kind: 'placed' },
): AttemptResult {
  const here = [put(INSTANCE, idOf(INSTANCE, id), instance), claim];
  const changes = here.concat(
    bound.map((port) => put(PORT, port.id, port.doc)),
    portsLeftUnbound(ports, bound).map((port) => put(PORT, port.id, renewBindingSerial(port.doc, { by, nowMs }))),
  );
  // Where ports are bound before the host gets its task, the ports that are unbound now belong to a back end outside the journal.
  const outside = mode === 'ready' && bound.length < ports.length;
  return { kind: 'placed', host, step: outside ? 'bind' : 'build', nth: instance.attempts.length, changes };
}

/** The others are bound under a serial of this try: late answers to an earlier one do not count. */
function portsLeftUnbound(
  ports: readonly StoredPort[],
  bound: readonly { readonly id: string }[],
): readonly StoredPort[] {
  if (bound.length === ports.length) return NONE;
  return ports.filter((port) => !bound.some((one) => one.id === port.id));
}

/** An instance that is rebuilt may still be connected at its dead host, where it no longer has a claim. */
function renewBindingSerial(port: Port, at: Pick<AttemptRequest, 'by' | 'nowMs'>): Port {
  return port.binding === undefined ? { ...port, serial: port.serial + 1 } : unbindPort(port, at);
}

const NONE: readonly StoredPort[] = [];
