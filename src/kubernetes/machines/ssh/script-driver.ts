// Runs one pass of a script over a connection, and takes its output until it ends. What it does not end by itself is ended: the machine stops the script as soon as its input ends
// or is silent, also when this server has ended.
import type { ClientChannel } from 'ssh2';
import type { SecretMask } from '../../../access/index.ts';
import type { Clock } from '../../../journal/index.ts';
import { describeError, type SshConnection } from './connection-driver.ts';
import type { OutputTail } from './output-tail.ts';
import { BEAT, BEAT_MS, STOP_MAX_MS } from './script-input.ts';

/** Downloads and installations are silent for a while, not for as long as this. */
const IDLE_MAX_MS = 10 * 60 * 1000;
/** What a script writes costs work here. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
/** Something that it started may hold its output open. */
const LINGER_MS = 2000;

export interface ScriptLimits {
  readonly idleMs?: number;
  readonly outputBytes?: number;
}

export interface ScriptRun {
  readonly command: string;
  readonly input: string;
  readonly tail: OutputTail;
  readonly mask: SecretMask;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly limits: ScriptLimits;
}

export type ScriptEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'cut-off'; readonly text: string }
  /** The machine ran nothing. */
  | { readonly kind: 'not-begun'; readonly text: string };

export async function runScript(connection: SshConnection, run: ScriptRun): Promise<ScriptEnd> {
  const channel = await openChannel(connection, run);
  if (!('stderr' in channel)) return channel;
  const over = new AbortController();
  try {
    return await new RunningScript(channel, run).awaitEnd(connection, over.signal);
  } finally {
    over.abort('ended');
  }
}

async function openChannel(
  connection: SshConnection,
  { command, mask }: ScriptRun,
): Promise<ClientChannel | ScriptEnd> {
  const opened = new Promise<ClientChannel | ScriptEnd>((resolve) => {
    const refuse = (error: unknown): void => resolve({ kind: 'not-begun', text: describeError(error, mask) });
    try {
      connection.client.exec(command, (error, channel) => {
        if (error === undefined) resolve(channel);
        else refuse(error);
      });
    } catch (error) {
      refuse(error);
    }
  });
  return Promise.race([opened, connection.ended.then((text): ScriptEnd => ({ kind: 'not-begun', text }))]);
}

class RunningScript {
  readonly #channel: ClientChannel;
  readonly #run: ScriptRun;
  #lastOutputAtMs: number;

  constructor(channel: ClientChannel, run: ScriptRun) {
    this.#channel = channel;
    this.#run = run;
    this.#lastOutputAtMs = run.clock.nowMs();
  }

  async awaitEnd(connection: SshConnection, over: AbortSignal): Promise<ScriptEnd> {
    const { input } = this.#run;
    const exited = this.#awaitExit(over);
    const stopped = this.#awaitStop(over);
    const lost = connection.ended.then((text): ScriptEnd => ({ kind: 'cut-off', text }));
    this.#channel.write(input);
    const end = await Promise.race([exited, lost, stopped]);
    if (typeof end === 'object') return end;
    await this.#stop(Promise.race([exited, lost]), over);
    return { kind: 'cut-off', text: end };
  }

  /** How it ended by itself. */
  #awaitExit(over: AbortSignal): Promise<ScriptEnd> {
    const channel = this.#channel;
    return new Promise((resolve) => {
      let end: ScriptEnd = { kind: 'cut-off', text: 'the machine closed the connection' };
      channel.on('exit', (code: number | null, killedBy?: string) => {
        end = code === null ? { kind: 'cut-off', text: `it was ended by ${killedBy}` } : { kind: 'exited', code };
        void this.#run.clock.sleep(LINGER_MS, over).then(() => resolve(end));
      });
      channel.on('close', () => resolve(end));
    });
  }

  /** Why it is not to continue. */
  #awaitStop(over: AbortSignal): Promise<string> {
    const { clock, signal, limits, tail } = this.#run;
    const { idleMs = IDLE_MAX_MS, outputBytes = OUTPUT_BYTES_MAX } = limits;
    return new Promise((resolve) => {
      const receive = (chunk: Buffer): void => {
        this.#lastOutputAtMs = clock.nowMs();
        if (tail.bytes > outputBytes) return;
        tail.append(chunk);
        if (tail.bytes > outputBytes) resolve(`it wrote more than ${outputBytes} bytes`);
      };
      this.#channel.on('data', receive);
      this.#channel.stderr.on('data', receive);
      signal.addEventListener('abort', () => resolve('it was told to end'), { once: true, signal: over });
      if (signal.aborted) resolve('it was told to end');
      void this.#beat(over, idleMs).then(() => resolve(`it wrote nothing for ${idleMs / 1000} seconds`));
    });
  }

  /** As long as it is well: the machine ends a script whose input is silent. */
  async #beat(over: AbortSignal, idleMs: number): Promise<void> {
    const { clock } = this.#run;
    const everyMs = Math.min(BEAT_MS, idleMs);
    while (clock.nowMs() - this.#lastOutputAtMs < idleMs) {
      await clock.sleep(everyMs, over);
      if (over.aborted) return;
      if (this.#channel.writable) this.#channel.write(BEAT);
    }
  }

  /** Its input ends, upon which the machine ends it; then its channel is closed whether it did or not. */
  async #stop(ended: Promise<unknown>, over: AbortSignal): Promise<void> {
    this.#channel.end();
    await Promise.race([ended, this.#run.clock.sleep(STOP_MAX_MS, over)]);
    if (!this.#channel.writable && this.#channel.destroyed) return;
    this.#channel.signal('KILL');
    this.#channel.close();
  }
}
