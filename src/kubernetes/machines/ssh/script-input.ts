// What is sent to a machine to run a script there: a command that is the same for all, and everything else over its standard input, which no list of processes shows.
// The script ends with the connection: without it, the server that sent it cannot end it any more.
import type { JoinCall, LeaveCall } from '../reach.ts';

/** `install` makes the machine ready to join; `join` and `leave` may be repeated, too. */
export type ScriptAction = 'install' | 'join' | 'leave';

/** A machine to which nothing comes for so long ends its script. */
const SILENCE_MAX_S = 60;
/** So often something is sent to it. */
export const BEAT_MS = 10_000;
/** Between SIGTERM and SIGKILL. */
const GRACE_S = 5;
/** Also on a machine that is busy. */
export const STOP_MAX_MS = 4 * GRACE_S * 1000;
export const BEAT = '\n';

// The input is the script up to a NUL, then a line now and then. The script runs in a process group of its own (`set -m`), as one with all that it starts; the watch
// ends the whole group when the input ends or is silent, and the command lasts until that is done. There is no single quote in it: a login shell passes it on as it is.
const WATCH = [
  `while IFS= read -r -t ${SILENCE_MAX_S} beat; do :; done`,
  'kill -USR1 $$; kill -TERM -- -$job',
  `end=$((SECONDS + ${GRACE_S})); while kill -0 -- -$job; do [ $SECONDS -ge $end ] && break; sleep 0.1; done`,
  'kill -KILL -- -$job',
  // A machine may have no program that removes what has ended.
  'end=$((SECONDS + 2)); while kill -0 -- -$job; do [ $SECONDS -ge $end ] && break; sleep 0.1; done',
].join('; ');

const RUNNER = [
  'IFS= read -r -d "" program || exit 97',
  'stopped=; trap "stopped=1" USR1; set -m',
  '(eval "$program") </dev/null 2>&1 & job=$!',
  `(${WATCH}) >/dev/null 2>&1 & watch=$!`,
  // What the shell says of its jobs is not the script's output.
  'exec 2>/dev/null; wait $job; code=$?',
  'if [ -n "$stopped" ]; then wait $watch; exit 143; fi',
  'kill -KILL -- -$watch; exit $code',
].join('; ');

export function composeCommand(action: ScriptAction, { sudo }: { readonly sudo?: true }): string {
  return `exec ${sudo === true ? 'sudo -n -- ' : ''}bash --norc -c '${RUNNER}' muster-worker ${action}`;
}

/** The token is a variable of the shell alone: what the script starts does not inherit it. */
export function composeInput(script: string, call: JoinCall | LeaveCall, action: ScriptAction): string {
  const { cluster, node } = call;
  const join = 'token' in call ? call : undefined;
  const settings = Object.entries({
    MUSTER_CLUSTER: cluster,
    MUSTER_NODE: node,
    MUSTER_PROVIDER_ID: join?.providerId,
    MUSTER_JOIN_ENDPOINT: join?.endpoint,
    MUSTER_CA_PIN: join?.caPin,
    MUSTER_KUBERNETES_VERSION: join?.version,
  }).map(([name, value]) => `export ${name}=${quote(value ?? '')}`);
  const token = action === 'join' && join !== undefined ? [`MUSTER_TOKEN=${quote(join.token)}`] : [];
  return `${[...settings, ...token, script].join('\n').replaceAll('\0', '')}\n\0`;
}

function quote(value: string): string {
  return `'${value.replaceAll("'", String.raw`'\''`)}'`;
}
