// The HTTP surface of services: list, show, explain, edit, move, rebalance. No decisions here.
import { Type } from 'typebox';
import {
  answer,
  BY_ID,
  strictObject,
  HOST_REF,
  ID,
  listRoute,
  noSuch,
  optionalFields,
  read,
  refusalAnswer,
  renderCommitted,
  showRoute,
  write,
  type Answer,
  type Listing,
  type Resource,
  type Route,
} from '../access/index.ts';
import { idOf, valueOf, type FleetReader } from '../fleet/index.ts';
import { viewsSentences } from '../hosts/index.ts';
import { explainer, OPEN_ITEMS_BY_TARGET, OPERATION, operationSentences, targetKey } from '../operations/index.ts';
import { ElectionContext } from './candidates.ts';
import {
  REJECTIONS,
  SERVICE,
  SERVICE_SCHEMA,
  SERVICE_FACTS,
  SERVICE_TYPES,
  SERVICES_BY_SUBJECT,
  SERVICES_TOUCHING_HOST,
  type Service,
} from './model.ts';
import { editService, moveService } from './move.ts';
import { rebalanceServices } from './rebalance.ts';
import { electionSentences } from './sentences.ts';
import { ELECTION } from './settings.ts';
import { SERVICE_REPRESENTATION } from './service-representation.ts';
import { summarizeCandidates, candidateSentences, whySentences } from './why.ts';

const LISTING: Listing<'service', Service> = {
  representation: SERVICE_REPRESENTATION,
  filters: {
    type: { schema: Type.Enum(SERVICE_TYPES), valuesOf: (doc) => [doc.type] },
    subject: { schema: ID, valuesOf: (doc) => [doc.subject], index: SERVICES_BY_SUBJECT },
    host: { schema: HOST_REF, valuesOf: (doc) => [doc.designated?.host], index: SERVICES_TOUCHING_HOST },
    designated: { schema: Type.Boolean(), valuesOf: (doc) => [doc.designated !== undefined] },
    degraded: { schema: Type.Boolean(), valuesOf: (doc) => [doc.designated?.degraded === true] },
    handover: { schema: Type.Boolean(), valuesOf: (doc) => [doc.handover !== undefined] },
  },
  sorts: {
    type: (doc) => doc.type,
    subject: (doc) => doc.subject,
    host: (doc) => doc.designated?.host ?? '',
    changedAtMs: (doc) => doc.changedAtMs,
  },
};

const TAG = 'services';
const PATH = '/api/v1/services';
const SERVICES: Resource<'service', Service> = {
  path: PATH,
  plural: TAG,
  singular: 'service',
  representation: SERVICE_REPRESENTATION,
};
const DEADLINE_MS = 3_600_000;

const REQUEST = {
  reason: Type.Optional(Type.String({ minLength: 1, maxLength: 500 })),
  deadlineMs: Type.Optional(Type.Integer({ minimum: 1000, maximum: 7 * 24 * 3600 * 1000 })),
};

const WHY_NOW = Type.Object({
  service: Type.String(),
  epoch: Type.Integer(),
  designated: SERVICE_SCHEMA.properties.designated,
  why: SERVICE_SCHEMA.properties.why,
  now: Type.Object({
    candidates: Type.Array(Type.Object({ host: Type.String(), score: Type.Integer() }), {
      description: 'the first few, the next choice first',
    }),
    candidatesInAll: Type.Integer(),
    rejected: Type.Array(Type.Object({ host: Type.String(), because: Type.Enum(REJECTIONS) })),
    rejectedInAll: Type.Integer(),
  }),
  sentences: Type.Array(Type.String()),
});

const MOVED = Type.Object({
  operation: Type.Optional(
    Type.String({ description: 'the operation to follow; absent when the service is there already' }),
  ),
  service: Type.String(),
  to: Type.String(),
});

const REBALANCED = Type.Object({
  operation: Type.Optional(Type.String({ description: 'the operation to follow; absent when nothing is to be moved' })),
  moves: Type.Array(Type.Object({ service: Type.String(), from: Type.String(), to: Type.String() })),
  more: Type.Boolean({ description: 'more could be rebalanced when these are done' }),
});

export const serviceRoutes: readonly Route[] = [
  listRoute(SERVICES, { listing: LISTING, about: 'List services and the hosts designated for them' }),
  showRoute(SERVICES, { about: 'Show a service: its designated host, and why' }),
  read({
    method: 'GET',
    path: `${PATH}/:id/why`,
    tag: TAG,
    about: 'Explain why a service is where it is, and which hosts are candidates now',
    // Every host of the fleet may be a candidate.
    scansFleet: () => true,
    access: 'viewer',
    params: BY_ID,
    answers: { 200: { about: 'the reasons', schema: WHY_NOW } },
    handle: ({ params: { id } }, { journal: { fleet } }) => {
      const service = fleet.get(SERVICE, idOf(SERVICE, id));
      if (service === undefined) return refusalAnswer(noSuch(SERVICE.name, id));
      const now = summarizeCandidates(new ElectionContext(fleet).candidatesOf(service));
      const { designated, why, epoch } = service.doc;
      const sentences = [
        ...whySentences(service.doc),
        ...waitSentences(fleet, id),
        ...heldSentences(fleet),
        ...candidateSentences(now),
      ];
      return answer({ service: id, epoch, ...(designated && { designated }), ...(why && { why }), now, sentences });
    },
  }),
  write({
    method: 'PATCH',
    path: `${PATH}/:id`,
    tag: TAG,
    about: 'Change what happens to a service when its host leaves or falls silent',
    access: 'operator',
    params: BY_ID,
    body: strictObject(optionalFields(SERVICE_FACTS), { minProperties: 1 }),
    answers: { 200: { about: 'the service', schema: SERVICE_REPRESENTATION.schema } },
    handle: ({ params: { id }, body, caller }, { clock }) => {
      const nowMs = clock.nowMs();
      return {
        target: { representation: SERVICE_REPRESENTATION, id },
        why: `edit service ${id}`,
        decide: (fleet) => editService(fleet, { id, edit: body, by: caller.name, nowMs }),
        answer: ({ after }) => renderCommitted(SERVICE_REPRESENTATION, after, { id }),
      };
    },
  }),
  write({
    method: 'POST',
    path: `${PATH}/:id/move`,
    tag: TAG,
    about: 'Move a service to another host by a handover: the best candidate, or a named one',
    access: 'operator',
    params: BY_ID,
    body: strictObject({
      host: Type.Optional(
        Type.String({ ...HOST_REF, description: 'the target, by any id of it; the best other candidate by default' }),
      ),
      ...REQUEST,
    }),
    answers: {
      200: { about: 'it is there already', schema: MOVED },
      202: { about: 'the operation to follow', schema: MOVED },
    },
    handle: ({ params: { id }, body: { host, reason, deadlineMs = DEADLINE_MS }, caller }, { clock, ids }) => {
      const operation = idOf(OPERATION, ids.next('op'));
      const said = { ...(host !== undefined && { host }), ...(reason !== undefined && { why: reason }) };
      const command = { operation, by: caller.name, nowMs: clock.nowMs(), deadlineMs };
      return {
        target: { representation: SERVICE_REPRESENTATION, id },
        why: reason ?? `move service ${id}`,
        operation,
        decide: (fleet) => moveService(fleet, { id, ...said, ...command }),
        answer: ({ result: moved }) => {
          const begun = moved.operation === undefined ? '' : 'to ';
          return { ...answerOperation({ service: id, ...moved }), memo: `${begun}${moved.to}` };
        },
        recompose: ({ memo, operation: started }) => {
          const to = memo.replace(/^to /, '');
          return answerOperation({
            service: id,
            ...(to !== memo && started !== undefined && { operation: started }),
            to,
          });
        },
      };
    },
  }),
  write({
    method: 'POST',
    path: `${PATH}/rebalance`,
    tag: TAG,
    about: 'Rebalance services over hosts, with as few handovers as possible',
    access: 'operator',
    body: strictObject(REQUEST),
    answers: {
      200: { about: 'nothing is to be moved', schema: REBALANCED },
      202: { about: 'the operation to follow', schema: REBALANCED },
    },
    handle: ({ body: { reason, deadlineMs = DEADLINE_MS }, caller }, { clock, ids }) => {
      const operation = idOf(OPERATION, ids.next('op'));
      const command = { operation, by: caller.name, nowMs: clock.nowMs(), deadlineMs };
      return {
        why: reason ?? 'rebalance services',
        operation,
        decide: (fleet) => rebalanceServices(fleet, { ...command, ...(reason !== undefined && { why: reason }) }),
        answer: ({ result }) => answerOperation(result),
      };
    },
  }),
];

const explain = explainer([operationSentences, viewsSentences, electionSentences]);

/** The reason that its handover waits for, for example what its target lacks. */
function waitSentences(fleet: FleetReader, id: string): string[] {
  return [...fleet.find(OPEN_ITEMS_BY_TARGET, targetKey(SERVICE.name, id))].flatMap(({ doc: { state, reason } }) =>
    state === 'waiting' && reason !== undefined ? [explain(reason)] : [],
  );
}

function heldSentences(fleet: FleetReader): string[] {
  if (!valueOf(fleet, ELECTION).held) return [];
  return ['Elections are held: no service changes its host until "held" of the setting "election" is false.'];
}

function answerOperation(body: {
  readonly operation?: string;
  readonly to?: string;
  readonly service?: string;
}): Answer {
  return { kind: 'answer', status: body.operation === undefined ? 200 : 202, body };
}
