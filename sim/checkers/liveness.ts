// No host is declared down that was not silent, measured from when the lease holder really listened, by the world's clock and without the
// time in which it was paused. And no host is declared up without a heartbeat.
import { SETTING } from '../../src/fleet/index.ts';
import { HOST, LIVENESS, type Host } from '../../src/hosts/index.ts';
import { WORLD_BEGINS_MS } from '../kernel/clock.ts';
import type { LedgerEntry } from '../world/ledger.ts';
import type { World } from '../world/world.ts';
import type { Checker } from './checker.ts';

type Change = LedgerEntry['commit']['changes'][number];

/**
 * A server that pauses for less than this does not notice, and one whose clock was set forward meanwhile ignores less time than it was. For
 * a server that did not pause, every millisecond counts.
 */
const PAUSE_TOLERANCE_MS = 6000;

export const downOnlyIfSilent: Checker = {
  name: 'never: a host is declared down whose heartbeats reach the holder',
  watch: (violated, world) => {
    let epochSinceMs = 0;
    let downAfterMs = LIVENESS.defaultValue.downAfterMs;
    const connections = new Map<string, string>();
    const falls = ({ kind, id, body }: Change): boolean => {
      if (kind !== HOST.name) return false;
      const host = body === null ? undefined : (JSON.parse(body) as Host);
      const connection = host?.connection.state ?? 'gone';
      // A host that was ordered to leave has reported that it did: it has no credential any more.
      const fell = connection === 'down' && connections.get(id) !== 'down' && host?.credential !== undefined;
      connections.set(id, connection);
      return fell;
    };
    return {
      onLease: ({ before, after }) => {
        if (before?.epoch !== after?.epoch) epochSinceMs = world.scheduler.nowMs;
      },
      onWrite: ({ entries }) => {
        for (const entry of entries) {
          for (const change of entry.commit.changes) {
            if (isSetting(change)) ({ downAfterMs } = settingIn(change.body));
            const silent = falls(change) ? measureSilence(world, entry, change.id, epochSinceMs) : undefined;
            if (silent !== undefined && silent.forMs + silent.toleranceMs < downAfterMs) {
              violated(
                `${change.id} was declared down at ${entry.commit.revision} after ${silent.forMs} ms of silence`,
              );
            }
          }
        }
      },
    };
  },
};

/**
 * By the time of the check that found it, which is in the document: the commit may come later. Heartbeats since the check count as well,
 * and the time in which the holder was paused does not: its clock may have stopped with it.
 */
export const upOnlyIfHeartbeat: Checker = {
  name: 'never: a host is declared up that the holder has no heartbeat of',
  watch: (violated, world) => {
    let { suspectAfterMs } = LIVENESS.defaultValue;
    const connections = new Map<string, string>();
    const risenAtMs = ({ kind, id, body }: Change): number | undefined => {
      if (kind !== HOST.name) return undefined;
      const connection = body === null ? undefined : (JSON.parse(body) as Host).connection;
      const isNew = connection?.state === 'up' && connections.get(id) !== 'up';
      connections.set(id, connection?.state ?? 'gone');
      return isNew ? connection.sinceMs - WORLD_BEGINS_MS : undefined;
    };
    return {
      onWrite: ({ entries }) => {
        for (const { writer, commit } of entries) {
          for (const change of commit.changes) {
            if (isSetting(change)) ({ suspectAfterMs } = settingIn(change.body));
            const clockMs = risenAtMs(change);
            const assessedMs = clockMs === undefined ? undefined : clockToWorldMs(world, writer, clockMs);
            if (assessedMs === undefined) continue;
            const lastHeartbeatMs = world.heartbeats.lastBefore(writer, change.id, world.scheduler.nowMs + 1);
            const silentMs =
              assessedMs - lastHeartbeatMs - world.heartbeats.pausedMs(writer, lastHeartbeatMs, assessedMs);
            if (lastHeartbeatMs === 0 || silentMs >= suspectAfterMs)
              violated(`${change.id} is up at ${commit.revision}, and its last heartbeat was ${silentMs} ms before`);
          }
        }
      },
    };
  },
};

interface Silence {
  readonly forMs: number;
  readonly toleranceMs: number;
}

/**
 * How long the host had been silent for the holder when it decided; the commit may come later. Undefined when the holder paused, lost the
 * lease or died in between: then its clock reading cannot be reconstructed.
 */
function measureSilence(
  world: World,
  { writer, commit }: LedgerEntry,
  host: string,
  epochSinceMs: number,
): Silence | undefined {
  const { heartbeats } = world;
  const assessedMs = clockToWorldMs(world, writer, commit.atMs - WORLD_BEGINS_MS);
  if (assessedMs === undefined || epochSinceMs > assessedMs) return undefined;
  const silentFromMs = Math.max(epochSinceMs, heartbeats.lastBefore(writer, host, assessedMs));
  const stillMs = heartbeats.pausedMs(writer, silentFromMs, assessedMs);
  return { forMs: assessedMs - silentFromMs - stillMs, toleranceMs: stillMs > 0 ? PAUSE_TOLERANCE_MS : 0 };
}

/** When a server's clock showed a time; undefined when it died or paused since: then that cannot be reconstructed. */
function clockToWorldMs({ servers, heartbeats }: World, writer: string, clockMs: number): number | undefined {
  const program = servers.find(({ incarnation }) => incarnation?.program.name === writer)?.incarnation?.program;
  const pause = heartbeats.lastPause(writer);
  const isBeforePause = pause !== undefined && clockMs - pause.skewBeforeMs <= pause.fromMs;
  return program === undefined || isBeforePause ? undefined : clockMs - program.skewMs;
}

function isSetting({ kind, id }: Change): boolean {
  return kind === SETTING.name && id === LIVENESS.name;
}

function settingIn(body: string | null): typeof LIVENESS.defaultValue {
  if (body === null) return LIVENESS.defaultValue;
  return (JSON.parse(body) as { value: typeof LIVENESS.defaultValue }).value;
}
