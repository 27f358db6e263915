// Whether a switch still obeys, found out over every socket that it is driven by. It changes nothing and never rejects.
import type { Clock } from '../../journal/index.ts';
import { withTimeout } from './transport/deadline.ts';
import { DaemonFailure, RequestTimedOut } from './transport/failures.ts';
import type { SwitchCondition } from '../switch/switch.ts';
import { CommandRefused } from './unixctl/client-driver.ts';

/** All sockets are tried at once; a switch that is busy with a large bundle answers within less. */
const PROBE_MS = 4000;

export interface ProbeOptions {
  readonly clock: Clock;
  /** The sockets by their names, and how each is asked for a sign of life. */
  readonly sockets: Readonly<Record<string, () => Promise<unknown>>>;
  /** Whether ovs-vswitchd is known not to run. */
  readonly isDaemonGone: () => boolean;
}

export async function probeSwitch({
  clock,
  sockets,
  isDaemonGone,
}: ProbeOptions): Promise<SwitchCondition | undefined> {
  const asked = Object.entries(sockets).map(async ([name, ask]) => ({ name, why: await failureOf(ask, clock) }));
  const cut = (await Promise.all(asked)).filter(({ why }) => why !== undefined);
  if (cut.length === 0) return undefined;
  if (isDaemonGone()) return { code: 'not-running', message: 'ovs-vswitchd is not running', cannotServe: true };
  const names = cut.map(({ name }) => name).join(', ');
  return { code: 'unreachable', message: `no answer from its ${names} socket: ${cut[0]?.why}` };
}

async function failureOf(ask: () => Promise<unknown>, clock: Clock): Promise<string | undefined> {
  try {
    await withTimeout(ask(), { clock, timeoutMs: PROBE_MS, failure: late });
    return undefined;
  } catch (error) {
    // One that refuses the command is there.
    if (error instanceof CommandRefused) return undefined;
    if (error instanceof DaemonFailure) return error.message;
    throw error;
  }
}

function late(): DaemonFailure {
  return new RequestTimedOut(`no answer within ${PROBE_MS / 1000} s`);
}
