// What a reservation looks for, from the request as it was sent: so that the server that continues it, after a crash too, looks for the same.
import { idOf, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { constrainToBuild, type BuildConstraints } from '../builder/build-reservation.ts';
import { countStages, type NodeRequest, type StageCount } from '../matching/choose.ts';
import type { HardwareRequirements } from '../matching/requirements.ts';
import { parseReservationBody, type ReservationBody, type ReservationRequest } from '../matching/request.ts';
import { NODE, NODES_BY_NAME, type NodeId, type Reservation } from '../model.ts';
import type { StoredNode } from '../nodes/transitions.ts';
import { unknownCandidate } from './refusals.ts';

/** Of a stored reservation: its body was valid when it was stored. */
export function requestOf({ request: body, instance }: Pick<Reservation, 'request' | 'instance'>): ReservationRequest {
  const request = parseReservationBody(body as ReservationBody);
  if (!('requirements' in request)) throw new Error(`reservation ${instance} has a malformed request`);
  return request;
}

export interface SearchDemand {
  readonly request: ReservationRequest;
  readonly project?: string | undefined;
  readonly site?: string | undefined;
  /** What the caller does not see does not exist for it; everything exists when absent. */
  readonly isVisible?: (fleet: FleetReader, node: StoredNode) => boolean;
}

export interface NodeSearch extends NodeRequest {
  readonly except: ReadonlySet<string>;
}

export function searchFor(fleet: FleetReader, demand: SearchDemand): NodeSearch | Refusal {
  const { request, project, site: callerSite } = demand;
  const build = constrainToBuild(fleet, request);
  if (build !== undefined && 'code' in build) return build;
  const candidates = resolveCandidates(fleet, demand);
  if (candidates !== undefined && 'code' in candidates) return candidates;
  const site = callerSite ?? build?.site;
  const place = { ...(project !== undefined && { project }), ...(site !== undefined && { site }) };
  return {
    requirements: { ...request.requirements, ...place, ...wiringOf(build) },
    instance: request.instance,
    candidates,
    except: build?.except ?? NONE,
  };
}

const NONE: ReadonlySet<string> = new Set();

function wiringOf(build: BuildConstraints | undefined): Pick<HardwareRequirements, 'physicalNetworkChoices'> {
  return build === undefined ? {} : { physicalNetworkChoices: build.physicalNetworkChoices };
}

/** By id, else by the name that their inventory knows them by. */
function resolveCandidates(
  fleet: FleetReader,
  { request, isVisible = () => true }: SearchDemand,
): readonly NodeId[] | Refusal | undefined {
  if (request.candidates === undefined) return undefined;
  const ids = new Set<NodeId>();
  for (const [at, written] of request.candidates.entries()) {
    const byId = fleet.get(NODE, idOf(NODE, written));
    const named = byId === undefined ? [...fleet.find(NODES_BY_NAME, written)] : [byId];
    const visible = named.filter((node) => node.doc.state !== 'removed' && isVisible(fleet, node));
    if (visible.length === 0) return unknownCandidate(written, at);
    for (const { id } of visible) ids.add(id);
  }
  return [...ids];
}

/** With those that match and could not be had. */
export function countAllStages(fleet: FleetReader, search: NodeSearch): StageCount[] {
  const stages = countStages(fleet, search);
  return stages.at(-1)?.left === 0 ? stages : [...stages, { stage: 'race', left: 0 }];
}
