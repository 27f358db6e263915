// The HTTP surface of simulated machines: what managers do to them, faults that are armed, and the calls that were made. Every call of a machine is a
// write: forwarded to the server that decides, and its right checked in the commit. No decisions here.
import { Type } from 'typebox';
import {
  answer,
  BY_ID,
  ID,
  listRoute,
  otherManager,
  problemAnswer,
  read,
  refusalAnswer,
  strictObject,
  write,
  type Answer,
  type HandlerResult,
  type Listing,
  type Route,
  renderCommitted,
} from '../../../access/index.ts';
import type { Refusal } from '../../../fleet/index.ts';
import { MACHINE_ACTIONS, type MachineCall } from '../inventory.ts';
import { actOnMachine, denyUnlessSimulated, readMachine, type ActAnswer, type RightCheck } from './act.ts';
import { armFault, disarmFaults } from './faults.ts';
import {
  FAULT_OPS,
  FAULT_OUTCOMES,
  MACHINE_STATES,
  NEW_FAULT,
  type MachineCallNote,
  type MachineFault,
} from './model.ts';
import { CALL_REPRESENTATION, FAULT_REPRESENTATION } from './representations.ts';

const TAG = 'simulated inventory';
const PATH = '/api/v1/simulated-inventory';

/** What a driver passes to a machine: the image of a deploy, the ports to connect. */
const ARGS_MAX = 100;

const ACTION = strictObject({
  action: Type.Enum(MACHINE_ACTIONS),
  manager: Type.String({ minLength: 1, maxLength: 63, description: 'who acts: the manager whose token it is' }),
  nodeEpoch: Type.Integer({ minimum: 0, description: 'of the node, as its task names it' }),
  instance: ID,
  args: Type.Optional(Type.Record(Type.String({ maxLength: 100 }), Type.Unknown(), { maxProperties: ARGS_MAX })),
});

const OUTCOME = Type.Object({
  kind: Type.Enum(['applied', 'already', 'stale', 'failed']),
  facts: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  reason: Type.Optional(Type.Object({ code: Type.String() })),
});

const STATUS = Type.Object({
  state: Type.Enum(MACHINE_STATES),
  power: Type.Enum(['on', 'off', 'unknown']),
  instance: Type.Optional(Type.String()),
});

export function simulatedInventoryRoutes(denyUnlessEntitled: RightCheck): Route[] {
  return [actRoute(denyUnlessEntitled), inspectRoute, listFaults, armRoute, disarmRoute, listCalls];
}

function actRoute(denyUnlessEntitled: RightCheck): Route {
  return write({
    method: 'POST',
    path: '/api/v1/nodes/:id/actions',
    tag: TAG,
    about:
      'Act on the simulated machine of a node; every call is noted, also one without the right to act (409 `fenced`)',
    access: 'manager',
    params: BY_ID,
    body: ACTION,
    answers: { 200: { about: 'what the machine made of it', schema: OUTCOME } },
    handle: ({ params, body, caller, requestId }, { clock, ids }) => {
      const manager = body.manager.toLowerCase();
      if (caller.manager !== undefined && caller.manager !== manager)
        return refusalAnswer(otherManager(caller.manager, manager));
      const { action, nodeEpoch, instance, args = {} } = body;
      const call: MachineCall = { node: params.id, action, manager, nodeEpoch, instance, args };
      const command = { call, note: ids.next('call'), nowMs: clock.nowMs() };
      return {
        why: `${action} node ${params.id} for ${instance}`,
        decide: (fleet) => actOnMachine(fleet, command, denyUnlessEntitled),
        answer: ({ result: made }) => toAnswer(made, requestId),
      };
    },
  });
}

function toAnswer(made: ActAnswer, requestId: string): Answer {
  switch (made.kind) {
    case 'outcome':
      return answer(made.outcome);
    case 'refused':
      return problemAnswer(made.refusal, requestId);
    case 'lost':
      return problemAnswer(ANSWER_LOST, requestId);
  }
}

/** What a machine's controller that breaks off looks like. */
const ANSWER_LOST: Refusal = {
  kind: 'conflict',
  code: 'answer-lost',
  message:
    'The answer of the simulated machine was lost, as it was armed. Send the call again: it is not carried out twice.',
};

const inspectRoute = read({
  method: 'GET',
  path: '/api/v1/nodes/:id/machine',
  tag: TAG,
  about: 'Show the simulated machine of a node',
  access: 'manager',
  onFollower: 'forward',
  params: BY_ID,
  answers: { 200: { about: 'what it is doing, and for whom', schema: STATUS } },
  handle: ({ params: { id } }, { journal: { fleet }, clock }): HandlerResult => {
    const denied = denyUnlessSimulated(fleet, id);
    return denied === undefined ? answer(readMachine(fleet, id, clock.nowMs())) : refusalAnswer(denied);
  },
});

const LISTED_FAULTS: Listing<'simulated-fault', MachineFault> = {
  representation: FAULT_REPRESENTATION,
  filters: {},
  sorts: {},
};

const listFaults = listRoute(
  { path: `${PATH}/faults`, plural: 'armed faults', tag: TAG },
  {
    listing: LISTED_FAULTS,
    access: 'admin',
    about: 'List the faults that are armed for simulated machines, the oldest first',
  },
);

const armRoute = write({
  method: 'POST',
  path: `${PATH}/faults`,
  tag: TAG,
  about: 'Arm a fault: the next matching calls of simulated machines fail, or take longer',
  access: 'admin',
  body: strictObject({
    op: Type.Enum(FAULT_OPS),
    node: NEW_FAULT.node,
    outcome: Type.Enum(FAULT_OUTCOMES, {
      description:
        '`ok` only delays; `unavailable` does nothing; `failed` begins and fails; `hang` begins and does not end; `applied-but-lost` is carried out and not answered',
    }),
    delayMs: Type.Optional(NEW_FAULT.delayMs),
    times: Type.Optional(NEW_FAULT.times),
  }),
  answers: { 201: { about: 'the armed fault', schema: FAULT_REPRESENTATION.schema } },
  handle: ({ body, caller }, { clock, ids }) => {
    const command = { ...body, id: ids.next('fault'), by: caller.name, nowMs: clock.nowMs() };
    return {
      why: `arm a fault of ${body.op}`,
      decide: (fleet) => armFault(fleet, command),
      answer: ({ result: { id }, after }) => renderCommitted(FAULT_REPRESENTATION, after, { id, status: 201 }),
    };
  },
});

const disarmRoute = write({
  method: 'DELETE',
  path: `${PATH}/faults`,
  tag: TAG,
  about: 'Disarm all faults of simulated machines',
  access: 'admin',
  answers: { 200: { about: 'how many there were', schema: Type.Object({ disarmed: Type.Integer() }) } },
  handle: () => ({
    why: 'disarm the faults of simulated machines',
    decide: (fleet) => disarmFaults(fleet),
    answer: ({ result: disarmed }) => answer({ disarmed }),
  }),
});

const LISTED_CALLS: Listing<'simulated-call', MachineCallNote> = {
  representation: CALL_REPRESENTATION,
  filters: {
    op: { schema: Type.String({ maxLength: 100 }), valuesOf: (doc) => [doc.op] },
    node: { schema: ID, valuesOf: (doc) => [doc.node] },
    instance: { schema: ID, valuesOf: (doc) => [doc.instance] },
    manager: { schema: ID, valuesOf: (doc) => [doc.manager] },
    accepted: { schema: Type.Boolean(), valuesOf: (doc) => [doc.accepted] },
  },
  sorts: {},
};

const listCalls = listRoute(
  { path: `${PATH}/calls`, plural: 'calls of simulated machines', tag: TAG },
  {
    listing: LISTED_CALLS,
    access: 'admin',
    about: 'List the calls of simulated machines, the oldest first; those of the last day are kept',
  },
);
