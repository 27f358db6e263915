// Compares what should be on a switch with what ovs-ofctl finds there: what is missing, and what is unexpected.
import type { Flow, FlowGroup } from '../../src/dataplane/index.ts';
import { normalizeBucket, type DumpedFlow, type DumpedGroup } from './dump.ts';
import { normalizeActions, normalizeMatch } from './normalize.ts';

export interface Contents {
  readonly flows: readonly DumpedFlow[];
  readonly groups: readonly DumpedGroup[];
}

export interface Differences {
  /** Should be there and are not. */
  readonly missing: readonly string[];
  /** Are there and should not be. */
  readonly unexpected: readonly string[];
}

/** What the compiler says, in the form that dumps are brought into. */
export function toExpectedContents(contents: {
  readonly flows: readonly Flow[];
  readonly groups: readonly FlowGroup[];
}): Contents {
  return {
    flows: contents.flows.map(({ table, priority, cookie, match, actions }) => ({
      table,
      priority,
      cookie,
      match: normalizeMatch(match),
      actions: normalizeActions(actions),
    })),
    groups: contents.groups.map(({ id, type, buckets }) => ({ id, type, buckets: buckets.map(normalizeBucket) })),
  };
}

export function findDifferences(should: Contents, dumped: Contents): Differences {
  const [expected, found] = [linesOf(should), linesOf(dumped)];
  return {
    missing: [...expected].filter((line) => !found.has(line)).sort(),
    unexpected: [...found].filter((line) => !expected.has(line)).sort(),
  };
}

function linesOf({ flows, groups }: Contents): ReadonlySet<string> {
  return new Set([...flows.map(flowLine), ...groups.map(groupLine)]);
}

function flowLine({ table, priority, cookie, match, actions }: DumpedFlow): string {
  return `table=${table} priority=${priority} cookie=${cookie} ${match} actions=${actions}`;
}

function groupLine({ id, type, buckets }: DumpedGroup): string {
  return `group=${id} type=${type} ${buckets.map((bucket) => `bucket=${bucket}`).join(' ')}`;
}
