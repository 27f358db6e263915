// Nobody is called down who was not silent: counted from when the holder of the lease really listened, by the world's
// clock and without the time in which it stood still.
import { SETTING } from '../../src/fleet/index.ts';
import { HOST, LIVENESS, type Host } from '../../src/hosts/index.ts';
import { WORLD_BEGINS_MS } from '../kernel/clock.ts';
import type { Entry } from '../world/ledger.ts';
import type { World } from '../world/world.ts';
import type { Checker } from './checker.ts';

/**
 * A server that stands still for less than this does not know that it did, and one whose clock was set forward meanwhile looks
 * away for less time than it was. Of one that did not stand still, every millisecond counts.
 */
const PAUSE_TOLERANCE_MS = 6000;

export const downWasSilent: Checker = {
  name: 'never: a host is declared down that the holder could hear',
  watch: (world, violated) => {
    let epochSinceMs = 0;
    let downAfterMs = LIVENESS.fallback.downAfterMs;
    const connections = new Map<string, string>();
    const falls = ({ kind, id, body }: Entry['commit']['changes'][number]): boolean => {
      if (kind !== HOST.name) return false;
      const host = body === null ? undefined : (JSON.parse(body) as Host);
      const connection = host?.connection.state ?? 'gone';
      // One that was told to leave has said itself that it has: it has no credential any more.
      const fell = connection === 'down' && connections.get(id) !== 'down' && host?.credential !== undefined;
      connections.set(id, connection);
      return fell;
    };
    return {
      onLease: ({ before, after }) => {
        if (before?.epoch !== after?.epoch) epochSinceMs = world.scheduler.nowMs;
      },
      onWrite: (entries) => {
        for (const entry of entries) {
          for (const change of entry.commit.changes) {
            if (change.kind === SETTING.name && change.id === LIVENESS.name) downAfterMs = settingIn(change.body);
            const silent = falls(change) ? silence(world, entry, change.id, epochSinceMs) : undefined;
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

interface Silence {
  readonly forMs: number;
  readonly toleranceMs: number;
}

/**
 * How long the host had been silent for its judge when it judged; the commit may come later. Undefined when the judge
 * stood still, lost the lease or died in between: then what it read off its clock cannot be told any more.
 */
function silence(world: World, { writer, commit }: Entry, host: string, epochSinceMs: number): Silence | undefined {
  const { hearing, servers } = world;
  const program = servers.find(({ life }) => life?.program.name === writer)?.life?.program;
  if (program === undefined) return undefined;
  const clockMs = commit.atMs - WORLD_BEGINS_MS;
  const judgedMs = clockMs - program.skewMs;
  const pause = hearing.lastPause(writer);
  const beforePause = pause !== undefined && clockMs - pause.skewBeforeMs <= pause.fromMs;
  if (beforePause || epochSinceMs > judgedMs) return undefined;
  const silentFromMs = Math.max(epochSinceMs, hearing.heardBefore(writer, host, judgedMs));
  const stillMs = hearing.stillFor(writer, silentFromMs, judgedMs);
  return { forMs: judgedMs - silentFromMs - stillMs, toleranceMs: stillMs > 0 ? PAUSE_TOLERANCE_MS : 0 };
}

function settingIn(body: string | null): number {
  if (body === null) return LIVENESS.fallback.downAfterMs;
  return (JSON.parse(body) as { value: typeof LIVENESS.fallback }).value.downAfterMs;
}
