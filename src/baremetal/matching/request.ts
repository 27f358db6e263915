// The body of a request for a node: the fields of a flavor as the specification has them, the image, and whose instance it is for. It keeps its own
// spelling. A field that is null is one that is not there.
import { Type, type Static, type TSchema } from 'typebox';
import type { SchemaProblem } from '../../fleet/index.ts';
import { ID } from '../../access/index.ts';
import { PROJECT } from '../../network/index.ts';
import { beginReading, readExtraSpecs, readImageProperties, traitConflicts } from './extra-specs.ts';
import { sortedUnique, type HardwareRequirements } from './requirements.ts';

const CLOSED = { additionalProperties: false };

function orNull<S extends TSchema>(schema: S) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}

const SIZE_MAX = 2 ** 40;
const CPUS_MAX = 100_000;

const size = (description: string, maximum = SIZE_MAX): ReturnType<typeof sizeField> => sizeField(description, maximum);
const sizeField = (description: string, maximum: number) =>
  orNull(Type.Integer({ minimum: 0, maximum, description: `${description}; 0 is not checked` }));

/** Keys of extra specs and of image properties. */
const PROPERTIES_MAX = 200;
const VALUE = Type.String({ maxLength: 1000 });
/** A body and its reservation have to fit into one document. */
export const REQUEST_BYTES_MAX = 48 * 1024;
const CANDIDATES_MAX = 1000;
const PHYSICAL_NETWORKS_MAX = 16;

const MANAGER_REF = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
  'x-form': 'a name of letters, digits and . _ - (at most 63)',
  description: 'becomes the manager of the node; compared in lower case',
});

const WORD = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$',
  'x-form': 'a word of letters, digits and _ . : - (at most 100)',
});

const IMAGE = Type.Object(
  {
    id: orNull(Type.String({ maxLength: 300 })),
    properties: orNull(
      Type.Record(Type.String({ maxLength: 255 }), Type.Union([VALUE, Type.Number(), Type.Boolean(), Type.Null()]), {
        maxProperties: PROPERTIES_MAX,
        description:
          '`architecture` and required traits are matched; kernel, ramdisk and what says of what form the image is go to the deploy; others are listed as ignored',
      }),
    ),
  },
  CLOSED,
);

export const RESERVATION_BODY = Type.Object(
  {
    instance_uuid: ID,
    manager: MANAGER_REF,
    memory_mb: size('the least memory of the node, in MiB'),
    vcpus: size('the least processors of the node', CPUS_MAX),
    vcpu_weight: orNull(Type.Number({ description: 'kept, and not matched' })),
    root_gb: size('in GiB; has to fit on the disk of the node, with the ephemeral disk and swap'),
    ephemeral_gb: size('in GiB'),
    swap: size('in MiB'),
    rxtx_factor: orNull(Type.Number({ description: 'kept, and not matched' })),
    extra_specs: orNull(
      Type.Record(Type.String({ maxLength: 255 }), Type.Union([VALUE, Type.Null()]), {
        maxProperties: PROPERTIES_MAX,
        description: 'resources:CUSTOM_…, trait:…, capabilities and capabilities:…; others are listed as ignored',
      }),
    ),
    image: orNull(IMAGE),
    candidate_nodes: orNull(
      Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
        minItems: 1,
        maxItems: CANDIDATES_MAX,
        description: 'only these, by id or name',
      }),
    ),
    project: orNull(PROJECT),
    build: orNull(
      Type.String({ maxLength: 400, description: "the item of the control plane's own build that it is for" }),
    ),
    physical_networks: orNull(
      Type.Array(WORD, { maxItems: PHYSICAL_NETWORKS_MAX, description: 'the node is wired to all of them' }),
    ),
  },
  CLOSED,
);
export type ReservationBody = Static<typeof RESERVATION_BODY>;

export interface ReservationRequest {
  readonly instance: string;
  /** In lower case. */
  readonly manager: string;
  readonly requirements: HardwareRequirements;
  readonly project?: string;
  /** The item of Muster's own build that requests it (see `constrainToBuild`); for its instance no other request is taken. */
  readonly build?: string;
  /** As they were written: ids or names. */
  readonly candidates?: readonly string[];
  /** Keys that take no part in matching. */
  readonly ignored: readonly string[];
}

/** What a body of the right form requests, or what in it is malformed, by field. */
export function parseReservationBody(body: ReservationBody): ReservationRequest | readonly SchemaProblem[] {
  const reading = beginReading();
  readExtraSpecs(body.extra_specs ?? {}, '/extra_specs', reading);
  readImageProperties(body.image?.properties ?? {}, '/image/properties', reading);
  for (const trait of traitConflicts(reading)) {
    reading.problems.push({
      field: `/extra_specs/trait:${trait}`,
      message: 'must not be "forbidden", since the same request requires the trait',
    });
  }
  if (reading.problems.length > 0) return reading.problems;
  const { resourceClass, architecture, requiredTraits, forbiddenTraits, capabilities } = reading;
  const { project, build, candidate_nodes: candidates } = body;
  return {
    instance: body.instance_uuid,
    manager: body.manager.toLowerCase(),
    requirements: {
      memoryMiB: body.memory_mb ?? 0,
      cpus: body.vcpus ?? 0,
      localGiB: diskGiBOf(body),
      requiredTraits: sortedUnique(requiredTraits),
      forbiddenTraits: sortedUnique(forbiddenTraits),
      capabilities,
      physicalNetworks: sortedUnique(body.physical_networks ?? []),
      ...(resourceClass !== undefined && { resourceClass }),
      ...(architecture !== undefined && { architecture }),
    },
    ...(typeof project === 'string' && { project }),
    ...(typeof build === 'string' && { build }),
    ...(candidates !== undefined && candidates !== null && { candidates }),
    ignored: [...listUnmatchedFields(body), ...reading.ignored].sort(),
  };
}

const MIB_PER_GIB = 1024;

/** Both disks and the swap have to fit; swap is in MiB, as flavors have it. */
function diskGiBOf({ root_gb: root, ephemeral_gb: ephemeral, swap }: ReservationBody): number {
  return (root ?? 0) + (ephemeral ?? 0) + Math.ceil((swap ?? 0) / MIB_PER_GIB);
}

function listUnmatchedFields(body: ReservationBody): string[] {
  return (['vcpu_weight', 'rxtx_factor'] as const).filter((key) => body[key] !== undefined && body[key] !== null);
}

/**
 * The request in one form, however its keys are ordered and whether what is missing was written as null: a repeat is known by it. The caller
 * is left out: the manager that continues a build requests the same node.
 */
export function canonicalRequest({ manager: _, build: __, ...body }: ReservationBody): string {
  return JSON.stringify(canonical(body));
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  entries.sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(entries.map(([key, field]) => [key, canonical(field)]));
}
