// Reads what ovs-ofctl prints of a bridge: a second pair of eyes on what the product says that it wrote.
import { normalizeActions, normalizeMatch } from './normalize.ts';

export interface DumpedFlow {
  readonly table: number;
  readonly priority: number;
  /** 16 lower-case hexadecimal digits. */
  readonly cookie: string;
  readonly match: string;
  readonly actions: string;
}

export interface DumpedGroup {
  readonly id: number;
  readonly type: string;
  readonly buckets: readonly string[];
}

const DEFAULT_PRIORITY = 32_768;
/** ovs-ofctl heads its answer with a line about the answer. */
const HEADING = /^(OFPST|NXST|OFPT)/;

export function flowsIn(dump: string): readonly DumpedFlow[] {
  return linesOf(dump).map(flowIn);
}

export function groupsIn(dump: string): readonly DumpedGroup[] {
  return linesOf(dump).map(groupIn);
}

function linesOf(dump: string): string[] {
  return dump
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !HEADING.test(line));
}

function flowIn(line: string): DumpedFlow {
  const at = line.indexOf('actions=');
  if (at === -1) throw new SyntaxError(`not a flow: ${line}`);
  // Facts about the flow are followed by a comma and a space; the priority and the match have no space in them.
  const facts = line.slice(0, at).trim().split(/,\s+/);
  const match = facts.at(-1)?.split(' ').at(-1) ?? '';
  const named = new Map(facts.map((fact) => splitOnce(fact, '=')));
  const isFact = /^(cookie|duration|table|n_packets|n_bytes|idle_age|hard_age)=/.test(match);
  const fields = isFact ? [] : match.split(',').filter((field) => field !== '');
  const priority = fields.find((field) => field.startsWith('priority='))?.slice('priority='.length);
  return {
    table: Number(named.get('table') ?? 0),
    priority: Number(priority ?? DEFAULT_PRIORITY),
    cookie: (named.get('cookie') ?? '0x0').slice('0x'.length).padStart(16, '0'),
    match: normalizeMatch(fields.filter((field) => !field.startsWith('priority=')).join(',')),
    actions: normalizeActions(line.slice(at + 'actions='.length)),
  };
}

function groupIn(line: string): DumpedGroup {
  const [head = '', ...buckets] = line.split(',bucket=');
  const named = new Map(head.split(',').map((fact) => splitOnce(fact, '=')));
  return {
    id: Number(named.get('group_id')),
    type: (named.get('type') ?? '').replace('_', '-').replace(/^ff$/, 'fast-failover'),
    buckets: buckets.map(normalizeBucket),
  };
}

/** What it watches, then what it does; its number is the switch's own. */
export function normalizeBucket(text: string): string {
  const plain = text.replaceAll(/["\s]/g, '').replace(/^bucket_id:\d+,/, '');
  const at = plain.indexOf('actions=');
  if (at === -1) return normalizeActions(plain);
  return `${plain.slice(0, at)}${normalizeActions(plain.slice(at + 'actions='.length))}`;
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)];
}
