// What flavors and requests for bare metal are refused for: what the parser of reservations finds malformed, what a machine cannot be connected to, and
// what means something for hosts alone.
import type { FleetReader, Refusal } from '../../fleet/index.ts';
import type { CreateInstances, Flavor, ValidatedRequest } from '../../instances/index.ts';
import { wiringProblem } from '../../network/index.ts';
import { imageProblem } from '../image.ts';
import { parseReservationBody } from '../matching/request.ts';
import { RESERVATION } from '../model.ts';
import { reservationId } from '../reservations/documents.ts';
import { composeRequirements } from './reservation-body.ts';

/** In place of names that are not known yet. */
const NOBODY = { instance_uuid: 'instance', manager: 'manager' };

export function flavorProblem(flavor: Flavor): Refusal | undefined {
  if (flavor.resources !== undefined) return countedResources(flavor.name);
  const { vcpus, memoryMiB, diskGiB, requiredTraits, forbiddenTraits } = flavor;
  const amounts = { vcpus, memoryMiB, diskGiB };
  return requirementsProblem(flavor, { amounts, place: { requiredTraits, forbiddenTraits }, project: 'default' });
}

export function requestProblem(
  fleet: FleetReader,
  command: CreateInstances,
  { flavor, nics, names }: ValidatedRequest,
): Refusal | undefined {
  const { place, image, imageProperties, project } = command;
  const { vcpus, memoryMiB, diskGiB } = flavor;
  const traits = {
    requiredTraits: [...flavor.requiredTraits, ...(place.requiredTraits ?? [])],
    forbiddenTraits: [...flavor.forbiddenTraits, ...(place.forbiddenTraits ?? [])],
  };
  const request = {
    amounts: { vcpus, memoryMiB, diskGiB },
    place: traits,
    project,
    ...(image !== undefined && { image }),
    ...(imageProperties !== undefined && { imageProperties }),
  };
  return (
    unsupportedProblem(command) ??
    unfitImage(image) ??
    requirementsProblem(flavor, request) ??
    wiringProblem(fleet, nics) ??
    refuseReservedName(fleet, names)
  );
}

/** Of a build of before nothing is left when its instance is gone; one in error gives way. */
function refuseReservedName(fleet: FleetReader, names: readonly string[]): Refusal | undefined {
  const instance = names.find((name) => {
    const reservation = fleet.get(RESERVATION, reservationId(name))?.doc;
    return reservation !== undefined && reservation.state !== 'error';
  });
  return instance === undefined ? undefined : nameReserved(instance);
}

function requirementsProblem(flavor: Flavor, request: Parameters<typeof composeRequirements>[1]): Refusal | undefined {
  const parsed = parseReservationBody({ ...composeRequirements(flavor.bareMetal ?? {}, request), ...NOBODY });
  if (!Array.isArray(parsed)) return undefined;
  const [problem] = parsed as readonly { readonly field: string; readonly message: string }[];
  return problem === undefined ? undefined : malformedSpec(problem);
}

const FIELDS: readonly (readonly [prefix: string, field: string])[] = [
  ['/extra_specs/', '/bareMetal/extraSpecs/'],
  ['/image/properties/', '/imageProperties/'],
];

function malformedSpec({ field, message: what }: { readonly field: string; readonly message: string }): Refusal {
  const [prefix = '', own = ''] = FIELDS.find(([one]) => field.startsWith(one)) ?? [];
  const named = `${own}${field.slice(prefix.length)}`;
  const message = `${named} ${what}. Write it as requests for nodes take it, or leave it out.`;
  return { kind: 'invalid', code: 'node-requirement-malformed', message, field: named };
}

/** What hosts are chosen by, and what is promised of several placements at once. */
function unsupportedProblem({ place, isMinimumNamed }: CreateInstances): Refusal | undefined {
  if (place.group !== undefined)
    return unsupported('/group', 'a server group counts hosts, and each has a machine of its own');
  if (place.onlyHost !== undefined) return unsupported('/host', 'no host runs it');
  if (place.zone !== undefined) return unsupported('/zone', 'zones are of hosts, and nodes are of sites');
  if (place.aggregates !== undefined) return unsupported('/aggregates', 'aggregates are of hosts; nodes have traits');
  if (isMinimumNamed === true)
    return unsupported('/minCount', 'each finds its machine by itself, some time after the request');
  return undefined;
}

function unsupported(field: string, why: string): Refusal {
  const message = `Instances on bare metal take no "${field.slice(1)}": ${why}. Leave it out, or choose a flavor that is built on hosts.`;
  return { kind: 'invalid', code: 'unsupported-on-bare-metal', message, field };
}

function nameReserved(instance: string): Refusal {
  const message = `There is a reservation of a node for "${instance}" that somebody made. Release it with "muster baremetal reservations release ${instance}", or choose another name.`;
  return { kind: 'conflict', code: 'instance-has-reservation', message, field: '/name', facts: { instance } };
}

function unfitImage(image: string | undefined): Refusal | undefined {
  const what = image === undefined ? undefined : imageProblem(image);
  if (what === undefined) return undefined;
  const message = `/image ${what}: whatever deploys a machine fetches its image with its own rights. Name one that it can fetch so.`;
  return { kind: 'invalid', code: 'image-unsupported', message, field: '/image' };
}

function countedResources(flavor: string): Refusal {
  const message = `Flavor "${flavor}" is bare-metal, and a node has no counted resources. Name its class in the extra specs, such as "resources:CUSTOM_GPU": "1".`;
  return { kind: 'invalid', code: 'resources-unsupported', message, field: '/resources', facts: { flavor } };
}
