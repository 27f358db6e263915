// What a view says to an instance runtime. A server of another version may have written it: what cannot be read of an instance is
// left out, its id is not.
import { readDataplaneView } from '../../../dataplane/index.ts';
import type { View } from '../../protocol/messages.ts';
import type { ExpectedInstance, RuntimeView } from './instance-runtime.ts';

export function readRuntimeView({ host, parts, tasks }: View): RuntimeView {
  const domains = readDataplaneView(host, parts)?.networks.domains ?? [];
  return {
    instances: readInstances(parts['instances']),
    underTask: new Set(tasks.flatMap(({ args }) => textIn(args, 'instance') ?? [])),
    subnets: domains.flatMap(({ subnets }) => subnets),
  };
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
