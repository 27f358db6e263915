// Compares the contents of a switch with the desired ones for a person: what is missing, different, surplus or blocked. It uses the same
// diff as the agent, and changes nothing.
import type { CompileResult } from '../compile/compile.ts';
import { diff } from '../switch/diff.ts';
import { explainFlow, explainGaps, tableName, type ExplainedGap, type Explanation } from './explain.ts';
import type { Owner } from '../switch/derived-ids.ts';
import { flowKey, type Flow, type FlowGroup, type SwitchChange, type SwitchContents } from '../switch/switch.ts';

export type FindingKind = 'missing' | 'different' | 'unexpected' | 'conflict' | 'port-missing' | 'stray';

export interface Finding extends Partial<Omit<Explanation, 'owner'>> {
  readonly kind: FindingKind;
  readonly what: 'flow' | 'group' | 'tunnel' | 'external-id' | 'port';
  /** The desired state; for surplus entries, the actual one. */
  readonly text: string;
  /** The actual state, where it differs. */
  readonly found?: string;
  /** The table of a flow. */
  readonly tableName?: string;
  readonly owner?: Owner;
}

export interface FlowComparison {
  readonly equal: boolean;
  readonly flows: number;
  readonly findings: readonly Finding[];
  /** What is desired but cannot be compiled: not a difference, as it is not expected on the switch. */
  readonly gaps: readonly ExplainedGap[];
}

/**
 * `strays`: interfaces that belong to no known port. `compiled` names next hops by their IP address: where the switch already has a
 * hardware address for one, that address is accepted.
 */
export function compareContents(
  compiled: CompileResult,
  read: SwitchContents,
  strays: readonly string[] = [],
): FlowComparison {
  const readFlows = new Map(read.flows.map((flow) => [flowKey(flow), flow]));
  const flows = compiled.contents.flows.map((flow) => fillNextHop(flow, readFlows.get(flowKey(flow))));
  const contents = { ...compiled.contents, flows };
  const { changes, conflicts, missingPorts } = diff(contents, read);
  const findings = [
    ...changeFindings(changes, { compiled, read, readFlows }),
    ...conflicts.map((theirs) => conflictFinding(flows.find(flowMatcher(theirs)) ?? theirs, theirs, compiled)),
    ...missingPorts.map((port): Finding => ({ kind: 'port-missing', what: 'port', text: port.slice(1, -1) })),
    ...strays.map((name): Finding => ({ kind: 'stray', what: 'port', text: name })),
  ];
  return { equal: findings.length === 0, flows: flows.length, findings, gaps: explainGaps(compiled) };
}

const NAMED_HOP = /set_field:next-hop\([^)]*\)->eth_dst/;
const KNOWN_HOP = /set_field:(?:[0-9a-f]{2}:){5}[0-9a-f]{2}->eth_dst/;

function fillNextHop(flow: Flow, there: Flow | undefined): Flow {
  const hop = there === undefined ? undefined : KNOWN_HOP.exec(there.actions)?.[0];
  if (hop === undefined || !NAMED_HOP.test(flow.actions)) return flow;
  const actions = flow.actions.replace(NAMED_HOP, hop);
  return actions === there?.actions ? { ...flow, actions } : flow;
}

interface ComparisonInput {
  readonly compiled: CompileResult;
  readonly read: SwitchContents;
  /** The flows on the switch, by key. */
  readonly readFlows: ReadonlyMap<string, Flow>;
}

/** What the diff changes more than once is reported once, with its final state. */
function changeFindings(changes: readonly SwitchChange[], sides: ComparisonInput): Finding[] {
  const findings = new Map<string, Finding>();
  for (const change of changes) findings.set(...findingOf(change, sides));
  return [...findings.values()];
}

function findingOf(change: SwitchChange, { compiled, read, readFlows }: ComparisonInput): [key: string, Finding] {
  switch (change.kind) {
    case 'put-flow':
    case 'remove-flow': {
      const key = flowKey(change.flow);
      return [key, flowFinding(change, compiled, readFlows.get(key))];
    }
    case 'put-group': {
      const { group } = change;
      const found = read.groups.find(({ id }) => id === group.id);
      const kept = compiled.contents.groups.some(({ id }) => id === group.id);
      return [
        `group ${group.id}`,
        kept
          ? findMissingOrDifferent('group', groupText(group), found && groupText(found))
          : describeUnexpectedGroup(group),
      ];
    }
    case 'remove-group': {
      const found = read.groups.find(({ id }) => id === change.id);
      return [`group ${change.id}`, describeUnexpectedGroup(found ?? { id: change.id, type: 'all', buckets: [] })];
    }
    case 'put-tunnel': {
      const { peer, address } = change.tunnel;
      const found = read.tunnels.find((tunnel) => tunnel.peer === peer);
      return [
        `tunnel ${peer}`,
        findMissingOrDifferent('tunnel', `${peer} at ${address}`, found && `${peer} at ${found.address}`),
      ];
    }
    case 'remove-tunnel': {
      const found = read.tunnels.find(({ peer }) => peer === change.peer);
      const text = `${change.peer} at ${found?.address ?? 'nowhere'}`;
      return [`tunnel ${change.peer}`, { kind: 'unexpected', what: 'tunnel', text }];
    }
    case 'set-external-id': {
      const { key, value } = change;
      const found = read.externalIds[key];
      const is = found === undefined ? undefined : `${key}=${found}`;
      if (value === null) return [key, { kind: 'unexpected', what: 'external-id', text: is ?? key }];
      return [key, findMissingOrDifferent('external-id', `${key}=${value}`, is)];
    }
  }
}

function flowMatcher(flow: Flow): (other: Flow) => boolean {
  const key = flowKey(flow);
  return (other) => flowKey(other) === key;
}

function conflictFinding(ours: Flow, theirs: Flow, compiled: CompileResult): Finding {
  return { kind: 'conflict', what: 'flow', ...flowFacts(ours, compiled), found: flowText(theirs) };
}

type FlowChange = Extract<SwitchChange, { readonly kind: 'put-flow' | 'remove-flow' }>;

function flowFinding(change: FlowChange, compiled: CompileResult, found: Flow | undefined): Finding {
  if (change.kind === 'remove-flow') {
    const flow = found ?? { ...change.flow, actions: '', cookie: '' };
    return { kind: 'unexpected', what: 'flow', ...flowFacts(flow, compiled) };
  }
  return {
    ...flowFacts(change.flow, compiled),
    ...findMissingOrDifferent('flow', flowText(change.flow), found && flowText(found)),
  };
}

/** The cookie of a surplus entry may still name its owner. */
function flowFacts(flow: Flow, compiled: CompileResult): Omit<Finding, 'kind' | 'what'> {
  const explained = explainFlow(flow, compiled);
  const owner = explained?.owner ?? compiled.owners.get(flow.cookie);
  return {
    text: flowText(flow),
    tableName: tableName(flow.table),
    ...(owner !== undefined && { owner }),
    ...(explained !== undefined && { reason: explained.reason, sentence: explained.sentence }),
  };
}

function findMissingOrDifferent(what: Finding['what'], text: string, found: string | undefined): Finding {
  return found === undefined ? { kind: 'missing', what, text } : { kind: 'different', what, text, found };
}

function describeUnexpectedGroup(group: FlowGroup): Finding {
  return { kind: 'unexpected', what: 'group', text: groupText(group) };
}

function flowText(flow: Flow): string {
  return `cookie=0x${flow.cookie},${flowKey(flow)} actions=${flow.actions}`;
}

function groupText({ id, type, buckets }: FlowGroup): string {
  return `group=${id},type=${type}${buckets.map((bucket) => `,bucket=${bucket}`).join('')}`;
}
