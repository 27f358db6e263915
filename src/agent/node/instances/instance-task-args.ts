// The tasks that concern instances, as a host understands them: what each must say, and since which version an agent
// knows what is requested of it. A task that says more than this is fine, one that says less is not carried out.
import { Type, type Static, type TSchema } from 'typebox';
import { compileChecker } from '../../../fleet/index.ts';
import { EARLY_BIND_VERSION, EARLY_CREATE_VERSION } from '../../../hosts/index.ts';
import type { Task } from '../../../operations/index.ts';

export const INSTANCE_TASKS = ['build', 'destroy', 'prepare', 'migrate', 'activate', 'start', 'stop'] as const;
export type InstanceTask = (typeof INSTANCE_TASKS)[number];

/**
 * What is left to do about the ports. `ready`: nothing, they are made and bound. `bind`: they are made, the host binds them.
 * `allocate`: the host makes and binds them. `driver`: this host's driver is who binds, and makes what is not made yet.
 */
export const NETWORK_MODES = ['ready', 'bind', 'allocate', 'driver'] as const;
export type NetworkMode = (typeof NETWORK_MODES)[number];

/** The service version from which an agent supports each of them. Later versions still support it. */
const SUPPORTED_SINCE: Readonly<Record<NetworkMode, number>> = {
  allocate: 1,
  driver: 1,
  bind: EARLY_CREATE_VERSION,
  ready: EARLY_BIND_VERSION,
};

const ID = Type.String({ minLength: 1, maxLength: 200 });
const MODE = Type.Enum(NETWORK_MODES);
const MOVE = Type.Enum(['live', 'cold']);
const CREATED_BY = Type.Enum(['user', 'muster']);

const NIC = Type.Object({
  port: ID,
  nic: Type.Integer({ minimum: 0 }),
  network: ID,
  backEnd: Type.String(),
  mac: Type.String(),
  addresses: Type.Array(Type.String()),
  /** Of the binding that is there, or that this host is to make. */
  serial: Type.Integer({ minimum: 0 }),
  segment: Type.Optional(Type.String()),
  type: Type.Optional(Type.String()),
  createdBy: CREATED_BY,
  /** Where its addresses come from, and of which versions it gets a new one; for hosts that bind. */
  pool: Type.Optional(Type.String()),
  takes: Type.Optional(Type.Array(Type.Union([Type.Literal(4), Type.Literal(6)]))),
});
export type TaskNic = Static<typeof NIC>;

const AMOUNT = Type.Integer({ minimum: 0 });

const BUILD = Type.Object({
  instance: ID,
  image: Type.Optional(Type.String()),
  vcpus: AMOUNT,
  memoryMiB: AMOUNT,
  diskGiB: AMOUNT,
  network: MODE,
  nics: Type.Array(NIC),
  /** How an instance that is prepared for will come. */
  kind: Type.Optional(MOVE),
});
export type BuildArgs = Static<typeof BUILD>;

/** A NIC that is released. Its port may be all that the server still has of it. */
const RELEASED_NIC = Type.Object({
  port: ID,
  createdBy: CREATED_BY,
  backEnd: Type.String(),
  nic: Type.Optional(Type.Integer({ minimum: 0 })),
  network: Type.Optional(Type.String()),
  mac: Type.Optional(Type.String()),
  addresses: Type.Optional(Type.Array(Type.String())),
  serial: Type.Optional(Type.Integer({ minimum: 0 })),
});
export type ReleasedNic = Static<typeof RELEASED_NIC>;

const DESTROY = Type.Object({
  instance: ID,
  nics: Type.Array(RELEASED_NIC),
  ports: Type.Enum(['leave', 'delete-own']),
});
export type DestroyArgs = Static<typeof DESTROY>;

const MIGRATE = Type.Object({
  instance: ID,
  target: ID,
  kind: MOVE,
  /** What the target answered to `prepare`, for runtimes that request it. */
  handover: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
});
export type MigrateArgs = Static<typeof MIGRATE>;

const ACTIVATE = Type.Object({
  instance: ID,
  nics: Type.Array(NIC),
  /** Said when the ports are to be connected only now. */
  network: Type.Optional(MODE),
  kind: Type.Optional(MOVE),
  /** Set when it is unknown whether the source has sent it. Agents of 0.1.0 activate what they have not received unless it is set; later ones never do. */
  ifReceived: Type.Optional(Type.Boolean()),
});
export type ActivateArgs = Static<typeof ACTIVATE>;

const POWER = Type.Object({ instance: ID });
export type PowerArgs = Static<typeof POWER>;

export type ParsedInstanceTask =
  | { readonly task: 'build' | 'prepare'; readonly args: BuildArgs }
  | { readonly task: 'destroy'; readonly args: DestroyArgs }
  | { readonly task: 'migrate'; readonly args: MigrateArgs }
  | { readonly task: 'activate'; readonly args: ActivateArgs }
  | { readonly task: 'start' | 'stop'; readonly args: PowerArgs };

const SCHEMAS = {
  build: BUILD,
  prepare: BUILD,
  destroy: DESTROY,
  migrate: MIGRATE,
  activate: ACTIVATE,
  start: POWER,
  stop: POWER,
} satisfies Record<InstanceTask, TSchema>;

const CHECKS = new Map(INSTANCE_TASKS.map((task) => [task, compileChecker(SCHEMAS[task])]));

function isInstanceTask(kind: string): kind is InstanceTask {
  return (INSTANCE_TASKS as readonly string[]).includes(kind);
}

/** The order that a task is, or what is wrong with it. */
export function parseInstanceTask({ kind, args }: Pick<Task, 'kind' | 'args'>): ParsedInstanceTask | readonly string[] {
  if (!isInstanceTask(kind)) return [`this agent cannot do "${kind}"`];
  const problems = CHECKS.get(kind)?.(args) ?? [];
  if (problems.length > 0) {
    return problems.map(({ field, message }) => `this agent cannot read the task "${kind}": ${field} ${message}`);
  }
  return { task: kind, args } as unknown as ParsedInstanceTask;
}

/** The ports that the host has something to do about, and what. */
export function portWorkOf({ args }: ParsedInstanceTask): {
  readonly mode: NetworkMode;
  readonly nics: readonly TaskNic[];
} {
  if (!('network' in args) || args.network === undefined) return { mode: 'ready', nics: [] };
  return { mode: args.network, nics: args.nics };
}

/** Why an agent of this version cannot do it; undefined when it can. Without NICs there is nothing to know. */
export function findUnsupported(order: ParsedInstanceTask, version: number): string | undefined {
  const { mode, nics } = portWorkOf(order);
  if (nics.length === 0 || version >= SUPPORTED_SINCE[mode]) return undefined;
  const needs = `version ${SUPPORTED_SINCE[mode]} or later`;
  return `this agent has service version ${version} and cannot ${order.task} with network "${mode}", which takes ${needs}`;
}
