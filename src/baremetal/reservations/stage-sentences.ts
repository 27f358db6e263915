// Why there is no node, stage by stage, in words: the API, the command line and the history say the same.
import type { Refusal } from '../../fleet/index.ts';
import type { StageCount } from '../matching/choose.ts';
import type { ReservationRequest } from '../matching/request.ts';
import type { CapabilityRequirement, HardwareRequirements } from '../matching/requirements.ts';

/** The request, as far as stages look at it. */
interface StageDemand {
  readonly requirements: HardwareRequirements;
  readonly project: string | undefined;
  /** How many were named. */
  readonly candidates: number | undefined;
  /** The ports of an instance are to be connected. */
  readonly isForBuild: boolean;
}

export function demandOf(
  { requirements, candidates, build }: ReservationRequest,
  project: string | undefined,
): StageDemand {
  return { requirements, project, candidates: candidates?.length, isForBuild: build !== undefined };
}

/** What the nodes that pass a stage have in common; undefined when nothing was required there. */
function describeStage(stage: StageCount['stage'], demand: StageDemand): string | undefined {
  const { requirements: wanted, project } = demand;
  switch (stage) {
    case 'candidates':
      return 'are enrolled';
    case 'state':
      return 'are free: available, with a known power state, in no maintenance, and nobody has or claims them';
    case 'class':
      return wanted.resourceClass === undefined ? undefined : `are of resource class ${wanted.resourceClass}`;
    case 'sizes':
      return describeSizes(wanted);
    case 'traits':
      return describeTraits(wanted);
    case 'capabilities':
      return wanted.capabilities.length === 0
        ? undefined
        : `have the capabilities ${wanted.capabilities.map(describeCapability).join(', ')}`;
    case 'image':
      return wanted.architecture === undefined ? undefined : `have the architecture ${wanted.architecture}`;
    case 'owner':
      return project === undefined ? 'are set aside for no project' : `are open to project "${project}"`;
    case 'networks':
      if (wanted.physicalNetworks.length > 0) return `are wired to ${wanted.physicalNetworks.join(', ')}`;
      return demand.isForBuild ? 'are wired to where the instance is to be connected' : undefined;
    case 'race':
      return 'are left: the others were taken meanwhile, could not be connected, or a try on them has failed';
  }
}

function describeSizes({ memoryMiB, cpus, localGiB }: HardwareRequirements): string | undefined {
  const sizes = [
    ...(memoryMiB > 0 ? [`${memoryMiB} MiB of memory`] : []),
    ...(cpus > 0 ? [`${cpus} processors`] : []),
    ...(localGiB > 0 ? [`${localGiB} GiB of disk`] : []),
  ];
  return sizes.length === 0 ? undefined : `have at least ${sizes.join(', ')}`;
}

function describeTraits({ requiredTraits, forbiddenTraits }: HardwareRequirements): string | undefined {
  const parts = [
    ...(requiredTraits.length > 0 ? [`have the traits ${requiredTraits.join(', ')}`] : []),
    ...(forbiddenTraits.length > 0 ? [`have none of ${forbiddenTraits.join(', ')}`] : []),
  ];
  return parts.length === 0 ? undefined : parts.join(' and ');
}

function describeCapability({ key, test }: CapabilityRequirement): string {
  switch (test.kind) {
    case 'true':
      return `${key} (or the trait ${test.standIn})`;
    case 'equal':
      return `${key} "${test.value}"`;
    case 'number':
    case 'text':
      return `${key} ${test.operator} ${test.value}`;
    case 'contains':
      return `${key} with "${test.value}" in it`;
    case 'all-in':
      return `${key} with all of ${test.values.join(' ')}`;
    case 'one-of':
      return `${key} one of ${test.values.join(' ')}`;
  }
}

/** One sentence for each stage: how many of those that came to it were left. */
export function stageSentences(stages: readonly StageCount[], demand: StageDemand): string[] {
  return stages.map(({ stage, left }, nth) => {
    if (nth === 0 && demand.candidates === undefined)
      return left === 1 ? 'There is 1 node.' : `There are ${left} nodes.`;
    const before = stages[nth - 1]?.left ?? demand.candidates ?? left;
    const common = describeStage(stage, demand);
    if (common === undefined) return `${left} of ${before}: nothing was asked for here.`;
    return `${left} of ${before} ${common}.`;
  });
}

/** Where the last ones were lost. */
export function noMatch(
  instance: string,
  stages: readonly StageCount[],
  demand: StageDemand & { readonly isKept?: boolean },
): Refusal {
  const nth = stages.findIndex(({ left }) => left === 0);
  const sentence = stageSentences(stages, demand)[nth] ?? 'None was left.';
  const stage = stages[nth]?.stage ?? 'race';
  const where =
    demand.isKept === false
      ? 'in this answer: the project has as many failed reservations as are kept'
      : `with "muster baremetal reservations show ${instance}"`;
  const message = `No node for instance "${instance}": ${sentence} Request less, or see what was left after each stage ${where}.`;
  return { kind: 'conflict', code: 'no-match', message, facts: { instance, stage, stages } };
}
