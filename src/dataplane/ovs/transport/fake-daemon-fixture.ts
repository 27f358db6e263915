// A daemon for tests, at the other end of a pair of streams: it does what the test says, and nothing by itself.
import { duplexPair, type Duplex } from 'node:stream';
import { ConnectionLost } from './failures.ts';
import { type JsonRpcMessage, readMessage } from './json-rpc.ts';
import { JsonStream } from './json-stream.ts';
import type { Dial } from './socket-driver.ts';

/** What is answered to a request; `undefined` is silence. */
export type Answers = (method: string, params: readonly unknown[], peer: FakePeer) => DaemonAnswer | undefined;

export type DaemonAnswer = { readonly result: unknown } | { readonly error: unknown };

export class FakePeer {
  /** Everything the client has said. */
  readonly received: JsonRpcMessage[] = [];
  /** The stream of the client. */
  readonly client: Duplex;
  readonly #stream: Duplex;
  readonly #incoming = new JsonStream(Number.MAX_SAFE_INTEGER);

  constructor(answers: Answers) {
    const [client, stream] = duplexPair();
    this.client = client;
    this.#stream = stream;
    stream.on('error', () => {});
    stream.on('data', (chunk: Uint8Array) => {
      for (const message of this.#incoming.push(chunk)) this.#take(readMessage(message), answers);
    });
  }

  send(message: object): void {
    this.sendText(JSON.stringify(message));
  }

  sendText(text: string | Uint8Array): void {
    this.#stream.write(text);
  }

  stopReading(): void {
    this.#stream.pause();
  }

  readOn(): void {
    this.#stream.resume();
  }

  /** Ends the connection as a daemon that stops does. */
  hangUp(): void {
    this.#stream.end();
  }

  methods(): string[] {
    return this.received.map((message) => ('method' in message ? message.method : message.kind));
  }

  #take(message: JsonRpcMessage, answers: Answers): void {
    this.received.push(message);
    if (message.kind !== 'request') return;
    const answer = answers(message.method, message.params, this);
    if (answer !== undefined) this.send({ id: message.id, ...answer });
  }
}

export class FakeDaemon {
  answers: Answers;
  readonly peers: FakePeer[] = [];
  /** What becomes of the next attempts to connect. */
  reachable: 'yes' | 'no' | 'silent' = 'yes';
  attempts = 0;

  constructor(answers: Answers) {
    this.answers = answers;
  }

  get peer(): FakePeer {
    const peer = this.peers.at(-1);
    if (peer === undefined) throw new Error('no client has connected');
    return peer;
  }

  readonly dial: Dial = (signal) => {
    this.attempts += 1;
    if (this.reachable === 'no') return Promise.reject(new ConnectionLost('refused'));
    if (this.reachable === 'silent') {
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new ConnectionLost('aborted')), { once: true });
      });
    }
    const peer = new FakePeer((...args) => this.answers(...args));
    this.peers.push(peer);
    return Promise.resolve(peer.client);
  };
}
