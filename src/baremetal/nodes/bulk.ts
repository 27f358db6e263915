// Enrols many nodes in one call: all lines are checked first, and then committed in slices. A call that was interrupted is completed by repeating it:
// what is there as its line says is left as it is.
import {
  answer,
  denyForeignNames,
  refusalAnswer,
  type BodyLine,
  type Call,
  type HandlerResult,
  type RouteContext,
} from '../../access/index.ts';
import { idOf, put, type Change, type FleetReader, type Refusal } from '../../fleet/index.ts';
import { accept, isJournalAway, refuse, type Decision } from '../../journal/index.ts';
import { NODE } from '../model.ts';
import { NODE_REPRESENTATION } from '../representations.ts';
import { findWarnings } from './warnings.ts';
import { denyOtherSite, enrolNode, ENROLMENTS, type Enrolment, type Enroller, type NodeSpec } from './enrol.ts';

/** Nodes of one commit: other decisions wait a few milliseconds for it. */
const NODES_PER_COMMIT = 250;
/** Checked between two turns of the event loop. */
const NODES_PER_CHECK = 250;
/** Warnings that are answered. Each node shows its own. */
const WARNINGS_MAX = 100;

type Line = BodyLine<NodeSpec>;

export type EnrolmentCounts = Record<Enrolment, number>;

export interface NodeWarning {
  readonly line: number;
  readonly node: string;
  readonly message: string;
}

export async function enrolNodes(
  call: Call<unknown, unknown, readonly Line[]>,
  world: RouteContext,
): Promise<HandlerResult> {
  const { body: lines, caller } = call;
  const enroller: Enroller = { by: caller.name, nowMs: world.clock.nowMs(), callerSite: caller.site };
  const request: EnrolRequest = { call, enroller };
  const denied = denyOtherSites(lines, caller.site) ?? denyTwice(lines);
  const checked = denied ?? (await checkAll(lines, request, world));
  if ('code' in checked) return refusalAnswer(checked);
  const counts: EnrolmentCounts = { created: 0, revived: 0, changed: 0, unchanged: 0 };
  for (let at = 0; at < lines.length; at += NODES_PER_COMMIT) {
    const interrupted = await commitSlice(lines.slice(at, at + NODES_PER_COMMIT), { request, world, counts });
    if (interrupted !== undefined) return refusalAnswer(noteProgress(interrupted, at, lines.length));
  }
  return answer({ lines: lines.length, ...counts, ...checked });
}

interface EnrolRequest {
  readonly call: Pick<Call, 'caller' | 'authority'>;
  readonly enroller: Enroller;
}

function denyOtherSites(lines: readonly Line[], callerSite: string | undefined): Refusal | undefined {
  for (const { line, value } of lines) {
    const denied = denyOtherSite(value, callerSite);
    if (denied !== undefined) return refuseLine(denied, line);
  }
  return undefined;
}

function denyTwice(lines: readonly Line[]): Refusal | undefined {
  const first = new Map<string, number>();
  for (const { line, value } of lines) {
    const before = first.get(value.name);
    if (before !== undefined) {
      const message = `Node "${value.name}" is in line ${before} and in line ${line}. Nothing was changed. Name each node once.`;
      return {
        kind: 'invalid',
        code: 'duplicate-node',
        message,
        field: `/lines/${line}/name`,
        facts: { line, node: value.name },
      };
    }
    first.set(value.name, line);
  }
  return undefined;
}

/** On the newest fleet; what is decided is decided once more in its commit. */
async function checkAll(
  lines: readonly Line[],
  request: EnrolRequest,
  { journal, clock }: RouteContext,
): Promise<Refusal | { readonly warnings: readonly NodeWarning[] }> {
  const warnings: NodeWarning[] = [];
  for (let at = 0; at < lines.length; at += NODES_PER_CHECK) {
    const slice = lines.slice(at, at + NODES_PER_CHECK);
    const decided = decideSlice(journal.fleet, slice, request);
    if (decided.kind === 'refuse') return decided.refusal;
    if (warnings.length < WARNINGS_MAX) warnings.push(...slice.flatMap(warningsOf));
    await clock.turn();
  }
  return { warnings: warnings.slice(0, WARNINGS_MAX) };
}

function decideSlice(
  fleet: FleetReader,
  lines: readonly Line[],
  { call: { caller }, enroller }: EnrolRequest,
): Decision<EnrolmentCounts> {
  const names = lines.map(({ value }) => value.name);
  const fieldOf = (at: number): string => `/lines/${lines[at]?.line}/name`;
  const foreign = denyForeignNames(fleet, caller, { representation: NODE_REPRESENTATION, names, fieldOf });
  if (foreign !== undefined) return refuse(foreign);
  const counts: EnrolmentCounts = { created: 0, revived: 0, changed: 0, unchanged: 0 };
  const changes: Change[] = [];
  for (const { line, value } of lines) {
    const enrolled = enrolNode(fleet, value, enroller);
    if ('code' in enrolled) return refuse(refuseLine(enrolled, line));
    counts[enrolled.outcome] += 1;
    if (enrolled.outcome !== 'unchanged') changes.push(put(NODE, idOf(NODE, value.name), enrolled.node));
  }
  return accept(changes, counts);
}

function refuseLine({ message, field = '', facts, ...refusal }: Refusal, line: number): Refusal {
  return {
    ...refusal,
    message: `Line ${line}: ${message}`,
    field: `/lines/${line}${field}`,
    facts: { ...facts, line },
  };
}

interface SliceContext {
  readonly request: EnrolRequest;
  readonly world: RouteContext;
  readonly counts: EnrolmentCounts;
}

/** Undefined when it is committed. */
async function commitSlice(
  lines: readonly Line[],
  { request, world, counts }: SliceContext,
): Promise<Refusal | undefined> {
  if (world.closing.aborted) return refuseInterrupted();
  try {
    const outcome = await world.submit(request.call.authority, {
      why: `enrol nodes, lines ${lines[0]?.line} to ${lines.at(-1)?.line}`,
      decide: (fleet) => decideSlice(fleet, lines, request),
    });
    if (outcome.kind === 'refused') return outcome.refusal;
    for (const one of ENROLMENTS) counts[one] += outcome.answer[one];
    return undefined;
  } catch (error) {
    if (isJournalAway(error)) return refuseInterrupted();
    throw error;
  }
}

function refuseInterrupted(): Refusal {
  const message = 'This server cannot continue the call. Repeat it: what is done is left as it is.';
  return { kind: 'unavailable', code: 'call-interrupted', message };
}

/** What the caller has to know of a call that ended in the middle. */
function noteProgress({ message, facts, ...refusal }: Refusal, done: number, lines: number): Refusal {
  const progress = `Of ${lines} lines the first ${done} are committed.`;
  return { ...refusal, message: `${message} ${progress}`, facts: { ...facts, lines, committed: done } };
}

function warningsOf({ line, value }: Line): NodeWarning[] {
  return findWarnings(value).map((message) => ({ line, node: value.name, message }));
}
