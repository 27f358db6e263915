// Nobody is called down who was not silent: counted from when the holder of the lease really listened, by the world's
// clock and without the time in which it stood still.
import { HOST, LIVENESS, type Host } from '../../src/hosts/index.ts';
import { SETTING } from '../../src/fleet/index.ts';
import type { Checker } from './checker.ts';

/** A clock that was set forward while its server stood still makes it look away for less time than it was. */
const TOLERANCE_MS = 6000;

export const downWasSilent: Checker = {
  name: 'never: a host is declared down that the holder could hear',
  watch: (world, violated) => {
    let epochSinceMs = 0;
    let downAfterMs = LIVENESS.fallback.downAfterMs;
    const connections = new Map<string, string>();
    return {
      onLease: (before, after) => {
        if (before?.epoch !== after?.epoch) epochSinceMs = world.scheduler.nowMs;
      },
      onWrite: (entries) => {
        for (const { commit, writer } of entries) {
          for (const { kind, id, body } of commit.changes) {
            if (kind === SETTING.name && id === LIVENESS.name) downAfterMs = settingIn(body);
            if (kind !== HOST.name) continue;
            const connection = body === null ? 'gone' : (JSON.parse(body) as Host).connection.state;
            const fell = connection === 'down' && connections.get(id) !== 'down';
            connections.set(id, connection);
            if (!fell) continue;
            const heardMs = world.hearing.heardAt(writer, id);
            const silentMs =
              world.scheduler.nowMs - Math.max(heardMs, epochSinceMs, world.hearing.pauseEndedAt(writer));
            if (silentMs + TOLERANCE_MS < downAfterMs) {
              violated(`${id} was declared down at ${commit.revision} after ${silentMs} ms of silence`);
            }
          }
        }
      },
    };
  },
};

function settingIn(body: string | null): number {
  if (body === null) return LIVENESS.fallback.downAfterMs;
  return (JSON.parse(body) as { value: typeof LIVENESS.fallback }).value.downAfterMs;
}
