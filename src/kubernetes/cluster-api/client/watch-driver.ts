// One watch of a real API, from what is there when it begins until it ends. It is bounded in time, in the length of its lines and in how much of it is read in a second: what
// comes faster waits at the other side.
import { setTimeout as sleep } from 'node:timers/promises';
import { ClusterUnreachable, type ClusterCallOptions, type WatchedChange, type WatchedKind } from '../cluster-api.ts';
import { readAnswer, readNameIfAny } from './answers.ts';
import type { ClusterConnection, ClusterRequestOptions } from './connection-driver.ts';
import { readWatchEvent } from './watch-events.ts';

/** The API ends it then; a little later it is ended here, should the API be silent. Another one is begun. */
const WATCH_SECONDS = 240;
const WATCH_MAX_MS = (WATCH_SECONDS + 30) * 1000;
/** More than an object may have in etcd. */
const LINE_LENGTH_MAX = 4 * 1024 * 1024;
const SECOND_MS = 1000;
/** Of a second; what a node with many pods brings when all of them end at once is a tenth of it. */
const EVENTS_PER_SECOND_MAX = 1000;
const LENGTH_PER_SECOND_MAX = 8 * 1024 * 1024;
/** So many Nodes are remembered; of others every event is a change. */
const STATES_MAX = 50_000;

interface ClusterWatch {
  readonly what: WatchedKind;
  readonly onChange: (change: WatchedChange) => void;
  readonly how: ClusterCallOptions;
}

export async function watchObjects(
  connection: ClusterConnection,
  { what, onChange, how }: ClusterWatch,
): Promise<void> {
  const core = connection.group(connection.client.CoreV1Api);
  const list = (query: WatchQuery, options: ClusterRequestOptions): Promise<ListSeen> =>
    what === 'nodes' ? core.listNode(query, options) : core.listPodForAllNamespaces(query, options);
  const first = await connection.call(how, (options) => list({ limit: 1 }, options));
  const resourceVersion = readAnswer(() => readNameIfAny(first.metadata?.resourceVersion));
  const query = { watch: true, resourceVersion, timeoutSeconds: WATCH_SECONDS };
  const receive = readEvents(what, onChange, how.signal);
  await connection.stream(how, { send: (options) => list(query, options), receive, maxMs: WATCH_MAX_MS });
}

interface WatchQuery {
  readonly limit?: number;
  readonly watch?: boolean;
  readonly resourceVersion?: string;
  readonly timeoutSeconds?: number;
}

interface ListSeen {
  readonly metadata?: { readonly resourceVersion?: string };
}

/** Reads pieces of text as they come. */
function readEvents(
  what: WatchedKind,
  onChange: (change: WatchedChange) => void,
  signal: AbortSignal,
): (text: string) => Promise<'more' | 'end'> {
  const rate = new ReadingRate();
  const states = new Map<string, string>();
  let rest = '';
  return async (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LINE_LENGTH_MAX) throw new ClusterUnreachable('a line of its watch has no end');
    rate.count(text.length);
    for (const line of lines) {
      if (line.trim() === '') continue;
      const pauseMs = rate.takeEvent();
      if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
      const event = readWatchEvent(what, line);
      if (event.kind === 'end') return 'end';
      if (event.kind === 'change' && isNews(states, event)) onChange(event.change);
    }
    return 'more';
  };
}

/** A kubelet says every few seconds that its Node is as it was. */
function isNews(
  states: Map<string, string>,
  { change, state }: { readonly change: WatchedChange; readonly state?: string },
): boolean {
  if (change.kind !== 'node' || state === undefined) return true;
  if (states.get(change.node) === state) return false;
  if (states.has(change.node) || states.size < STATES_MAX) states.set(change.node, state);
  return true;
}

/** How much was read since a second began. */
class ReadingRate {
  #beganMs = performance.now();
  #events = 0;
  #length = 0;

  count(length: number): void {
    this.#length += length;
  }

  /** Milliseconds until the next event is taken. */
  takeEvent(): number {
    const goneMs = performance.now() - this.#beganMs;
    const isOver = this.#events >= EVENTS_PER_SECOND_MAX || this.#length > LENGTH_PER_SECOND_MAX;
    const pauseMs = isOver ? Math.max(0, SECOND_MS - goneMs) : 0;
    if (isOver || goneMs >= SECOND_MS) {
      this.#beganMs = performance.now() + pauseMs;
      this.#events = 0;
      this.#length = 0;
    }
    this.#events += 1;
    return pauseMs;
  }
}
