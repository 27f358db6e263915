// What was compiled, told to a person: each flow with the table that it is in, whose it is and why it is there. Where next hops
// outside are not known, flows name them by their address.
import { eachInSteps, type Steps } from '../fleet/index.ts';
import { flowKey, type Compiled, type Surroundings } from './compile.ts';
import type { Owner } from './keys.ts';
import type { Gap, Why } from './piece.ts';
import { gapSentence, WHY_SENTENCES } from './reasons.ts';
import type { Flow, Group } from './switch.ts';
import { TABLE } from './tables.ts';
import { groupsIn } from './words.ts';

export interface Reasoned {
  readonly owner: Owner;
  readonly why: Why;
  readonly sentence: string;
}

export interface ExplainedFlow extends Flow, Reasoned {
  readonly tableName: string;
}

export interface ExplainedGroup extends Group {
  /** Whose flows lead to it. */
  readonly owner: Owner;
}

export interface ExplainedGap extends Gap {
  readonly sentence: string;
}

const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(TABLE).map(([name, table]) => [table, name]));

/** Everything that a table may be called. */
export const TABLE_WORDS: readonly string[] = [...NAMES].flatMap(([table, name]) => [name, String(table)]);

export function tableName(table: number): string {
  return NAMES.get(table) ?? String(table);
}

/** For whoever is not on the host: who the next hops outside are, only the host finds out. */
export const NEXT_HOPS_BY_NAME: Surroundings = { nextHop: (ip) => `next-hop(${ip})` };

export function explainFlow(flow: Flow, { owners, reasons }: Compiled): ExplainedFlow | undefined {
  const [owner, why] = [owners.get(flow.cookie), reasons.get(flowKey(flow))];
  if (owner === undefined || why === undefined) return undefined;
  return { ...flow, tableName: tableName(flow.table), owner, why, sentence: WHY_SENTENCES[why] };
}

export function explainFlows(compiled: Compiled): ExplainedFlow[] {
  return compiled.contents.flows.flatMap((flow) => explainFlow(flow, compiled) ?? []);
}

/** The flows that are asked for. */
export function* explainInSteps(compiled: Compiled, filter: FlowFilter): Steps<ExplainedFlow[]> {
  const found: ExplainedFlow[] = [];
  yield* eachInSteps(compiled.contents.flows, (one) => {
    const flow = explainFlow(one, compiled);
    if (flow !== undefined && matchesFilter(flow, filter)) found.push(flow);
  });
  return found;
}

/** Those that these flows lead to. */
export function* explainGroups({ contents }: Compiled, flows: readonly ExplainedFlow[]): Steps<ExplainedGroup[]> {
  const owners = new Map<number, Owner>();
  yield* eachInSteps(flows, ({ actions, owner }) => {
    for (const id of groupsIn(actions)) owners.set(id, owner);
  });
  return contents.groups.flatMap((group) => {
    const owner = owners.get(group.id);
    return owner === undefined ? [] : [{ ...group, owner }];
  });
}

export function explainGaps({ gaps }: Compiled): ExplainedGap[] {
  return gaps.map(explainGap);
}

export function explainGap(gap: Gap): ExplainedGap {
  return { ...gap, sentence: gapSentence(gap) };
}

export interface FlowFilter {
  /** By number or by name. */
  readonly table?: string | undefined;
  /** `port/port-1`, or only `port-1`. */
  readonly owner?: string | undefined;
  /** Somewhere in the flow, its owner or its sentence. */
  readonly text?: string | undefined;
}

export function isOwner({ kind, id }: Owner, asked: string): boolean {
  return id === asked || `${kind}/${id}` === asked;
}

export function matchesFilter(flow: ExplainedFlow, { table, owner, text }: FlowFilter): boolean {
  if (table !== undefined && table !== flow.tableName && table !== String(flow.table)) return false;
  if (owner !== undefined && !isOwner(flow.owner, owner)) return false;
  if (text === undefined) return true;
  const { match, actions, cookie, sentence, why } = flow;
  const told = [match, actions, cookie, why, sentence, `${flow.owner.kind}/${flow.owner.id}`].join('\n').toLowerCase();
  return told.includes(text.toLowerCase());
}
