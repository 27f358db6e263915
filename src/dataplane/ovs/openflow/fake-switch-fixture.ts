// A switch for tests at the other end of a pair of streams. It takes flows and groups as bytes, in bundles or without, and can be
// set to refuse, to be silent, to speak another version, to hang up.
import { duplexPair, type Duplex } from 'node:stream';
import { ConnectionLost } from '../transport/failures.ts';
import type { Dial } from '../transport/socket-driver.ts';
import { BytesReader } from './bytes-reader.ts';
import { BytesWriter } from './bytes-writer.ts';
import { flowStatsEntry, groupStatsEntry } from './stats-entry-fixture.ts';
import { BUNDLE, HEADER_BYTES, MESSAGE, MULTIPART } from './message-codes.ts';
import { beginMessage, endMessage, MessageFramer, type OpenFlowMessage } from './message-frame.ts';

export interface FakeFaults {
  /** Its address does not answer. */
  unreachable: boolean;
  /** It takes connections and says nothing at all. */
  mute: boolean;
  /** It gets this request and answers nothing. */
  silentTo: ReadonlySet<number>;
  /** The versions that it offers, as a bitmap. */
  versions: number;
  /** Type and code of the error for a change: when it is handed in, or when the bundle is committed. */
  refuses: (change: Uint8Array) => { at: 'add' | 'commit'; error: readonly [number, number] } | undefined;
}

const ALL_BUT_15 = 0x3e;
const FAILED = [17, 13] as const;

export class FakeSwitch {
  readonly faults: FakeFaults = {
    unreachable: false,
    mute: false,
    silentTo: new Set(),
    versions: ALL_BUT_15,
    refuses: () => undefined,
  };
  /** The types of what it was sent, in order. */
  readonly received: number[] = [];
  /** Changes that are in force: the bodies of flows, groups and packets. */
  readonly changes: { readonly type: number; readonly body: Uint8Array }[] = [];
  /** So many entries in one part of a list. */
  entriesInPart = 2;
  connections = 0;
  #stream: Duplex | undefined;
  #bundle: { xid: number; type: number; body: Uint8Array }[] = [];
  #cutter = new MessageFramer();

  readonly dial: Dial = async () => {
    this.connections += 1;
    if (this.faults.unreachable) throw new ConnectionLost('connection refused');
    const [client, stream] = duplexPair();
    this.#stream = stream;
    this.#cutter = new MessageFramer();
    stream.on('error', () => {});
    stream.on('data', (chunk: Uint8Array) => {
      for (const message of this.#cutter.push(chunk)) this.#take(message);
    });
    if (!this.faults.mute) this.#greet();
    return client;
  };

  /** Changes in a bundle that was neither committed nor discarded. */
  get waiting(): number {
    return this.#bundle.length;
  }

  hangUp(): void {
    this.#stream?.end();
  }

  stopReading(): void {
    this.#stream?.pause();
  }

  send(type: number, xid: number, body: Uint8Array | readonly number[] = []): void {
    const writer = new BytesWriter();
    const start = beginMessage(writer, type, xid);
    writer.put(Uint8Array.from(body));
    endMessage(writer, start);
    this.sendBytes(writer.copy());
  }

  sendBytes(bytes: Uint8Array): void {
    this.#stream?.write(bytes);
  }

  #greet(): void {
    const writer = new BytesWriter();
    writer.u16(1);
    writer.u16(8);
    writer.u32(this.faults.versions);
    this.send(MESSAGE.hello, 1, writer.copy());
  }

  #take({ type, xid, body }: OpenFlowMessage): void {
    this.received.push(type);
    if (this.faults.mute || this.faults.silentTo.has(type)) return;
    switch (type) {
      case MESSAGE.echoRequest:
        return this.send(MESSAGE.echoReply, xid, body.rest());
      case MESSAGE.barrierRequest:
        return this.send(MESSAGE.barrierReply, xid);
      case MESSAGE.multipartRequest:
        return this.#list(xid, body.u16());
      case MESSAGE.bundleControl:
        return this.#control(xid, body);
      case MESSAGE.bundleAdd:
        body.skip(8);
        return this.#add(xid, body.rest().slice());
      case MESSAGE.flowMod:
      case MESSAGE.groupMod:
      case MESSAGE.packetOut:
        return this.#change(xid, type, body.rest().slice());
      default:
        return undefined;
    }
  }

  #change(xid: number, type: number, body: Uint8Array): void {
    const refusal = this.faults.refuses(body);
    if (refusal === undefined) this.changes.push({ type, body });
    else this.#refuse(xid, refusal.error);
  }

  #refuse(xid: number, [type, code]: readonly [number, number]): void {
    this.send(MESSAGE.error, xid, [0, type, 0, code]);
  }

  #add(xid: number, message: Uint8Array): void {
    const inner = new BytesReader(message);
    const [, type] = [inner.u8(), inner.u8()];
    if (inner.u16() !== message.length || inner.u32() !== xid) return this.#refuse(xid, [17, 9]);
    const body = message.slice(HEADER_BYTES);
    const refusal = this.faults.refuses(body);
    if (refusal?.at === 'add') this.#refuse(xid, refusal.error);
    else this.#bundle.push({ xid, type, body });
    return undefined;
  }

  #control(xid: number, body: BytesReader): void {
    const [high, low, type] = [body.u16(), body.u16(), body.u16()];
    if (type === BUNDLE.open || type === BUNDLE.discard) this.#bundle = [];
    if (type === BUNDLE.commit && !this.#commit(xid)) return;
    this.send(MESSAGE.bundleControl, xid, [high >> 8, high & 255, low >> 8, low & 255, 0, type + 1, 0, 3]);
  }

  #commit(xid: number): boolean {
    const bundle = this.#bundle.splice(0);
    for (const { xid: of, body } of bundle) {
      const refusal = this.faults.refuses(body);
      if (refusal === undefined) continue;
      this.#refuse(of, refusal.error);
      this.#refuse(xid, FAILED);
      return false;
    }
    this.changes.push(...bundle.map(({ type, body }) => ({ type, body })));
    return true;
  }

  #list(xid: number, kind: number): void {
    const entries = this.changes.flatMap(({ type, body }) => {
      if (kind === MULTIPART.flows) return type === MESSAGE.flowMod ? [flowStatsEntry(body)] : [];
      return kind === MULTIPART.groups && type === MESSAGE.groupMod ? [groupStatsEntry(body)] : [];
    });
    do {
      const part = entries.splice(0, this.entriesInPart);
      const head = [0, kind, 0, entries.length > 0 ? 1 : 0, 0, 0, 0, 0];
      this.send(MESSAGE.multipartReply, xid, [...head, ...part.flatMap((entry) => [...entry])]);
    } while (entries.length > 0);
  }
}
