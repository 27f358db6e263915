// Decides on flavors: the sizes of instances. An instance keeps the amounts it was created with, but a flavor in use must not be deleted: its name
// would then mean nothing, or something else.
import { idOf, put, remove, type FleetReader, type Refusal, type Stored } from '../../fleet/index.ts';
import { accept, refuse, type Decision } from '../../journal/index.ts';
import { FLAVOR, INSTANCES_BY_FLAVOR, TRAITS_MAX, type Flavor, type Instance } from '../model.ts';

export interface CreateFlavor extends Pick<
  Flavor,
  'name' | 'vcpus' | 'memoryMiB' | 'diskGiB' | 'resources' | 'bareMetal'
> {
  readonly requiredTraits?: readonly string[];
  readonly forbiddenTraits?: readonly string[];
  readonly by: string;
  readonly nowMs: number;
}

/** `problemOf`: why the flavor's builder does not take it. */
export function createFlavor(
  fleet: FleetReader,
  command: CreateFlavor,
  problemOf?: (flavor: Flavor) => Refusal | undefined,
): Decision<Flavor> {
  const { by, nowMs, requiredTraits = [], forbiddenTraits = [], ...sizes } = command;
  const id = idOf(FLAVOR, command.name);
  if (fleet.get(FLAVOR, id) !== undefined) return refuse(flavorExists(command.name));
  const both = requiredTraits.find((trait) => forbiddenTraits.includes(trait));
  if (both !== undefined) return refuse(contradiction(both));
  const traits = { requiredTraits: [...requiredTraits], forbiddenTraits: [...forbiddenTraits] };
  const flavor: Flavor = { ...sizes, ...traits, changedBy: by, changedAtMs: nowMs };
  const problem = problemOf?.(flavor);
  if (problem !== undefined) return refuse(problem);
  return accept([put(FLAVOR, id, flavor)], flavor);
}

export function deleteFlavor(fleet: FleetReader, name: string): Decision<Stored<'flavor', Flavor>> {
  const stored = fleet.get(FLAVOR, idOf(FLAVOR, name));
  if (stored === undefined) return refuse(unknownFlavor(name));
  const instances = fleet.countOf(INSTANCES_BY_FLAVOR, name);
  return instances > 0 ? refuse(flavorInUse(name, instances)) : accept([remove(FLAVOR, stored.id)], stored);
}

type Traits = Pick<Flavor, 'requiredTraits' | 'forbiddenTraits'>;

const NO_TRAITS: readonly string[] = [];

/** The requirements of a request, with those of its flavor. */
export function mergeTraits(flavor: Flavor, place: Instance['place']): Instance['place'] & Traits {
  return {
    ...place,
    requiredTraits: mergeLists(flavor.requiredTraits, place.requiredTraits),
    forbiddenTraits: mergeLists(flavor.forbiddenTraits, place.forbiddenTraits),
  };
}

/** Documents are never changed in place, so they may share a list. */
function mergeLists(ours: string[], theirs: readonly string[] = NO_TRAITS): string[] {
  return theirs.length === 0 ? ours : [...new Set([...ours, ...theirs])];
}

export function traitsProblem(flavor: Flavor, place: Instance['place']): Refusal | undefined {
  const together = mergeTraits(flavor, place);
  for (const which of ['requiredTraits', 'forbiddenTraits'] as const) {
    if (together[which].length > TRAITS_MAX) return tooManyTraits(flavor.name, together[which].length, which);
  }
  const both = together.requiredTraits.find((trait) => together.forbiddenTraits.includes(trait));
  return both === undefined ? undefined : contradiction(both);
}

export function unknownFlavor(name: string, field?: string): Refusal {
  const message = `There is no flavor "${name}". List them with "muster flavors list".`;
  const at = field === undefined ? {} : { field };
  const kind = field === undefined ? 'not-found' : 'invalid';
  return { kind, code: 'unknown-flavor', message, ...at, facts: { flavor: name } };
}

function flavorExists(flavor: string): Refusal {
  const message = `There is a flavor "${flavor}" already. Choose another name, or delete that one first.`;
  return { kind: 'conflict', code: 'flavor-exists', message, field: '/name', facts: { flavor } };
}

function tooManyTraits(flavor: string, count: number, which: keyof Traits): Refusal {
  const message = `Flavor "${flavor}" and the request name ${count} traits together, and ${TRAITS_MAX} is the most. Name fewer in the request.`;
  return { kind: 'invalid', code: 'too-many-traits', message, field: `/${which}`, facts: { flavor, count } };
}

function contradiction(trait: string): Refusal {
  const message = `Trait "${trait}" is both required and forbidden, by the flavor or by the request, and no host can satisfy both. Leave it out of one of them.`;
  return { kind: 'invalid', code: 'trait-contradiction', message, field: '/forbiddenTraits', facts: { trait } };
}

function flavorInUse(flavor: string, instances: number): Refusal {
  const message = `Flavor "${flavor}" is used by ${instances === 1 ? 'an instance' : `${instances} instances`}. Delete what uses it first; see "muster instances list --flavor ${flavor}".`;
  return { kind: 'conflict', code: 'flavor-in-use', message, facts: { flavor, instances } };
}
