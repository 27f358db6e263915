// Creates instances, or tries out what that would come to: the request is validated, and its flavor's builder does the rest. Nothing is built here.
import { idOf, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { refuse, type Decision } from '../../journal/index.ts';
import type { Builder, Builders, CreatedInstances, Preview } from '../builder.ts';
import { unknownFlavor } from '../catalog/flavors.ts';
import { ON_HOSTS } from '../host-builder.ts';
import { FLAVOR } from '../model.ts';
import { validateRequest, type CreateInstances, type ValidatedRequest } from './request.ts';

export type { CreateInstances } from './request.ts';

export function createInstances(
  fleet: FleetReader,
  command: CreateInstances,
  builders: Builders = ON_HOSTS,
): Decision<CreatedInstances> {
  const checked = checkRequest(fleet, command, builders);
  return 'code' in checked ? refuse(checked) : checked.builder.begin(fleet, command, checked.request);
}

export function previewInstances(
  fleet: FleetReader,
  command: CreateInstances,
  builders: Builders = ON_HOSTS,
): Preview | Refusal {
  const checked = checkRequest(fleet, command, builders);
  return 'code' in checked ? checked : checked.builder.preview(fleet, command, checked.request);
}

/** Why a request would be refused as it stands; nothing is placed for it. */
export function refuseInstances(fleet: FleetReader, command: CreateInstances, builders: Builders): Refusal | undefined {
  const checked = checkRequest(fleet, command, builders);
  return 'code' in checked ? checked : undefined;
}

interface CheckedRequest {
  readonly builder: Builder;
  readonly request: ValidatedRequest;
}

function checkRequest(fleet: FleetReader, command: CreateInstances, builders: Builders): CheckedRequest | Refusal {
  const flavor = fleet.get(FLAVOR, idOf(FLAVOR, command.flavor))?.doc;
  if (flavor === undefined) return unknownFlavor(command.flavor, '/flavor');
  const builder = builders.forFlavor(flavor);
  const request = validateRequest(fleet, command, flavor);
  if ('code' in request) return request;
  return builder.requestProblem?.(fleet, command, request) ?? { builder, request };
}
