// The request for a node that a build hands to its manager: the fields of the flavor and of the image, and what the request for the instance says.
import { idOf, type FleetReader } from '../../fleet/index.ts';
import { FLAVOR, type Flavor, type Instance } from '../../instances/index.ts';
import type { ReservationBody } from '../matching/request.ts';

export interface AskingBuild {
  /** The item of the build. */
  readonly build: string;
  readonly manager: string;
}

/** A flavor that is in use is never deleted, and none is ever changed. */
export function composeReservationBody(fleet: FleetReader, instance: Instance, asking: AskingBuild): ReservationBody {
  const flavor = fleet.get(FLAVOR, idOf(FLAVOR, instance.flavor))?.doc;
  return { ...composeRequirements(flavor?.bareMetal ?? {}, instance), ...asking, instance_uuid: instance.name };
}

type NodeDemand = Pick<Instance, 'amounts' | 'place' | 'project' | 'image' | 'imageProperties'>;

/** Without its owner and its caller. */
export function composeRequirements(
  { ephemeralGiB, swapMiB, rxtxFactor, extraSpecs }: NonNullable<Flavor['bareMetal']>,
  { amounts, place, project, image, imageProperties }: NodeDemand,
): Omit<ReservationBody, 'instance_uuid' | 'manager'> {
  const traits = [
    ...(place.requiredTraits ?? []).map((trait) => [`trait:${trait}`, 'required'] as const),
    ...(place.forbiddenTraits ?? []).map((trait) => [`trait:${trait}`, 'forbidden'] as const),
  ];
  return {
    memory_mb: amounts.memoryMiB,
    vcpus: amounts.vcpus,
    root_gb: amounts.diskGiB,
    ...(ephemeralGiB !== undefined && { ephemeral_gb: ephemeralGiB }),
    ...(swapMiB !== undefined && { swap: swapMiB }),
    ...(rxtxFactor !== undefined && { rxtx_factor: rxtxFactor }),
    extra_specs: { ...Object.fromEntries(traits), ...extraSpecs },
    image: {
      ...(image !== undefined && { id: image }),
      ...(imageProperties !== undefined && { properties: imageProperties }),
    },
    project,
  };
}
