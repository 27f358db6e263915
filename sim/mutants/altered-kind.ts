// Operation kinds with one bug in every step that they take.
import type { FleetReader } from '../../src/fleet/index.ts';
import type { PlannedStep, OperationKind, RecordStep } from '../../src/operations/index.ts';

/** Changes what a step records, whatever decided it. */
export function alterSteps(
  kind: OperationKind,
  alter: (step: RecordStep, fleet: FleetReader) => RecordStep,
): OperationKind {
  const observe = kind.observe?.bind(kind);
  const answered = kind.handleTaskAnswer?.bind(kind);
  const next = (fleet: FleetReader, one: PlannedStep): PlannedStep => {
    if (one.kind === 'record') return alter(one, fleet);
    if (one.kind === 'act') return one;
    return { ...one, decide: (at, nowMs) => one.decide(at, nowMs).map((step) => alter(step, at)) };
  };
  return {
    ...kind,
    plan: (fleet, items, nowMs) => kind.plan(fleet, items, nowMs).map((one) => next(fleet, one)),
    ...(observe && {
      observe: (item, outcome, { fleet, nowMs }) => alter(observe(item, outcome, { fleet, nowMs }), fleet),
    }),
    ...(answered && {
      handleTaskAnswer: (item, answer, { fleet, nowMs }) => alter(answered(item, answer, { fleet, nowMs }), fleet),
    }),
  };
}

/** A kind that reads an altered fleet. */
export function mapFleet(kind: OperationKind, seen: (fleet: FleetReader) => FleetReader): OperationKind {
  const observe = kind.observe?.bind(kind);
  const answered = kind.handleTaskAnswer?.bind(kind);
  const task = kind.task?.bind(kind);
  return {
    ...kind,
    plan: (fleet, items, nowMs) =>
      kind.plan(seen(fleet), items, nowMs).map((next) => {
        if (next.kind !== 'decide') return next;
        return { ...next, decide: (at, atMs) => next.decide(seen(at), atMs) };
      }),
    ...(observe && {
      observe: (item, outcome, { fleet, nowMs }) => observe(item, outcome, { fleet: seen(fleet), nowMs }),
    }),
    ...(answered && {
      handleTaskAnswer: (item, answer, { fleet, nowMs }) => answered(item, answer, { fleet: seen(fleet), nowMs }),
    }),
    ...(task && { task: (item, { fleet, relayed }) => task(item, { fleet: seen(fleet), relayed }) }),
  };
}

/** A fleet that hides some results of an index. */
export function hideFromIndex(
  fleet: FleetReader,
  index: string,
  sees: (id: string, doc: object) => boolean,
): FleetReader {
  const find: FleetReader['find'] = (by, at) => {
    const found = fleet.find(by, at);
    return by.name === index ? [...found].filter(({ id, doc }) => sees(id, doc)) : found;
  };
  return overrideReader(fleet, { find });
}

/** A fleet that alters documents of a kind. */
export function mapDocuments(fleet: FleetReader, kind: string, shown: (doc: object) => object): FleetReader {
  const get: FleetReader['get'] = (of, id) => {
    const stored = fleet.get(of, id);
    if (stored === undefined || of.name !== kind) return stored;
    return { ...stored, doc: shown(stored.doc) as typeof stored.doc };
  };
  return overrideReader(fleet, { get });
}

/** A fleet that alters documents of a kind in the results of indexes. */
export function mapFound(fleet: FleetReader, kind: string, shown: (doc: object) => object): FleetReader {
  const find: FleetReader['find'] = (by, at) => {
    const found = fleet.find(by, at);
    if (by.kind.name !== kind) return found;
    return [...found].map((stored) => ({ ...stored, doc: shown(stored.doc) as typeof stored.doc }));
  };
  return overrideReader(fleet, { find });
}

/** A fleet that seems not to have some documents of a kind. */
export function hideDocuments(fleet: FleetReader, kind: string, isHidden: (id: string) => boolean): FleetReader {
  const get: FleetReader['get'] = (of, id) => (of.name === kind && isHidden(id) ? undefined : fleet.get(of, id));
  return overrideReader(fleet, { get });
}

function overrideReader(fleet: FleetReader, by: Partial<FleetReader>): FleetReader {
  return new Proxy(fleet, {
    get: (target, key): unknown => {
      const other: unknown = Reflect.get(by, key);
      if (other !== undefined) return other;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
