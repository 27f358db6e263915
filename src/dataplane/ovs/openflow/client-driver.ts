// An OpenFlow client of one bridge: reads its contents, changes them in bundles, sends and receives packets. The connection is
// re-established when it is lost; requests in flight then fail, and listeners of `onUp` have to read the switch again.
import type { Clock } from '../../../journal/index.ts';
import { parseAddress } from '../transport/address.ts';
import { ReconnectingConnection } from '../transport/reconnecting-connection-driver.ts';
import { dialSocket, type Dial } from '../transport/socket-driver.ts';
import type { Flow } from '../../switch/switch.ts';
import { readPacketIn, readPart, readPort, type PacketIn, type OpenFlowPort } from './replies.ts';
import type { BytesReader } from './bytes-reader.ts';
import type { BytesWriter } from './bytes-writer.ts';
import { FlowCache } from './flow-cache.ts';
import { readGroup, type ListedGroup } from './group-codec.ts';
import { MESSAGE, MULTIPART } from './message-codes.ts';
import type { OpenFlowMessage } from './message-frame.ts';
import { modText, packetOutText, putMod, putPacketOut, type Mod, type PacketOut } from './mods.ts';
import { runBundle, type BundleContents } from './bundle-driver.ts';
import { connectOpenFlow, type OpenFlowConnection } from './connection-driver.ts';
import type { PortNames } from './ports.ts';
import { putBarrier, putMultipart, putEnablePacketIns } from './requests.ts';
import { TokenBucket, type Rate } from './token-bucket.ts';
import { ProtocolError, RefusedBySwitch } from './errors.ts';

export interface OpenFlowOptions {
  /** `unix:/path` or `tcp:host:port`. */
  readonly address: string;
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Looks up the interfaces of the bridge. */
  readonly names: PortNames;
  readonly limits?: Partial<OpenFlowLimits>;
  /** Another transport than a socket. */
  readonly dial?: Dial;
}

export interface OpenFlowLimits {
  readonly connectTimeoutMs: number;
  readonly requestTimeoutMs: number;
  /** For a list, and for each step of a bundle: the switch may have 10^5 flows to process. */
  readonly bulkTimeoutMs: number;
  /** After twice this time without a message, the connection is closed. */
  readonly probeAfterMs: number;
  /** Packets beyond this rate are dropped and counted: a flood must not block the agent. */
  readonly packetIns: Rate;
}

const LIMITS: OpenFlowLimits = {
  connectTimeoutMs: 5000,
  requestTimeoutMs: 10_000,
  bulkTimeoutMs: 60_000,
  probeAfterMs: 5000,
  packetIns: { perSecond: 1000, burst: 500 },
};

export class OpenFlowClient {
  readonly #options: OpenFlowOptions;
  readonly #limits: OpenFlowLimits;
  readonly #connection: ReconnectingConnection<OpenFlowConnection>;
  readonly #packetListeners = new Set<(packet: PacketIn) => void>();
  readonly #packetRate: TokenBucket;
  readonly #flows = new FlowCache();
  #packetsDropped = 0;
  /** Bundles are sent one after the other: a later one may depend on an earlier one. */
  #bundles: Promise<unknown> = Promise.resolve();

  constructor(options: OpenFlowOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#packetRate = new TokenBucket(this.#limits.packetIns, options.clock.nowMs());
    const { clock, random, dial = dialSocket(parseAddress(options.address)) } = options;
    const { connectTimeoutMs, probeAfterMs } = this.#limits;
    const onMessage = (message: OpenFlowMessage): void => this.#onUnsolicited(message);
    this.#connection = new ReconnectingConnection({
      clock,
      peer: 'the switch',
      random,
      connectTimeoutMs,
      connect: (signal) => connectOpenFlow(dial, signal, { clock, probeAfterMs, onMessage }),
    });
    this.#connection.onUp((connection) => this.#enablePacketIns(connection));
  }

  /** Whether the connection is up. */
  get isUp(): boolean {
    return this.#connection.current !== undefined;
  }

  /** Packets that exceeded the rate limit. */
  get packetsDropped(): number {
    return this.#packetsDropped;
  }

  /** Called at once if the connection is up, and each time it comes back. Returns how to unsubscribe. */
  onUp(listener: () => void): () => void {
    return this.#connection.onUp(() => listener());
  }

  /** Called each time that the connection is lost or cannot be established. */
  onDown(listener: (why: Error) => void): () => void {
    return this.#connection.onState((state) => {
      if (state.kind === 'down') listener(state.because);
    });
  }

  /** What flows send to the controller. */
  onPacketIn(listener: (packet: PacketIn) => void): () => void {
    this.#packetListeners.add(listener);
    if (this.#connection.current !== undefined) this.#enablePacketIns(this.#connection.current);
    return () => this.#packetListeners.delete(listener);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  /** All of them in this order, or none: then it rejects and names the refused one. */
  async bundle(mods: readonly Mod[]): Promise<void> {
    const { names } = this.#options;
    await this.#bundle({
      count: mods.length,
      put: (writer, nth, xid) => {
        const mod = mods[nth];
        if (mod !== undefined) putMod(writer, mod, { xid, names });
      },
      text: (nth) => modText(mods[nth] ?? { kind: 'remove-group', id: nth }),
      timeoutMs: this.#limits.bulkTimeoutMs,
    });
  }

  async sendPackets(packets: readonly PacketOut[]): Promise<void> {
    const { names } = this.#options;
    await this.#bundle({
      count: packets.length,
      put: (writer, nth, xid) => {
        const packet = packets[nth];
        if (packet !== undefined) putPacketOut(writer, packet, { xid, names });
      },
      text: (nth) => packetOutText(packets[nth] ?? { actions: '', data: new Uint8Array() }),
      timeoutMs: this.#limits.bulkTimeoutMs,
    });
  }

  async sendPacket(packet: PacketOut): Promise<void> {
    await this.sendPackets([packet]);
  }

  /** Resolves when the switch has processed everything that it was sent before. */
  async barrier(): Promise<void> {
    await this.#barrier(await this.#connection.acquire('current-attempt'), () => {});
  }

  async flows(): Promise<readonly Flow[]> {
    const list = this.#flows.list(this.#options.names);
    const flows = await this.#list('flows', list.read);
    list.finish();
    return flows;
  }

  async groups(): Promise<readonly ListedGroup[]> {
    return this.#list('groups', (reader) => readGroup(reader, this.#options.names));
  }

  async ports(): Promise<readonly OpenFlowPort[]> {
    return this.#list('ports', readPort);
  }

  async #bundle(contents: BundleContents): Promise<void> {
    if (contents.count === 0) return;
    const before = this.#bundles;
    const run = async (): Promise<void> => {
      await before;
      const connection = await this.#connection.acquire('current-attempt');
      await (contents.count === 1 ? this.#single(connection, contents) : runBundle(connection, contents));
    };
    const done = run();
    this.#bundles = done.catch(() => {}); // its caller gets the error
    await done;
  }

  /** A single change is atomic anyway: without a bundle it takes one answer instead of two. */
  async #single(connection: OpenFlowConnection, { put, text }: BundleContents): Promise<void> {
    const first = connection.xids();
    let refusal: string | undefined;
    const onRefused = (_: number, error: string): void => {
      refusal ??= error;
    };
    const unwatch = connection.watch({ first, count: 1, onRefused });
    try {
      await this.#barrier(connection, (writer) => put(writer, 0, first));
    } finally {
      unwatch();
    }
    if (refusal !== undefined) throw new RefusedBySwitch(refusal, text(0));
  }

  async #barrier(connection: OpenFlowConnection, before: (writer: BytesWriter) => void): Promise<void> {
    await connection.request({
      what: 'a barrier',
      timeoutMs: this.#limits.requestTimeoutMs,
      put: (writer, xid) => {
        before(writer);
        putBarrier(writer, xid);
      },
      take: ({ type }) => {
        if (type !== MESSAGE.barrierReply) throw new ProtocolError(`a message of type ${type} in answer to a barrier`);
        return true;
      },
    });
  }

  async #list<T>(kind: keyof typeof MULTIPART, read: (reader: BytesReader) => T): Promise<readonly T[]> {
    const connection = await this.#connection.acquire('current-attempt');
    const entries: T[] = [];
    return connection.request({
      what: `the list of ${kind}`,
      timeoutMs: this.#limits.bulkTimeoutMs,
      put: (writer, xid) => putMultipart(writer, xid, kind),
      take: ({ type, body }) => {
        if (type !== MESSAGE.multipartReply)
          throw new ProtocolError(`a message of type ${type}, not a list of ${kind}`);
        const part = readPart(body);
        if (part.type !== MULTIPART[kind]) throw new ProtocolError(`a list of type ${part.type}, not of ${kind}`);
        while (body.left > 0) entries.push(read(body));
        return part.more ? undefined : entries;
      },
    });
  }

  #enablePacketIns(connection: OpenFlowConnection): void {
    if (this.#packetListeners.size > 0) connection.send(putEnablePacketIns);
  }

  #onUnsolicited({ type, body }: OpenFlowMessage): void {
    if (type !== MESSAGE.packetIn || this.#packetListeners.size === 0) return;
    if (!this.#packetRate.take(this.#options.clock.nowMs())) {
      this.#packetsDropped += 1;
      return;
    }
    const packet = readPacketIn(body, this.#options.names);
    for (const listener of [...this.#packetListeners]) listener(packet);
  }
}
