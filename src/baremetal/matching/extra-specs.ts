// The extra specs of a flavor and the properties of an image, read for what they require of a node. Nothing is dropped in silence: what is malformed
// is refused by field, and what takes no part in matching is listed.
import { deployPropertyProblem, isDeployProperty } from '../image.ts';
import type { SchemaProblem } from '../../fleet/index.ts';
import { customTraitOf } from './capabilities.ts';
import { parseCapabilityCheck } from './capability-check.ts';
import type { CapabilityRequirement } from './requirements.ts';

export type ExtraSpecs = Readonly<Record<string, string | null>>;
export type ImageProperties = Readonly<Record<string, string | number | boolean | null>>;

/** What was found so far. */
export interface SpecReading {
  resourceClass: string | undefined;
  architecture: string | undefined;
  readonly requiredTraits: Set<string>;
  readonly forbiddenTraits: Set<string>;
  readonly capabilities: CapabilityRequirement[];
  readonly ignored: string[];
  readonly problems: SchemaProblem[];
}

export function beginReading(): SpecReading {
  return {
    resourceClass: undefined,
    architecture: undefined,
    requiredTraits: new Set(),
    forbiddenTraits: new Set(),
    capabilities: [],
    ignored: [],
    problems: [],
  };
}

export function readExtraSpecs(specs: ExtraSpecs, at: string, reading: SpecReading): void {
  for (const [key, value] of Object.entries(specs)) {
    if (value === null) continue;
    const problem = readSpec(key, value, reading);
    if (problem !== undefined) reading.problems.push({ field: `${at}/${escapePointer(key)}`, message: problem });
  }
}

/** Answers what is wrong with it. */
function readSpec(key: string, value: string, reading: SpecReading): string | undefined {
  if (key === 'capabilities') return readCapabilityList(value, reading);
  const [namespace, name] = splitKey(key);
  switch (namespace) {
    case 'capabilities':
      return readCapability(name, value, reading);
    case 'resources':
      return readResource(key, name, value, reading);
    case 'trait':
      return readTrait(name, value, reading);
    default:
      reading.ignored.push(key);
      return undefined;
  }
}

function splitKey(key: string): readonly [namespace: string, name: string] {
  const colon = key.indexOf(':');
  return colon === -1 ? ['', key] : [key.slice(0, colon), key.slice(colon + 1)];
}

/** `supports_uefi,boot_mode:uefi`: all of them. */
function readCapabilityList(list: string, { capabilities }: SpecReading): string | undefined {
  if (list.trim() === '') return undefined;
  for (const written of list.split(',')) {
    const item = written.trim();
    const [key, value] = item.includes(':') ? splitKey(item) : [item, undefined];
    if (key.trim() === '' || value?.trim() === '') {
      return `must be names, or names with values such as boot_mode:uefi, between commas; "${item}" is neither`;
    }
    capabilities.push({ key: key.trim(), test: value === undefined ? isTrue(key.trim()) : isEqual(value.trim()) });
  }
  return undefined;
}

function isTrue(key: string): CapabilityRequirement['test'] {
  return { kind: 'true', standIn: customTraitOf(key) };
}

function isEqual(value: string): CapabilityRequirement['test'] {
  return { kind: 'equal', value };
}

function readCapability(name: string, value: string, { capabilities }: SpecReading): string | undefined {
  if (name.trim() === '') return 'must name the capability after "capabilities:"';
  const test = parseCapabilityCheck(value);
  if (test.kind === 'malformed') return test.message;
  capabilities.push({ key: name.trim(), test });
  return undefined;
}

const RESOURCE_NAME = /^[A-Z][A-Z0-9_]*$/;

/** Of the standard resources, flavors of bare metal say that they need none: they take no part. */
function readResource(key: string, name: string, value: string, reading: SpecReading): string | undefined {
  if (!RESOURCE_NAME.test(name)) return 'must name a resource class such as resources:CUSTOM_BAREMETAL_GOLD';
  if (!name.startsWith('CUSTOM_')) {
    reading.ignored.push(key);
    return undefined;
  }
  if (value.trim() !== '1') return 'must be "1": an instance takes one node';
  if (reading.resourceClass !== undefined) {
    return `must not be there beside resources:${reading.resourceClass}: an instance takes one node, of one class`;
  }
  reading.resourceClass = name;
  return undefined;
}

const TRAIT_NAME = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$/;
const TRAIT_NAME_PROBLEM = 'must name a trait after "trait:"';

function readTrait(name: string, value: string, reading: SpecReading): string | undefined {
  if (!TRAIT_NAME.test(name)) return TRAIT_NAME_PROBLEM;
  switch (value.trim()) {
    case 'required':
      reading.requiredTraits.add(name);
      return undefined;
    case 'forbidden':
      reading.forbiddenTraits.add(name);
      return undefined;
    default:
      return 'must be "required" or "forbidden"';
  }
}

/** An image has an architecture and traits that it needs. All else of it is for the deploy. */
export function readImageProperties(properties: ImageProperties, at: string, reading: SpecReading): void {
  for (const [key, value] of Object.entries(properties)) {
    if (value === null) continue;
    const problem = readImageProperty(key, value, reading);
    if (problem !== undefined) reading.problems.push({ field: `${at}/${escapePointer(key)}`, message: problem });
  }
}

function readImageProperty(key: string, value: unknown, reading: SpecReading): string | undefined {
  if (key === 'architecture') {
    if (typeof value !== 'string' || value.trim() === '') return 'must name an architecture, such as "x86_64"';
    reading.architecture = value.trim().toLowerCase();
    return undefined;
  }
  if (!key.startsWith('trait:')) {
    if (!isDeployProperty(key)) reading.ignored.push(key);
    return deployPropertyProblem(key, value);
  }
  const name = key.slice('trait:'.length);
  if (!TRAIT_NAME.test(name)) return TRAIT_NAME_PROBLEM;
  if (typeof value !== 'string' || value.trim() !== 'required') return 'must be "required": an image forbids nothing';
  reading.requiredTraits.add(name);
  return undefined;
}

/** Both forms of requiring a trait, by the trait. */
export function traitConflicts({ requiredTraits, forbiddenTraits }: SpecReading): string[] {
  return [...forbiddenTraits].filter((trait) => requiredTraits.has(trait));
}

function escapePointer(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
