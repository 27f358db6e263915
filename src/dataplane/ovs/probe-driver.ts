// Whether a switch can still be controlled, checked over every socket that is used for it, and whether it has opened its uplinks. It changes nothing and never rejects.
import type { Clock } from '../../journal/index.ts';
import { withTimeout } from './transport/deadline.ts';
import { DaemonFailure, RequestTimedOut } from './transport/failures.ts';
import type { SwitchCondition } from '../switch/switch.ts';
import type { InterfaceError } from './interface-errors.ts';
import { CommandRefused } from './unixctl/client-driver.ts';

/** All sockets are probed at once; a switch that is busy with a large bundle answers sooner than this. */
const PROBE_MS = 4000;

export interface ProbeOptions {
  readonly clock: Clock;
  /** The sockets by name, each with its probe. */
  readonly sockets: Readonly<Record<string, () => Promise<unknown>>>;
  /** Whether ovs-vswitchd is known not to run. */
  readonly isDaemonGone: () => boolean;
  /** The uplinks that it could not open, as far as that is known. */
  readonly uplinkErrors: () => readonly InterfaceError[];
}

export async function probeSwitch({
  clock,
  sockets,
  isDaemonGone,
  uplinkErrors,
}: ProbeOptions): Promise<SwitchCondition | undefined> {
  const probes = Object.entries(sockets).map(async ([name, request]) => ({
    name,
    why: await failureOf(request, clock),
  }));
  const cut = (await Promise.all(probes)).filter(({ why }) => why !== undefined);
  if (cut.length === 0) return notOpened(uplinkErrors());
  if (isDaemonGone()) return { code: 'not-running', message: 'ovs-vswitchd is not running', cannotServe: true };
  const names = cut.map(({ name }) => name).join(', ');
  return { code: 'unreachable', message: `no answer from its ${names} socket: ${cut[0]?.why}` };
}

function notOpened(failed: readonly InterfaceError[]): SwitchCondition | undefined {
  const [first] = failed;
  if (first === undefined) return undefined;
  const names = failed.map(({ name }) => name).join(', ');
  return { code: 'interface-not-opened', message: `it could not open ${names}: ${first.error}` };
}

async function failureOf(request: () => Promise<unknown>, clock: Clock): Promise<string | undefined> {
  try {
    await withTimeout(request(), { clock, timeoutMs: PROBE_MS, failure: late });
    return undefined;
  } catch (error) {
    // A daemon that refuses the command is alive.
    if (error instanceof CommandRefused) return undefined;
    if (error instanceof DaemonFailure) return error.message;
    throw error;
  }
}

function late(): DaemonFailure {
  return new RequestTimedOut(`no answer within ${PROBE_MS / 1000} s`);
}
