// A short hash of the plan that a preview showed, to which a start can be bound. It covers which hosts leave, what lives on them, what is
// blocked, and the targets of designations. Loads and the targets of instances are not covered: they change all the time and no operator decides
// by them. Each of the four has digits of its own, so that a start that finds another plan can say what differs.
import type { Refusal } from '../../fleet/index.ts';
import type { PlannedEvacuation } from '../evacuator.ts';

/** A hash as hexadecimal text. */
export type Hash = (text: string) => string;

export interface PlanContent {
  readonly hosts: readonly string[];
  readonly all: readonly PlannedEvacuation[];
  /** The evacuators among them whose targets are promised. */
  readonly promised: readonly PlannedEvacuation[];
}

const PARTS = ['hosts', 'tenants', 'blocked', 'designations'] as const;
type PlanPart = (typeof PARTS)[number];

/** 64 bits for each part: forging a collision gains nothing, so only accidental ones have to be unlikely. */
const PART_DIGITS = 16;
const FORM = /^[0-9a-f]{64}$/;

export function planHashOf(content: PlanContent, hash: Hash): string {
  const texts = planTexts(content);
  return PARTS.map((part) => hash(texts[part]).slice(0, PART_DIGITS)).join('');
}

/** The same text for the same plan, in whatever order the input came. */
function planTexts({ hosts, all, promised }: PlanContent): Readonly<Record<PlanPart, string>> {
  return {
    hosts: lines(hosts.map((host) => [host])),
    tenants: lines(all.map(({ host, tenant }) => [host, tenant.kind, tenant.id])),
    blocked: lines(
      all.flatMap(({ host, tenant, evacuation }) =>
        evacuation.kind === 'wait' ? [[host, tenant.kind, tenant.id, evacuation.reason.code]] : [],
      ),
    ),
    designations: lines(
      promised.map(({ host, tenant, evacuation }) => [host, tenant.kind, tenant.id, evacuationText(evacuation)]),
    ),
  };
}

function evacuationText(evacuation: PlannedEvacuation['evacuation']): string {
  return 'to' in evacuation ? `to ${evacuation.to}` : evacuation.kind;
}

function lines(rows: readonly (readonly string[])[]): string {
  return rows
    .map((row) => JSON.stringify(row))
    .sort()
    .join('\n');
}

const WORDS: Readonly<Record<PlanPart, string>> = {
  hosts: 'which hosts leave',
  tenants: 'what lives on them',
  blocked: 'what has no place to go',
  designations: 'where services go',
};

/** Undefined for text that no preview can have shown. */
export function malformedPlan(seen: string): Refusal | undefined {
  if (FORM.test(seen)) return undefined;
  const message =
    'A plan is named by the 64 hexadecimal digits that "muster scale-in preview" shows as its plan. Copy all of them.';
  return { kind: 'invalid', code: 'not-a-plan', message, field: '/plan' };
}

/** Undefined when the plan is the one that was previewed. */
export function denyChangedPlan(seen: string, now: string): Refusal | undefined {
  const malformed = malformedPlan(seen);
  if (malformed !== undefined) return malformed;
  if (seen === now) return undefined;
  const differs = PARTS.filter((_, at) => digits(seen, at) !== digits(now, at));
  const message =
    `The plan is another one now: ${differs.map((part) => WORDS[part]).join(', ')}. Nothing was changed. ` +
    'Run the preview again, and start with the plan that it shows.';
  return { kind: 'conflict', code: 'plan-changed', message, field: '/plan', facts: { differs, plan: now } };
}

function digits(plan: string, part: number): string {
  return plan.slice(part * PART_DIGITS, (part + 1) * PART_DIGITS);
}
