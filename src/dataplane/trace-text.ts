// The trace of a packet as Open vSwitch tells it, with whose each flow is that the packet meets, and why that flow is there.
import type { Compiled } from './compile.ts';
import { explainFlows, tableName, type ExplainedFlow } from './explain.ts';
import { isOurCookie, type Owner } from './keys.ts';
import type { Why } from './piece.ts';

export interface TracedLine {
  /** As the switch says it. */
  readonly text: string;
  /** Of a line that names a flow of ours: the table by name. */
  readonly tableName?: string;
  /** Undefined where the flow is ours and not wanted any more. */
  readonly owner?: Owner;
  readonly why?: Why;
  readonly sentence?: string;
}

/** ` 0. in_port=11,dl_src=fa:16:3e:00:00:01, priority 100, cookie 0x4d554637762c15af` */
const STEP = /^\s*(\d+)\. (?:(.*), )?priority (\d+), cookie (?:0x)?([0-9a-f]+)$/;
const COOKIE_DIGITS = 16;

export function annotate(text: string, compiled: Compiled): TracedLine[] {
  const flows = explainFlows(compiled);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => ({ text: line, ...told(line, flows) }));
}

function told(line: string, flows: readonly ExplainedFlow[]): Omit<TracedLine, 'text'> {
  const [, table, match = '', priority, digits] = STEP.exec(line) ?? [];
  if (table === undefined || digits === undefined) return {};
  const cookie = digits.padStart(COOKIE_DIGITS, '0');
  if (!isOurCookie(cookie)) return {};
  const here = { tableName: tableName(Number(table)) };
  const alike = flows.filter(
    (flow) => flow.cookie === cookie && flow.table === Number(table) && flow.priority === Number(priority),
  );
  const same = alike.find((flow) => fieldsOf(flow.match) === fieldsOf(match));
  if (same !== undefined) return { ...here, owner: same.owner, why: same.why, sentence: same.sentence };
  const owner = flows.find((flow) => flow.cookie === cookie)?.owner;
  return owner === undefined ? here : { ...here, owner };
}

/** The switch tells ports by number and fields in an order of its own. */
function fieldsOf(match: string): string {
  const fields = match.split(',').filter((field) => !field.startsWith('in_port='));
  return fields.sort().join(',');
}
