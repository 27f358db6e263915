// Describes compiled contents for a person: each flow with its table, its owner and its reason. Where the hardware addresses of external
// next hops are unknown, flows name them by IP address. It must never read a switch.
import { eachInSteps, type Steps } from '../../fleet/index.ts';
import type { CompileResult, LocalEnvironment } from '../compile/compile.ts';
import type { Owner } from '../switch/derived-ids.ts';
import type { Gap, FlowReason } from '../compile/flow-fragment.ts';
import { gapSentence, FLOW_REASON_SENTENCES } from './flow-reasons.ts';
import { flowKey, type Flow, type FlowGroup } from '../switch/switch.ts';
import { TABLE } from '../switch/tables.ts';
import { groupsIn } from '../switch/flow-syntax.ts';

export interface Explanation {
  readonly owner: Owner;
  readonly reason: FlowReason;
  readonly sentence: string;
}

export interface ExplainedFlow extends Flow, Explanation {
  readonly tableName: string;
}

export interface ExplainedGroup extends FlowGroup {
  /** The owners of the flows that use it. */
  readonly owner: Owner;
}

export interface ExplainedGap extends Gap {
  readonly sentence: string;
}

const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(TABLE).map(([name, table]) => [table, name]));

/** All names of a table. */
export const TABLE_FILTER_VALUES: readonly string[] = [...NAMES].flatMap(([table, name]) => [name, String(table)]);

export function tableName(table: number): string {
  return NAMES.get(table) ?? String(table);
}

/** For compiling away from the host: only the host can resolve external next hops. */
export const NEXT_HOPS_BY_NAME: LocalEnvironment = { nextHop: (ip) => `next-hop(${ip})` };

export function explainFlow(flow: Flow, { owners, reasons }: CompileResult): ExplainedFlow | undefined {
  const [owner, reason] = [owners.get(flow.cookie), reasons.get(flowKey(flow))];
  if (owner === undefined || reason === undefined) return undefined;
  return { ...flow, tableName: tableName(flow.table), owner, reason, sentence: FLOW_REASON_SENTENCES[reason] };
}

export function explainFlows(compiled: CompileResult): ExplainedFlow[] {
  return compiled.contents.flows.flatMap((flow) => explainFlow(flow, compiled) ?? []);
}

/** The flows that the filter selects. */
export function* explainInSteps(compiled: CompileResult, filter: FlowFilter): Steps<ExplainedFlow[]> {
  const found: ExplainedFlow[] = [];
  yield* eachInSteps(compiled.contents.flows, (one) => {
    const flow = explainFlow(one, compiled);
    if (flow !== undefined && matchesFilter(flow, filter)) found.push(flow);
  });
  return found;
}

/** The groups that these flows use. */
export function* explainGroups({ contents }: CompileResult, flows: readonly ExplainedFlow[]): Steps<ExplainedGroup[]> {
  const owners = new Map<number, Owner>();
  yield* eachInSteps(flows, ({ actions, owner }) => {
    for (const id of groupsIn(actions)) owners.set(id, owner);
  });
  return contents.groups.flatMap((group) => {
    const owner = owners.get(group.id);
    return owner === undefined ? [] : [{ ...group, owner }];
  });
}

export function explainGaps({ gaps }: CompileResult): ExplainedGap[] {
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
  /** A substring of the flow, its owner or its sentence. */
  readonly text?: string | undefined;
}

export function isOwnedBy({ kind, id }: Owner, owner: string): boolean {
  return id === owner || `${kind}/${id}` === owner;
}

export function matchesFilter(flow: ExplainedFlow, { table, owner, text }: FlowFilter): boolean {
  if (table !== undefined && table !== flow.tableName && table !== String(flow.table)) return false;
  if (owner !== undefined && !isOwnedBy(flow.owner, owner)) return false;
  if (text === undefined) return true;
  const { match, actions, cookie, sentence, reason } = flow;
  const texts = [match, actions, cookie, reason, sentence, `${flow.owner.kind}/${flow.owner.id}`]
    .join('\n')
    .toLowerCase();
  return texts.includes(text.toLowerCase());
}
