// What Ironic says of a node, in the terms of this control plane. Its answers come from outside: a field that is not as it should be counts as absent.
import { NODE_TRAITS_MAX, type PowerState } from '../../model.ts';
import type { InventoryNode, UnsaidField } from '../inventory.ts';

/** As it is answered; every field may be missing or null. */
export interface IronicNode {
  readonly uuid: string;
  readonly name: string | undefined;
  readonly provisionState: string;
  /** It carries out a request. */
  readonly isPowerChanging: boolean;
  readonly power: PowerState;
  readonly isInMaintenance: boolean;
  readonly instanceUuid: string | undefined;
  readonly lastError: string | undefined;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly extra: Readonly<Record<string, unknown>>;
  readonly resourceClass: string | undefined;
  readonly traits: readonly string[];
  readonly owner: string | undefined;
  readonly lessee: string | undefined;
  /** As it writes times: those of one server compare as text. */
  readonly updatedAt: string | undefined;
}

export function readIronicNode(answer: unknown): IronicNode | undefined {
  const fields = toRecord(answer);
  const uuid = toText(fields['uuid']);
  if (uuid === undefined) return undefined;
  const traits = Array.isArray(fields['traits']) ? fields['traits'] : [];
  return {
    uuid,
    name: toText(fields['name']),
    provisionState: toText(fields['provision_state']) ?? 'unknown',
    isPowerChanging: toText(fields['target_power_state']) !== undefined,
    power: toPower(fields['power_state']),
    isInMaintenance: fields['maintenance'] === true,
    instanceUuid: toText(fields['instance_uuid']),
    lastError: toText(fields['last_error']),
    properties: toRecord(fields['properties']),
    extra: toRecord(fields['extra']),
    resourceClass: toText(fields['resource_class']),
    traits: traits.filter((trait): trait is string => typeof trait === 'string').slice(0, NODE_TRAITS_MAX),
    owner: toText(fields['owner']),
    lessee: toText(fields['lessee']),
    updatedAt: toText(fields['updated_at']),
  };
}

interface ShownNode {
  /** Whose it is, where that is known by another name than Ironic's. */
  readonly instance?: string | undefined;
  readonly unsaid?: readonly UnsaidField[];
}

export function toInventoryNode(
  node: IronicNode,
  { instance = node.instanceUuid, unsaid = [] }: ShownNode = {},
): InventoryNode {
  const { properties, isInMaintenance } = node;
  return {
    id: node.uuid,
    traits: [...node.traits],
    memoryMiB: toCount(properties['memory_mb']),
    cpus: toCount(properties['cpus']),
    localGiB: toCount(properties['local_gb']),
    isAvailable: isClaimable(node),
    power: node.power,
    isInMaintenance,
    ...(unsaid.length > 0 && { unsaid }),
    ...definedOnly({
      name: node.name,
      resourceClass: node.resourceClass,
      cpuArch: toText(properties['cpu_arch']),
      capabilities: toText(properties['capabilities']),
      owner: node.owner,
      lessee: node.lessee,
      instance,
      claim: node.instanceUuid,
    }),
  };
}

/** Whether its own endpoint would allocate it, as far as the node's state says. */
export function isClaimable({ provisionState, isInMaintenance, instanceUuid }: IronicNode): boolean {
  return provisionState === 'available' && !isInMaintenance && instanceUuid === undefined;
}

function toPower(value: unknown): PowerState {
  return value === 'power on' ? 'on' : value === 'power off' ? 'off' : 'unknown';
}

/** Inventories keep numbers as text as well. */
function toCount(value: unknown): number {
  const count = typeof value === 'string' && /^\d{1,12}$/.test(value) ? Number(value) : value;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : 0;
}

function toText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function toRecord(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}

function definedOnly(
  fields: Readonly<Record<string, string | undefined>>,
): Partial<
  Pick<InventoryNode, 'name' | 'resourceClass' | 'cpuArch' | 'capabilities' | 'owner' | 'lessee' | 'instance' | 'claim'>
> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
