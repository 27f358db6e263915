// What a reservation looks for, from the request as it was sent: so that whoever goes on with it, after a crash too, looks for the same.
import { idOf, type FleetReader, type Refusal } from '../../fleet/index.ts';
import type { NodeRequest } from '../matching/choose.ts';
import { parseReservationBody, type ReservationBody, type ReservationRequest } from '../matching/request.ts';
import { NODE, NODES_BY_NAME, type NodeId, type Reservation } from '../model.ts';
import type { StoredNode } from '../nodes/transitions.ts';
import { unknownCandidate } from './refusals.ts';

/** Of a stored reservation: its body was valid when it was stored. */
export function requestOf({ request: body, instance }: Reservation): ReservationRequest {
  const request = parseReservationBody(body as ReservationBody);
  if (!('requirements' in request)) throw new Error(`reservation ${instance} has a malformed request`);
  return request;
}

export interface Asked {
  readonly request: ReservationRequest;
  readonly project?: string | undefined;
  readonly site?: string | undefined;
  /** Whether a candidate may be named: what the caller does not see does not exist. */
  readonly isVisible?: (node: StoredNode) => boolean;
}

export type NodeSearch = Omit<NodeRequest, 'except' | 'reaches'>;

export function searchFor(fleet: FleetReader, asked: Asked): NodeSearch | Refusal {
  const { request, project, site } = asked;
  const candidates = resolveCandidates(fleet, asked);
  if (candidates !== undefined && 'code' in candidates) return candidates;
  const place = { ...(project !== undefined && { project }), ...(site !== undefined && { site }) };
  return { requirements: { ...request.requirements, ...place }, instance: request.instance, candidates };
}

/** By id, else by the name that their inventory knows them by. */
function resolveCandidates(
  fleet: FleetReader,
  { request, isVisible = () => true }: Asked,
): readonly NodeId[] | Refusal | undefined {
  if (request.candidates === undefined) return undefined;
  const ids = new Set<NodeId>();
  for (const [at, written] of request.candidates.entries()) {
    const byId = fleet.get(NODE, idOf(NODE, written));
    const named = byId === undefined ? [...fleet.find(NODES_BY_NAME, written)] : [byId];
    const visible = named.filter((node) => node.doc.state !== 'removed' && isVisible(node));
    if (visible.length === 0) return unknownCandidate(written, at);
    for (const { id } of visible) ids.add(id);
  }
  return [...ids];
}
