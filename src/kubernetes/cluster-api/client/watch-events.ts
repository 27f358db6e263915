// What a line of a watch means: whose object has changed. Nothing else of it is kept, except what distinguishes Nodes whose kubelets only said that they are there from
// those that have become something else.
import type { WatchedChange, WatchedKind } from '../cluster-api.ts';
import { malformedAnswer, readAnswer, readList, readMap, readName, readNameIfAny, readUid } from './answers.ts';
import { EXCLUDE_LABEL } from './objects.ts';

/** A part of an object of the API, as JSON has it. */
interface WatchedObject {
  readonly metadata?: {
    readonly name?: unknown;
    readonly namespace?: unknown;
    readonly uid?: unknown;
    readonly labels?: unknown;
  };
  readonly spec?: { readonly nodeName?: unknown; readonly unschedulable?: unknown };
  readonly status?: { readonly conditions?: readonly { readonly type?: unknown; readonly status?: unknown }[] };
}

export type ClusterWatchEvent =
  | { readonly kind: 'change'; readonly change: WatchedChange; readonly state?: string }
  /** Nothing has changed. */
  | { readonly kind: 'bookmark' }
  /** The API does not continue: what it began from is too old, mostly. */
  | { readonly kind: 'end' };

export function readWatchEvent(what: WatchedKind, line: string): ClusterWatchEvent {
  const { type, object } = parseEvent(line);
  switch (type) {
    case 'BOOKMARK':
      return { kind: 'bookmark' };
    case 'ERROR':
      return { kind: 'end' };
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return readAnswer(() => (what === 'nodes' ? describeNodeChange(type, object) : describePodChange(object)));
    default:
      throw malformedAnswer();
  }
}

function parseEvent(line: string): { readonly type?: unknown; readonly object: WatchedObject } {
  try {
    const event = JSON.parse(line) as { readonly type?: unknown; readonly object?: WatchedObject | null } | null;
    return { type: event?.type, object: event?.object ?? {} };
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) throw malformedAnswer();
    throw error;
  }
}

function describeNodeChange(type: string, { metadata, spec, status }: WatchedObject): ClusterWatchEvent {
  const node = readName(metadata?.name);
  const ready = readList(status?.conditions).find((condition) => condition.type === 'Ready')?.status;
  const isExcluded = Object.hasOwn(readMap(metadata?.labels), EXCLUDE_LABEL);
  const state = [
    type === 'DELETED',
    readUid(metadata?.uid),
    ready === 'True',
    ready === 'False',
    spec?.unschedulable === true,
    isExcluded,
  ];
  return { kind: 'change', change: { kind: 'node', node }, state: state.join(' ') };
}

function describePodChange({ metadata, spec }: WatchedObject): ClusterWatchEvent {
  const namespace = readName(metadata?.namespace);
  const node = readNameIfAny(spec?.nodeName);
  return { kind: 'change', change: { kind: 'pod', namespace, ...(node !== '' && { node }) } };
}
