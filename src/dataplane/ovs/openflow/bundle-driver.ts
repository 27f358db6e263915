// Many changes as one transaction: the switch makes all of them, in their order, or none. They are sent in large chunks while the switch
// reads; the commit is sent only after the switch has accepted every one of them.
import { DaemonFailure } from '../transport/failures.ts';
import { BytesWriter } from './bytes-writer.ts';
import { BUNDLE, MESSAGE } from './message-codes.ts';
import type { OpenFlowMessage } from './message-frame.ts';
import type { OpenFlowConnection } from './connection-driver.ts';
import { putBundleControl, putBundled, type BundleRef } from './requests.ts';
import { ProtocolError, RefusedBySwitch } from './errors.ts';

/** The contents of a bundle. */
export interface BundleContents {
  readonly count: number;
  /** Writes the message at index `nth`. Throws when it cannot be encoded. */
  readonly put: (writer: BytesWriter, nth: number, xid: number) => void;
  /** Describes it for the error when it is refused. */
  readonly text: (nth: number) => string;
  readonly timeoutMs: number;
}

/** Large enough for few writes to the socket, small enough that other work gets its turn. */
const PIECE_BYTES = 128 * 1024;

interface BundleError {
  readonly nth: number;
  readonly error: string;
}

export async function runBundle(connection: OpenFlowConnection, contents: BundleContents): Promise<void> {
  const first = connection.xids(contents.count + 4);
  const bundle = new Bundle(connection, contents, first);
  try {
    await bundle.fill();
    await bundle.commit();
  } finally {
    bundle.end();
  }
}

class Bundle {
  readonly #connection: OpenFlowConnection;
  readonly #contents: BundleContents;
  readonly #first: number;
  readonly #unwatch: () => void;
  #opened: Promise<true> | undefined;
  #refusal: BundleError | undefined;

  constructor(connection: OpenFlowConnection, contents: BundleContents, first: number) {
    this.#connection = connection;
    this.#contents = contents;
    this.#first = first;
    const onRefused = (nth: number, error: string): void => {
      this.#refusal ??= { nth, error };
    };
    this.#unwatch = connection.watch({ first, count: contents.count, onRefused });
  }

  end(): void {
    this.#unwatch();
  }

  /** After this the switch has received all of it. */
  async fill(): Promise<void> {
    try {
      await this.#write();
      this.#throwRefusal();
    } catch (error) {
      if (this.#opened !== undefined) await this.#discard();
      throw error;
    }
  }

  async commit(): Promise<void> {
    const writer = new BytesWriter(64);
    const committed = this.#answer(writer, BUNDLE.commit);
    try {
      await this.#connection.write(writer.bytes.subarray(0, writer.length));
      await committed;
    } catch (error) {
      // The switch first reports which of them failed, then that the bundle failed.
      this.#throwRefusal();
      throw error;
    }
  }

  /** Opened, filled and closed without waiting in between: a short bundle is one write and one answer. */
  async #write(): Promise<void> {
    const { count, put } = this.#contents;
    const writer = new BytesWriter(Math.min(PIECE_BYTES, 256 * count) + 1024);
    putBundleControl(writer, this.#ref(BUNDLE.open), BUNDLE.open);
    for (let nth = 0; nth < count; nth += 1) {
      const ref = { xid: this.#first + nth, bundle: this.#first };
      putBundled(writer, ref, () => put(writer, nth, ref.xid));
      if (writer.length < PIECE_BYTES) continue;
      await this.#flush(writer);
      if (this.#refusal !== undefined) return; // it will not be committed
    }
    const closed = this.#answer(writer, BUNDLE.close);
    await this.#flush(writer);
    await this.#opened;
    await closed;
  }

  async #flush(writer: BytesWriter): Promise<void> {
    this.#opened ??= this.#expect(BUNDLE.open);
    await this.#connection.write(writer.bytes.subarray(0, writer.length));
    writer.length = 0;
  }

  /** A switch that cannot even discard the bundle forgets it by itself after a while. */
  async #discard(): Promise<void> {
    const writer = new BytesWriter(64);
    const discarded = this.#answer(writer, BUNDLE.discard);
    try {
      await this.#connection.write(writer.bytes.subarray(0, writer.length));
      await discarded;
    } catch (error) {
      if (!(error instanceof RefusedBySwitch || error instanceof DaemonFailure)) throw error;
    }
  }

  #throwRefusal(): void {
    if (this.#refusal === undefined) return;
    const { nth, error } = this.#refusal;
    throw new RefusedBySwitch(error, this.#contents.text(nth));
  }

  /** Writes the message, and registers for its answer. */
  #answer(writer: BytesWriter, type: number): Promise<true> {
    putBundleControl(writer, this.#ref(type), type);
    return this.#expect(type);
  }

  /** The caller may wait for something else first: this rejection must not be reported as unhandled. */
  #expect(type: number): Promise<true> {
    const { count, timeoutMs } = this.#contents;
    const answer = this.#connection.awaitReply({
      what: `a bundle of ${count} changes`,
      timeoutMs,
      xid: this.#ref(type).xid,
      take: (message) => checkControlReply(message, type + 1),
    });
    answer.catch(() => {});
    return answer;
  }

  #ref(type: number): BundleRef {
    return { xid: this.#first + this.#contents.count + type / 2, bundle: this.#first };
  }
}

function checkControlReply({ type, body }: OpenFlowMessage, wanted: number): true {
  if (type !== MESSAGE.bundleControl) throw new ProtocolError(`a message of type ${type} in answer to a bundle`);
  body.skip(4);
  const answer = body.u16();
  if (answer !== wanted) throw new ProtocolError(`${answer} in answer to a bundle, not ${wanted}`);
  return true;
}
