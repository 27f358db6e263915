// What a view says to an instance runtime. A server of another version may have written it: what cannot be read of an instance is
// left out, its id is not.
import { readDataplaneView } from '../../../dataplane/index.ts';
import type { View } from '../../protocol/messages.ts';
import type { ExpectedInstance, RuntimeInstance, RuntimeView } from './instance-runtime.ts';

export function readRuntimeView({ host, parts, tasks }: View): RuntimeView {
  const domains = readDataplaneView(host, parts)?.networks.domains ?? [];
  return {
    instances: readInstances(parts['instances']),
    underTask: new Set(tasks.flatMap(({ args }) => textIn(args, 'instance') ?? [])),
    migrating: onlyMigrating(tasks),
    subnets: domains.flatMap(({ subnets }) => subnets),
  };
}

function onlyMigrating(tasks: View['tasks']): ReadonlySet<string> {
  const byInstance = Map.groupBy(tasks, ({ args }) => textIn(args, 'instance') ?? '');
  const migrating = [...byInstance].filter(([, all]) => all.every(({ kind }) => kind === 'migrate'));
  return new Set(migrating.map(([id]) => id));
}

function readInstances(part: unknown): ExpectedInstance[] | undefined {
  if (!Array.isArray(part)) return undefined;
  return part.flatMap((one: unknown) => {
    const id = textIn(one, 'id');
    if (id === undefined) return [];
    return [{ ...EMPTY, ...(one as Partial<Record<keyof ExpectedInstance, never>>), id }];
  });
}

const EMPTY: Omit<ExpectedInstance, 'id'> = { role: 'home', state: 'unknown', amounts: undefined, ports: [] };

function textIn(thing: unknown, field: string): string | undefined {
  const text = typeof thing === 'object' && thing !== null ? (thing as Record<string, unknown>)[field] : undefined;
  return typeof text === 'string' ? text : undefined;
}

/** The instances of a view, when exactly those run that it says run here, and nothing is under way with any of them. */
export function findUndisputed(
  view: RuntimeView | undefined,
  running: ReadonlySet<string>,
): readonly RuntimeInstance[] | undefined {
  const { instances: expected, underTask } = view ?? {};
  if (expected === undefined || underTask === undefined || underTask.size > 0) return undefined;
  const isSettled = expected.every(({ role, state }) => role === 'home' && state === 'active');
  if (!isSettled || expected.length !== running.size || !expected.every(({ id }) => running.has(id))) return undefined;
  const instances = expected.flatMap((instance) => toRuntimeInstance(instance) ?? []);
  return instances.length === expected.length ? instances : undefined;
}

function toRuntimeInstance({ id, amounts, ports }: ExpectedInstance): RuntimeInstance | undefined {
  if (amounts === undefined) return undefined;
  const { vcpus, memoryMiB, diskGiB } = amounts;
  const nics = ports.map(({ id: port, mac, network, serial, addresses }, nth) => ({
    ...{ port, nic: nth, network, mac, serial, addresses },
    // Of no use to anything that runs already.
    backEnd: '',
    createdBy: 'user' as const,
  }));
  return { id, state: 'running', vcpus, memoryMiB, diskGiB, nics, by: 'recovered' };
}
