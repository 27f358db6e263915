// The trace of a packet as Open vSwitch prints it, with the owner and the reason of each flow that the packet matches. Changes nothing.
import type { CompileResult } from '../compile/compile.ts';
import { explainFlows, tableName, type ExplainedFlow } from './explain.ts';
import { isOurCookie, type Owner } from '../switch/derived-ids.ts';
import type { FlowReason } from '../compile/flow-fragment.ts';

export interface TraceLine {
  /** As Open vSwitch prints it. */
  readonly text: string;
  /** For a line that names one of our flows: the name of its table. */
  readonly tableName?: string;
  /** Undefined where the flow is ours and not desired any more. */
  readonly owner?: Owner;
  readonly reason?: FlowReason;
  readonly sentence?: string;
}

/** ` 0. in_port=11,dl_src=fa:16:3e:00:00:01, priority 100, cookie 0x4d554637762c15af` */
const STEP = /^\s*(\d+)\. (?:(.*), )?priority (\d+), cookie (?:0x)?([0-9a-f]+)$/;
const COOKIE_DIGITS = 16;

export function annotateTrace(text: string, compiled: CompileResult): TraceLine[] {
  const flows = explainFlows(compiled);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => ({ text: line, ...explainLine(line, flows) }));
}

function explainLine(line: string, flows: readonly ExplainedFlow[]): Omit<TraceLine, 'text'> {
  const [, table, match = '', priority, digits] = STEP.exec(line) ?? [];
  if (table === undefined || digits === undefined) return {};
  const cookie = digits.padStart(COOKIE_DIGITS, '0');
  if (!isOurCookie(cookie)) return {};
  const here = { tableName: tableName(Number(table)) };
  const alike = flows.filter(
    (flow) => flow.cookie === cookie && flow.table === Number(table) && flow.priority === Number(priority),
  );
  const same = alike.find((flow) => normaliseFields(flow.match) === normaliseFields(match));
  if (same !== undefined) return { ...here, owner: same.owner, reason: same.reason, sentence: same.sentence };
  const owner = flows.find((flow) => flow.cookie === cookie)?.owner;
  return owner === undefined ? here : { ...here, owner };
}

/** Open vSwitch prints ports by number and fields in its own order. */
function normaliseFields(match: string): string {
  const fields = match.split(',').filter((field) => !field.startsWith('in_port='));
  return fields.sort().join(',');
}
