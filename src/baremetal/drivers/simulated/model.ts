// The simulated machines behind bare-metal nodes, the calls that they got and the faults that are armed for them. They are documents: what stands for
// the world outlives the server that decides, as the real world does, and is the same for whichever server decides next.
import { Type, type Static } from 'typebox';
import { schemaKind, type Model } from '../../../fleet/index.ts';

const CLOSED = { additionalProperties: false };

export const MACHINE_STATES = ['empty', 'deploying', 'deployed', 'cleaning', 'failed'] as const;

/** As many as a machine can be connected by. */
export const PORTS_MAX = 64;

const MACHINE_SCHEMA = Type.Object(
  {
    /** The highest that it was called under. */
    epoch: Type.Integer({ minimum: 0 }),
    /** Whose it is: since it was claimed, or since its deploy began. */
    instance: Type.Optional(Type.String()),
    state: Type.Enum(MACHINE_STATES),
    /** When what it does is over. Without one, never: it hangs. */
    doneAtMs: Type.Optional(Type.Integer()),
    /** What it does will fail. */
    fails: Type.Optional(Type.Literal(true)),
    power: Type.Enum(['on', 'off']),
    image: Type.Optional(Type.String()),
    /** The ports that it is connected by, each with the serial of its binding. */
    ports: Type.Array(Type.String(), { maxItems: PORTS_MAX }),
    /** The task by which it was rebooted last: the same one does it once. */
    rebootedFor: Type.Optional(Type.String()),
  },
  CLOSED,
);
export type Machine = Static<typeof MACHINE_SCHEMA>;
/** Its id is the node's. A machine that was not called yet has no document: it is empty. */
export const MACHINE = schemaKind('simulated-machine', MACHINE_SCHEMA);

/** What a fault can be armed for. */
export const FAULT_OPS = ['list', 'claim', 'connect', 'deploy', 'clean', 'power'] as const;
export type FaultOp = (typeof FAULT_OPS)[number];

/**
 * `ok`: only the delay. `unavailable`: nothing happens. `hang`: it begins and does not end, or no answer comes. `failed`: it begins and fails; of a
 * claim, that another has the node. `applied-but-lost`: it is carried out and the answer is lost. `partial`: half of a page of the list is left out.
 * `gone`: the inventory does not know the node any more: the list leaves it out, and a request for it is answered so.
 */
export const FAULT_OUTCOMES = ['ok', 'unavailable', 'hang', 'failed', 'applied-but-lost', 'partial', 'gone'] as const;
export type MachineFaultOutcome = (typeof FAULT_OUTCOMES)[number];

export const NEW_FAULT = {
  op: Type.Enum(FAULT_OPS),
  node: Type.Optional(Type.String({ maxLength: 200, description: 'only calls about this node' })),
  outcome: Type.Enum(FAULT_OUTCOMES),
  delayMs: Type.Integer({ minimum: 0, maximum: 600_000, description: 'how much longer it takes' }),
  times: Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'how many more calls it applies to' }),
};

export const FAULT_SCHEMA = Type.Object({ ...NEW_FAULT, armedBy: Type.String(), armedAtMs: Type.Integer() }, CLOSED);
export type MachineFault = Static<typeof FAULT_SCHEMA>;
/** Ids grow: the oldest that matches a call applies. */
export const MACHINE_FAULT = schemaKind('simulated-fault', FAULT_SCHEMA);

/** Long enough to look up what happened in a trial. */
const CALLS_KEPT_MS = 24 * 3600 * 1000;

export const CALL_SCHEMA = Type.Object(
  {
    op: Type.String(),
    node: Type.Optional(Type.String()),
    instance: Type.Optional(Type.String()),
    manager: Type.Optional(Type.String()),
    epoch: Type.Optional(Type.Integer()),
    /** Whether it did something, or had been done before. */
    accepted: Type.Boolean(),
    /** What it came to: applied, already, stale, failed, lost, or the code of a refusal. */
    result: Type.String(),
    /** Why its caller had no right to it, where the machine was called all the same. */
    denied: Type.Optional(Type.String()),
    atMs: Type.Integer(),
  },
  CLOSED,
);
export type MachineCallNote = Static<typeof CALL_SCHEMA>;
/** Ids grow: calls are listed in the order in which they came. */
export const MACHINE_CALL = schemaKind('simulated-call', CALL_SCHEMA, {
  expiresAtMs: ({ atMs }) => atMs + CALLS_KEPT_MS,
});

export const simulatedModel: Model = { kinds: [MACHINE, MACHINE_FAULT, MACHINE_CALL] };
