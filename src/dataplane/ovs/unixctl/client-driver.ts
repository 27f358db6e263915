// A client of the control socket of ovs-vswitchd: what `ovs-appctl` does, over one kept connection. The daemon processes commands one after
// the other, so the next one is sent when the previous one is answered.
import type { Clock } from '../../../journal/index.ts';
import { parseAddress } from '../transport/address.ts';
import { JsonRpcConnection } from '../transport/json-rpc-connection-driver.ts';
import {
  ConnectionLost,
  DaemonFailure,
  MalformedMessage,
  RequestRefused,
  RequestTimedOut,
  TooBusy,
} from '../transport/failures.ts';
import { ReconnectingConnection, type ReconnectState } from '../transport/reconnecting-connection-driver.ts';
import { type Dial, dialSocket } from '../transport/socket-driver.ts';
import { type ConntrackDump, parseConntrack } from './conntrack.ts';
import { type Neighbour, parseNeighbours } from './neighbour.ts';

/** A dump of 100 000 connections takes a second; waiting for a revalidation half of one. */
const COMMAND_TIMEOUT_MS = 10_000;
/** 150 bytes for each tracked connection: more than a million of them. A text of twice this exceeds what JavaScript can hold. */
const MESSAGE_BYTES_MAX = 256 * 1024 * 1024;
/** Commands are answered one by one; behind so many others a command would time out anyway. */
const WAITING_MAX = 256;

export interface UnixctlClientOptions {
  /** `unix:/path` of the control socket. Looked up again for each connection: a restarted daemon may have another. */
  readonly address: string | (() => string);
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
  /** The timeout of one command from when it is sent, including the wait for a connection. */
  readonly commandTimeoutMs?: number;
  readonly messageBytesMax?: number;
  readonly onState?: (state: ReconnectState) => void;
  /** Opens the connection instead of a socket to `address`. */
  readonly dial?: Dial;
}

/** The daemon refuses a command. */
export class CommandRefused extends DaemonFailure {
  readonly command: string;

  constructor(command: string, says: string) {
    super({ code: 'command-refused', retryable: false }, `${command}: ${says}`);
    this.command = command;
  }
}

/** All commands may be repeated. */
export class UnixctlClient {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #connection: ReconnectingConnection<JsonRpcConnection>;
  #queue: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Starts to connect. Throws `BadAddress`. */
  constructor(options: UnixctlClientOptions) {
    this.#clock = options.clock;
    this.#timeoutMs = options.commandTimeoutMs ?? COMMAND_TIMEOUT_MS;
    const { clock, random, dial = dialTo(options.address), onState } = options;
    const messageBytesMax = options.messageBytesMax ?? MESSAGE_BYTES_MAX;
    this.#connection = new ReconnectingConnection({
      clock,
      peer: 'ovs-vswitchd',
      random,
      connectTimeoutMs: this.#timeoutMs,
      connect: async (signal) => new JsonRpcConnection(await dial(signal), { clock, messageBytesMax }),
      wasUseful: (made) => made.hasReceived,
    });
    if (onState !== undefined) this.#connection.onState(onState);
  }

  /** Any command of `ovs-appctl`; returns its output. Rejects with `CommandRefused`. */
  async command(name: string, ...args: readonly string[]): Promise<string> {
    if (this.#waiting >= WAITING_MAX) throw new TooBusy(`${WAITING_MAX} commands wait for their turn`);
    this.#waiting += 1;
    const turn = this.#runQueued(name, args);
    this.#queue = turn;
    try {
      return await turn;
    } finally {
      this.#waiting -= 1;
    }
  }

  /** Resolves when earlier flow changes have reached the caches, too. */
  async waitForRevalidators(): Promise<void> {
    await this.command('revalidator/wait');
  }

  async dumpConntrack(options: { readonly zone?: number } = {}): Promise<ConntrackDump> {
    const zone = options.zone === undefined ? [] : [zoneArgument(options.zone)];
    return parseConntrack(await this.command('dpctl/dump-conntrack', '-s', ...zone));
  }

  async flushConntrack({ zone }: { readonly zone: number }): Promise<void> {
    await this.command('dpctl/flush-conntrack', zoneArgument(zone));
  }

  /** From then on a connection whose beginning was not seen is tracked, whatever its sequence numbers are. */
  async disableTcpSequenceCheck(): Promise<void> {
    await this.command('dpctl/ct-disable-tcp-seq-chk');
  }

  async neighbours(): Promise<Neighbour[]> {
    return parseNeighbours(await this.command('tnl/neigh/show'));
  }

  /** Adds the tunnel neighbour of a bridge, so that the first packet to it is not lost. */
  async setNeighbour({ bridge, address, mac }: Neighbour): Promise<void> {
    await this.command('tnl/neigh/set', bridge, address, mac);
  }

  /** The trace of a packet; `flow` in `ovs-ofctl` syntax. */
  async trace(bridge: string, flow: string): Promise<string> {
    return this.command('ofproto/trace', bridge, flow);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #runQueued(name: string, args: readonly string[]): Promise<string> {
    await this.#queue.catch(() => {}); // its caller gets the error
    const untilMs = this.#clock.nowMs() + this.#timeoutMs;
    const connection = await this.#connection.acquire({ timeoutMs: this.#timeoutMs });
    const answer = await this.#request(connection, [name, ...args], Math.max(1, untilMs - this.#clock.nowMs()));
    if (typeof answer !== 'string') throw new MalformedMessage(`${name} was answered with ${typeof answer}`);
    return answer;
  }

  async #request(
    connection: JsonRpcConnection,
    [name = '', ...args]: readonly string[],
    timeoutMs: number,
  ): Promise<unknown> {
    try {
      return await connection.request(name, args, { timeoutMs });
    } catch (error) {
      if (error instanceof RequestRefused) throw new CommandRefused(name, commandRefusalText(error.answer));
      // An unfinished command blocks the next one on this connection, not on a new one.
      if (error instanceof RequestTimedOut) connection.end(new ConnectionLost(error.message, { cause: error }));
      throw error;
    }
  }
}

function dialTo(address: string | (() => string)): Dial {
  if (typeof address === 'string') return dialSocket(parseAddress(address));
  return async (signal) => dialSocket(parseAddress(address()))(signal);
}

/** The daemon uses the last 16 bits of a larger number: that would be another zone. */
function zoneArgument(zone: number): string {
  if (!Number.isInteger(zone) || zone < 0 || zone > 65_535)
    throw new CommandRefused('conntrack', `${zone} is not a zone`);
  return `zone=${zone}`;
}

function commandRefusalText(answer: unknown): string {
  return typeof answer === 'string' ? answer.trim() : JSON.stringify(answer);
}
