// The HTTP surface of the simulated back end: arm faults, switch its events, read its calls. Its state is at the lease holder, so other servers
// forward these requests.
import { Type } from 'typebox';
import {
  answer,
  strictObject,
  HOST_REF,
  ID,
  read,
  refusalAnswer,
  type Route,
  type RouteFields,
} from '../../../access/index.ts';
import type { SimulatedNetwork } from './network.ts';
import { FAULT_OUTCOMES, SIMULATED_OPS } from './faults.ts';

const CALLS_PAGE = 1000;
const DELAY_MAX_MS = 600_000;
const TIMES_MAX = 1_000_000;

const SIMULATED_ROUTE = {
  tag: 'simulated network',
  access: 'admin',
  onFollower: 'forward',
} satisfies Partial<RouteFields>;

const FAULT_SITE = {
  op: Type.Enum(SIMULATED_OPS),
  host: Type.Optional(HOST_REF),
  segment: Type.Optional(ID),
  nic: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000 })),
  outcome: Type.Enum(FAULT_OUTCOMES, {
    description:
      '`ok` only delays; `hang` never answers; `applied-but-lost` is carried out and not answered; `binding-failed` answers with success and a port that is not connected; for `plug`, `hang` sends no event, and `plug-failed` and `unplugged` send that event of a bound port',
  }),
};

const NEW_FAULT = strictObject({
  ...FAULT_SITE,
  delayMs: Type.Optional(Type.Integer({ minimum: 0, maximum: DELAY_MAX_MS })),
  times: Type.Optional(
    Type.Integer({ minimum: 1, maximum: TIMES_MAX, description: 'how many calls it applies to; 1 by default' }),
  ),
});

const FAULT = Type.Object({ id: Type.Integer(), ...FAULT_SITE, delayMs: Type.Integer(), times: Type.Integer() });

const CALL = Type.Object({
  nth: Type.Integer(),
  op: Type.String(),
  instance: Type.String(),
  port: Type.Optional(Type.String()),
  ports: Type.Optional(Type.Array(Type.String(), { description: 'of a bulk call' })),
  host: Type.Optional(Type.String()),
  serial: Type.Optional(Type.Integer()),
  by: Type.Enum(['conductor', 'host']),
  atMs: Type.Integer(),
  result: Type.Optional(Type.String({ description: 'absent while the call is open' })),
});

const EVENTS = strictObject({ enabled: Type.Boolean() });

export function simulatedNetworkRoutes(network: SimulatedNetwork): Route[] {
  return [...faultRoutes(network), callsRoute(network), ...eventsRoutes(network)];
}

function faultRoutes({ faults }: SimulatedNetwork): Route[] {
  const path = '/api/v1/simulated-network/faults';
  const all = { 200: { about: 'the armed faults', schema: Type.Object({ items: Type.Array(FAULT) }) } };
  return [
    read({
      ...SIMULATED_ROUTE,
      method: 'GET',
      path,
      about: 'List the faults that are armed in the simulated network',
      answers: all,
      handle: () => answer({ items: faults.armed }),
    }),
    read({
      ...SIMULATED_ROUTE,
      method: 'POST',
      path,
      about: 'Arm a fault in the simulated network: the next matching calls fail',
      body: NEW_FAULT,
      answers: { 201: { about: 'the armed fault', schema: FAULT } },
      handle: ({ body }) => {
        const armed = faults.arm(body);
        return armed.kind === 'refuse' ? refusalAnswer(armed.refusal) : answer(armed.answer, 201);
      },
    }),
    read({
      ...SIMULATED_ROUTE,
      method: 'DELETE',
      path,
      about: 'Disarm all faults of the simulated network',
      answers: all,
      handle: () => {
        faults.disarm();
        return answer({ items: faults.armed });
      },
    }),
  ];
}

function callsRoute({ calls }: SimulatedNetwork): Route {
  return read({
    ...SIMULATED_ROUTE,
    method: 'GET',
    path: '/api/v1/simulated-network/calls',
    about: 'List the calls that reached the simulated network, the oldest first; the last 10,000 are kept',
    query: strictObject({
      after: Type.Optional(Type.Integer({ minimum: 0, description: 'only calls with a higher `nth`' })),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: CALLS_PAGE })),
      instance: Type.Optional(ID),
    }),
    answers: { 200: { about: 'calls', schema: Type.Object({ items: Type.Array(CALL) }) } },
    handle: ({ query }) => answer({ items: calls.list({ limit: CALLS_PAGE, ...query }) }),
  });
}

function eventsRoutes(network: SimulatedNetwork): Route[] {
  const path = '/api/v1/simulated-network/events';
  const answers = { 200: { about: 'as it is now', schema: EVENTS } };
  return [
    read({
      ...SIMULATED_ROUTE,
      method: 'GET',
      path,
      about: 'Show whether the simulated network reports when a port is connected',
      answers,
      handle: () => answer({ enabled: network.eventsEnabled }),
    }),
    read({
      ...SIMULATED_ROUTE,
      method: 'PUT',
      path,
      about: 'Switch on or off that the simulated network reports when a port is connected',
      body: EVENTS,
      answers,
      handle: ({ body }) => {
        // Switched at the lease holder: this state is in no journal.
        network.eventsEnabled = body.enabled;
        return answer({ enabled: network.eventsEnabled });
      },
    }),
  ];
}
