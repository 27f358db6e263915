// What is said between the lab and its traffic programs, of which there is one in each namespace.
import type { ArrivalStats } from './arrivals.ts';

interface FlowTarget {
  /** One number for one flow of a load, at all programs. */
  readonly flow: number;
  readonly address: string;
  readonly port: number;
  /** Any free one if it is not given. */
  readonly sourcePort?: number;
}

/** Sends a packet every so often, and expects each back. */
export interface EchoFlow extends FlowTarget {
  readonly kind: 'echo';
  readonly everyMs: number;
}

/** Greets once, and from then on only receives. */
export interface PushFlow extends FlowTarget {
  readonly kind: 'push';
  readonly everyMs: number;
}

/** A connection that data flows through for as long as the load lasts. */
export interface TcpFlow extends FlowTarget {
  readonly kind: 'upload' | 'download';
  readonly everyMs: number;
  readonly bytes: number;
}

/** New echo flows all the time, each with a few packets: what begins in the middle of an event. */
export interface BeginningFlows extends FlowTarget {
  /** Its port is that of the first of them, the next one has the port after it, and so on. */
  readonly kind: 'beginning';
  /** The flow has the first of its numbers; there are no more than this. */
  readonly most: number;
  readonly newEveryMs: number;
  readonly packets: number;
  readonly everyMs: number;
}

export type ClientFlow = EchoFlow | PushFlow | TcpFlow | BeginningFlows;

export type TrafficTask =
  /** Answers on this port, by UDP and TCP. */
  | { readonly kind: 'serve'; readonly port: number }
  /** Ends pushing: what is on its way may still arrive before the counts are taken. */
  | { readonly kind: 'quiet' }
  /** Answers what was received since the last call. */
  | { readonly kind: 'served' }
  /** Opens flows and makes sure that each works; nothing counts yet. */
  | { readonly kind: 'prepare'; readonly flows: readonly ClientFlow[] }
  | { readonly kind: 'begin' }
  /** Ends the flows, waits for what is on its way, and says what came of them. */
  | { readonly kind: 'end' };

/** A packet that did not come back, and when it was sent, by the clock on the wall. */
export interface LostPacket {
  readonly sequence: number;
  readonly sentAtMs: number;
}

export interface ServedFlow extends ArrivalStats {
  readonly flow: number;
  /** Packets that were pushed, or bytes that were sent by TCP. */
  readonly sent: number;
  readonly receivedBytes: number;
}

export interface ClientResult extends ArrivalStats {
  readonly flow: number;
  readonly kind: 'echo' | 'push' | 'upload' | 'download';
  /** Packets, or bytes by TCP. */
  readonly sent: number;
  readonly receivedBytes: number;
  /** Its pace: so long nothing arrives when all is well. */
  readonly everyMs: number;
  /** Of an echo flow: what did not come back, the first of it. */
  readonly lost?: readonly LostPacket[];
  /** Of a connection: what ended it. */
  readonly failure?: string;
}

export interface TrafficCall {
  readonly call: number;
  readonly task: TrafficTask;
}

export type TrafficAnswer =
  { readonly call: number; readonly result: unknown } | { readonly call: number; readonly failed: string };
