// The view of one host, composed of the modules' view parts and the tasks of its open items. A pure function of the fleet and of what is
// relayed between tasks, so that every holder composes the same view; it must never depend on the time of the request, and on the caller only in its words.
import { finish, type AppliedChange, type FleetReader, type Steps } from '../../fleet/index.ts';
import type { ViewPart } from '../../hosts/index.ts';
import {
  ITEM,
  OPEN_ITEMS_BY_HOST,
  taskId,
  taskOf,
  type Item,
  type OperationKind,
  type Task,
  type TaskFacts,
} from '../../operations/index.ts';
import { digestInSteps, digestOf } from '../protocol/digest.ts';
import type { Stamp, View, ViewRequest, ViewWords } from '../protocol/messages.ts';
import { partsToWire } from '../protocol/view-words.ts';

export interface ViewSource {
  readonly parts: readonly ViewPart[];
  readonly kinds: ReadonlyMap<string, OperationKind>;
  /** What an earlier task of an item has answered for a later one, by the item. Not of the fleet: the next holder may not have it. */
  readonly relay?: { factsFor(item: string): TaskFacts | undefined };
}

/** The journal that the fleet is a projection of, the lease epoch under which the view is sent, and the words that its agent knows: today's unless said. */
export interface ViewAuthority extends Omit<Stamp, 'revision'> {
  readonly words?: ViewWords;
}

export function composeView(fleet: FleetReader, source: ViewSource, host: string, authority: ViewAuthority): View {
  return finish(composeViewInSteps(fleet, source, host, authority));
}

/** The same in steps. Nothing that affects the host's view may change between them: the view would be that of no moment. */
export function* composeViewInSteps(
  fleet: FleetReader,
  source: ViewSource,
  host: string,
  { journalId, leaseEpoch, words = 'glossary' }: ViewAuthority,
): Steps<View> {
  const stamp = { journalId, leaseEpoch, revision: fleet.revision };
  const parts = partsToWire(yield* partsInSteps(fleet, source.parts, host), words);
  const tasks = tasksOf(fleet, source, host);
  const content = { host, parts, tasks };
  const digest = isLarge(parts) ? yield* digestInSteps(content) : digestOf(content);
  return { host, stamp, digest, parts, tasks };
}

/** Entries of a list that are rendered or hashed in well below a millisecond. */
const LARGE_LIST_MIN = 256;

/** Whether a part of a view is, or has, a long list: it grows with the fleet, and is processed in pieces. */
export function isLarge(parts: View['parts']): boolean {
  return Object.values(parts).some((part) => hasLongList(part, 4));
}

function hasLongList(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth === 0) return false;
  if (Array.isArray(value) && value.length >= LARGE_LIST_MIN) return true;
  return Object.values(value).some((field) => hasLongList(field, depth - 1));
}

/** The modules' view parts, by name. Where other work is done between the steps, each part is consistent with some moment in between. */
export function* partsInSteps(
  fleet: FleetReader,
  parts: readonly ViewPart[],
  host: string,
): Steps<Record<string, unknown>> {
  const built: Record<string, unknown> = {};
  for (const part of parts) {
    const made = part.buildInSteps === undefined ? part.build(fleet, host) : yield* part.buildInSteps(fleet, host);
    if (made !== undefined) built[part.name] = made;
    yield;
  }
  return built;
}

function tasksOf(fleet: FleetReader, { kinds, relay }: ViewSource, host: string): Task[] {
  return [...fleet.find(OPEN_ITEMS_BY_HOST, host)].flatMap((item) => {
    const task = taskOf(fleet, kinds, item, relay?.factsFor(item.id));
    return task === undefined ? [] : [{ id: taskId(item), kind: task.kind, args: task.args }];
  });
}

/** The hosts whose view may differ after this change. A host that is missed here gets its view at a later poll. */
export function findAffectedHosts(fleet: FleetReader, parts: readonly ViewPart[], change: AppliedChange): Set<string> {
  const hosts = new Set(parts.flatMap((part) => part.affects(change, fleet)));
  if (change.kind !== ITEM.name) return hosts;
  for (const side of [change.before, change.after]) {
    const host = (side?.doc as Item | undefined)?.host;
    if (host !== undefined) hosts.add(host);
  }
  return hosts;
}

/** Whether an agent with this digest should be sent the view: it differs, or another holder sends it now. */
export function isOutdated(request: ViewRequest, view: View): boolean {
  return request.digest !== view.digest || request.leaseEpoch !== view.stamp.leaseEpoch;
}
