// What a node is deployed with, as Ironic names it: the image, what the image says of its form, and how the disk is divided.
import type { MachineCall } from '../inventory.ts';
import { deployPropertyProblem, imageProblem, isDeployProperty } from '../../image.ts';
import { toRecord } from './ironic-node.ts';

/** Text says why it is not to be deployed: Ironic would fetch what is named with its own rights. */
export function composeInstanceInfo(args: MachineCall['args']): Readonly<Record<string, unknown>> | string {
  const { image } = args;
  const properties = Object.entries(toRecord(args['imageProperties'])).filter(([name]) => isDeployProperty(name));
  const unfit = properties.flatMap(([name, value]) => deployPropertyProblem(name, value) ?? []);
  const problem = typeof image === 'string' ? imageProblem(image) : undefined;
  if (problem !== undefined || unfit.length > 0) return `The image is not deployed: it ${problem ?? unfit.join('; ')}.`;
  return {
    ...Object.fromEntries(properties),
    ...(typeof image === 'string' && { image_source: image }),
    ...sizeOf('root_gb', args['rootGiB']),
    ...sizeOf('ephemeral_gb', args['ephemeralGiB']),
    ...sizeOf('swap_mb', args['swapMiB']),
  };
}

/** 0 requests nothing. */
function sizeOf(field: string, value: unknown): Readonly<Record<string, number>> {
  return typeof value === 'number' && value > 0 ? { [field]: value } : {};
}
