// The API representation of a reservation: with the request as it was sent, and the counts of one that failed in words. How its node is claimed stays inside.
import { Type } from 'typebox';
import { defineRepresentation, type Redactor } from '../../access/index.ts';
import { idOf, type FleetReader } from '../../fleet/index.ts';
import { MANAGER, NODE, RESERVATION, RESERVATION_SCHEMA, type Reservation } from '../model.ts';
import { requestOf } from './search.ts';
import { demandOf, stageSentences } from './stage-sentences.ts';

const {
  digest: _digest,
  allocation: _allocation,
  claimed: _claimed,
  stages: _stages,
  ...FIELDS
} = RESERVATION_SCHEMA.properties;

const STAGES = Type.Array(
  Type.Object({
    stage: Type.String(),
    left: Type.Integer({ description: 'nodes that were left after it' }),
    sentence: Type.String({ description: 'the same, for a person' }),
  }),
);

export const RESERVATION_REPRESENTATION = defineRepresentation<'reservation', Reservation>({
  kind: RESERVATION,
  siteOf: siteOfReservation,
  projectOf: (doc) => doc.project,
  redact: redactReservation,
  toJson: ({ digest: _, allocation: __, claimed: ___, stages, ...doc }) =>
    stages === undefined ? doc : { ...doc, stages: explainStages(doc, stages) },
  fields: { ...FIELDS, stages: Type.Optional(STAGES) },
});

/** The site of its node; without one, that of its caller. */
function siteOfReservation({ node, site, manager }: Reservation, fleet: FleetReader): string | undefined {
  const found = node === undefined ? undefined : fleet.get(NODE, idOf(NODE, node))?.doc.site;
  return found ?? site ?? fleet.get(MANAGER, idOf(MANAGER, manager))?.doc.site;
}

function redactReservation(doc: Reservation, sight: Redactor): Reservation {
  const { manager, node, reason, request } = doc;
  return {
    ...doc,
    request: redactRequest(request, sight),
    manager: sight.redactText(manager),
    ...(node !== undefined && { node: sight.redactText(node) }),
    ...(reason !== undefined && { reason: { ...reason, message: sight.redactText(reason.message) } }),
  };
}

/** The caller of the request may have seen more: the manager, the candidates and the build are named in it. */
function redactRequest(request: Reservation['request'], sight: Redactor): Reservation['request'] {
  const redact = (value: unknown): unknown => {
    if (typeof value === 'string') return sight.redactText(value);
    return Array.isArray(value) ? value.map(redact) : value;
  };
  const named = ['manager', 'candidate_nodes', 'build'].filter((field) => request[field] !== undefined);
  return { ...request, ...Object.fromEntries(named.map((field) => [field, redact(request[field])])) };
}

function explainStages(
  doc: Pick<Reservation, 'request' | 'instance' | 'project'>,
  stages: NonNullable<Reservation['stages']>,
): object[] {
  const sentences = stageSentences(stages, demandOf(requestOf(doc), doc.project));
  return stages.map((one, nth) => ({ ...one, sentence: sentences[nth] }));
}
