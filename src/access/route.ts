// A route as data: method, path, who may call it, the schemas of what goes in and comes out, and a handler without HTTP.
// Because it is data, authorisation, validation, forwarding, the API description and the fuzzer are written once.
import { Type, type Static, type TObject, type TProperties, type TSchema } from 'typebox';
import type { AnyDoc, FleetReader, Id, Kind, Refusal, Stored } from '../fleet/index.ts';
import type { Clock, Decision, Ids, Journal, Outcome, Request } from '../journal/index.ts';
import type { Authority } from './authority.ts';
import type { NewNames } from './new-names.ts';
import type { Access, Caller } from './role.ts';
import type { Redactor, RedactorFor } from './redactor.ts';
import type { Seal } from './secret.ts';
import type { Representation } from './representation.ts';

/** The journal as handlers see it. Nothing is submitted to it directly: the caller is authorised in the commit. */
export type ReadableJournal = Omit<Journal, 'submit' | 'lead' | 'stepDown' | 'open' | 'follow'>;

/** What handlers may use besides the call itself. Made once per server. */
export interface RouteContext {
  readonly journal: ReadableJournal;
  /** Has something decided for a caller, who must be authorised on the fleet that it is decided on. */
  readonly submit: <A>(authority: Authority, request: Omit<Request<A>, 'by' | 'authorize'>) => Promise<Outcome<A>>;
  readonly clock: Clock;
  readonly ids: Ids;
  /** SHA-256 as hexadecimal text: the only form in which a secret is kept. */
  readonly hash: (text: string) => string;
  /** Seals a secret for a document, before the decision that stores it. */
  readonly seal: Seal;
  /** Redacts what the caller may not see; undefined for one that sees everything. */
  readonly redactorFor: RedactorFor;
  /** Aborted when the server shuts down: long polls answer at once. */
  readonly closing: AbortSignal;
}

/** One request, checked against the route's schemas. */
export interface Call<P = unknown, Q = unknown, B = unknown> {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly caller: Caller;
  /** What the caller proved and what this route requires of it, for `World.submit`. */
  readonly authority: Authority;
  readonly requestId: string;
  /** A HEAD request: the body of the answer need not be rendered. */
  readonly headersOnly?: boolean;
  /** The media types that the caller takes, as it wrote them. */
  readonly accept?: string | undefined;
  /** What a client that reconnects saw last. */
  readonly lastEventId?: string | undefined;
}

export interface Answer {
  readonly kind: 'answer';
  readonly status: number;
  readonly body?: object;
  /** The body as JSON text, for what is rendered once and read often. */
  readonly text?: string;
  /**
   * The body as JSON text that is made while it is sent, for what is as large as the fleet: no more of it at a time than the reader takes,
   * yielding to the event loop in between. What it is made from must not change meanwhile.
   */
  readonly pieces?: () => Iterable<string>;
  /** Media type of `text` when it is not JSON. */
  readonly type?: string;
  /** The document that the answer shows and nothing else, so that a repeated request can be shown it again. */
  readonly shown?: { readonly kind: string; readonly id: string; readonly revision: number };
  /** The revision of the resource that is answered. */
  readonly etag?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** What `recompose` makes it from, beside the request. Every character of it is kept several times over. */
  readonly memo?: string;
  /** Shown in this answer and never again: not kept with an idempotency key, not logged. */
  readonly secrets?: Readonly<Record<string, string>>;
}

export type RefusalAnswer = Extract<Decision<never>, { kind: 'refuse' }>;
export type HandlerResult = Answer | RefusalAnswer;

/** The fleet as a commit leaves it: what the answer to a write is rendered from. */
export interface CommittedState {
  readonly revision: number;
  /** Of the caller, when it sees a part of the fleet only. */
  readonly redactor?: Redactor | undefined;
  get<K extends string, D extends AnyDoc>(kind: Kind<K, D>, id: Id<K>): Stored<K, D> | undefined;
}

/** What a decision came to: its result, and the fleet as its commit leaves it. */
export interface Committed<A> {
  readonly result: A;
  readonly after: CommittedState;
}

/** A change that the route submits. The API adds idempotency, If-Match and the caller's site to the same commit. */
export interface Write<A = unknown> {
  /** The resource that is changed: must exist (unless `optional`), be the caller's to see, and match If-Match. */
  readonly target?: {
    readonly representation: Representation<string, never>;
    readonly id: string;
    readonly optional?: boolean;
  };
  /** The names of what is made: those that are taken in another site are refused without a word about it. */
  readonly creates?: NewNames;
  readonly why?: string | undefined;
  readonly operation?: string | undefined;
  /** Pure: ids and times are captured before. */
  readonly decide: (fleet: FleetReader) => Decision<A>;
  /** Pure as well: it runs with the decision. */
  readonly answer: (committed: Committed<A>) => Answer;
  /**
   * For answers with a `memo`: makes the whole answer again for a repetition of the request. Pure; it must come out as it was, which is
   * tried before only the memo is kept.
   */
  readonly recompose?: (from: Recomposition) => Answer;
  /**
   * For a decision that rests on more than a commit has time for: when it is refused as `NOT_PREPARED`, this makes beforehand what it
   * lacked, in slices. Answers the same write with it, which is submitted next, or why it cannot be done.
   */
  readonly prepare?: () => Promise<Write<A> | Refusal>;
  /**
   * After the commit: waits for what it began, for a moment at most, and answers how things stand then. Undefined leaves the answer of the
   * commit, which is also what a repetition with the same key is answered.
   */
  readonly settle?: (committed: Answer) => Promise<Answer | undefined>;
}

/** What an answer is made from again, beside the request. */
export interface Recomposition {
  readonly memo: string;
  /** The target, when the answer showed it, as it was then. */
  readonly shown: Stored | undefined;
  readonly redactor: Redactor | undefined;
  /** Of the commit. */
  readonly operation: string | undefined;
}

/** Internal, between a decision and its `prepare`: never sent to a caller. */
export const NOT_PREPARED = 'not-prepared';

export function notPrepared(): RefusalAnswer {
  const message = 'What this request rests on has to be worked out first. Nothing was changed.';
  return { kind: 'refuse', refusal: { kind: 'conflict', code: NOT_PREPARED, message } };
}

/** The output of a stream. */
export interface StreamSink {
  /** Waits while the reader is slow; false when it is gone. */
  send(text: string): Promise<boolean>;
  /** Aborted when the reader is gone, its token has ended, or the server shuts down. */
  readonly closed: AbortSignal;
}

export interface StreamAnswer {
  readonly kind: 'stream';
  readonly type: string;
  readonly run: (out: StreamSink) => Promise<void>;
}

type MaybePromise<T> = T | Promise<T>;

/** `application/x-ndjson`: a JSON text a line. It is read as it comes, forwarded as it comes, and never kept as text. */
export type BodyType = 'application/json' | 'application/x-ndjson';

export interface LineLimits {
  readonly countMax: number;
  readonly bytesMax: number;
}

/** A line of a body, counted from 1. Empty lines count and are left out. */
export interface BodyLine<B = unknown> {
  readonly line: number;
  readonly value: B;
}

/** What every route says of itself. */
export interface RouteFields {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With `:name` for parameters: `/api/v1/hosts/:id`. A colon that is meant as one is written twice. */
  readonly path: string;
  /** Groups routes in the API description. */
  readonly tag: string;
  /** One sentence in the imperative. */
  readonly about: string;
  readonly access: Access;
  /** `fleet` (the default) refuses site-bound callers; `site` says that the handler shows each its own. */
  readonly scope?: 'fleet' | 'site';
  /** Set where a caller that is bound to a project has something to do, and is shown its own. */
  readonly forProjects?: true;
  /** Set where a manager of bare-metal nodes has something to do beside people. */
  readonly forManagers?: true;
  /**
   * What a server does that does not hold the deciding lease: answer (reads), forward (writes), or redirect the caller
   * to the lease holder (`misdirect`, 421).
   */
  readonly onFollower?: 'answer' | 'forward' | 'misdirect';
  /** Media types and errors are another protocol's; this API's own when nothing is said. */
  readonly dialect?: 'restconf';
  readonly params?: TObject;
  readonly query?: TObject;
  /** Of the body; of each line where it comes in lines. */
  readonly body?: TSchema;
  /** JSON unless said. */
  readonly bodyType?: BodyType;
  /** For a body that may be larger than those of others. */
  readonly bodyBytesMax?: number;
  /** For a body that may take longer than those of others until its last byte is there. */
  readonly bodyTimeMs?: number;
  /** For an answer that may take longer than those of others, from the last byte of the body on: a server that forwards the call waits for it. */
  readonly answerTimeMs?: number;
  /** Of a body that comes in lines. */
  readonly lines?: LineLimits;
  /** Makes, or would make, something by a name of the caller's choice: callers who try out names are stopped here. */
  readonly asksForNames?: true;
  /** A caller mostly sends what it sent last time. Such a body is neither read nor checked again; handlers must not change it. */
  readonly bodyRepeats?: true;
  /** Of a read: what it acts on outside the journal ends in a commit, which it submits for its caller. No other read may change the fleet. */
  readonly submitsCommits?: true;
  /** By which an agent gets a certificate: one of its own that has expired is enough. */
  readonly renewsCertificate?: true;
  /** For monitoring of this server: exempt from the limits of unauthenticated clients at the same address. */
  readonly isProbe?: true;
  /**
   * Whether answering a call means looking through the fleet. Such calls are answered in turn by caller, with turns of the
   * event loop between them.
   */
  readonly scansFleet?: (call: { readonly query: unknown; readonly caller: Caller }) => boolean;
  /**
   * Set where answering means planning on the newest fleet, at a cost that grows with the request. Such calls are decided one
   * at a time, in turn by caller, and everything else has its turn between two of them.
   */
  readonly plansOnFleet?: true;
  /**
   * Set where answering, or preparing a write, means looking at another system, which takes as long as that system does: so many at once, in turn by
   * caller, and apart from plans.
   */
  readonly looksOutside?: true;
  /** Successful answers by status. */
  readonly answers: Readonly<Record<number, AnswerDescription>>;
}

export interface AnswerDescription {
  readonly about: string;
  readonly schema?: TSchema;
  /** Media type when it is not JSON. */
  readonly type?: string;
}

export type Route = RouteFields &
  (
    | { readonly kind: 'read'; readonly handle: (call: Call, world: RouteContext) => MaybePromise<HandlerResult> }
    | { readonly kind: 'write'; readonly handle: (call: Call, world: RouteContext) => Write | RefusalAnswer }
    | {
        readonly kind: 'stream';
        readonly handle: (call: Call, world: RouteContext) => MaybePromise<StreamAnswer | HandlerResult>;
      }
    | (BulkLimits & {
        readonly kind: 'bulk';
        readonly handle: (call: Call, world: RouteContext) => Promise<HandlerResult>;
      })
  );

/** What a body in lines takes: none of it has a usual size. */
type BulkLimits = Required<Pick<RouteFields, 'body' | 'bodyBytesMax' | 'bodyTimeMs' | 'answerTimeMs' | 'lines'>>;

interface Schemas<P extends TObject, Q extends TObject, B extends TSchema> {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
}

type CallOf<P extends TObject, Q extends TObject, B extends TSchema> = Call<Static<P>, Static<Q>, Static<B>>;

type RouteDefinition<P extends TObject, Q extends TObject, B extends TSchema, R> = Omit<
  RouteFields,
  'params' | 'query' | 'body'
> &
  Schemas<P, Q, B> & { readonly handle: (call: CallOf<P, Q, B>, world: RouteContext) => R };

/** Answers from what is; also for calls that act outside the journal, such as an agent's heartbeat. */
export function read<P extends TObject, Q extends TObject, B extends TSchema>(
  route: RouteDefinition<P, Q, B, MaybePromise<HandlerResult>>,
): Route {
  return { ...(route as unknown as RouteFields & { handle: () => MaybePromise<HandlerResult> }), kind: 'read' };
}

/** Changes the fleet by one commit. */
export function write<P extends TObject, Q extends TObject, B extends TSchema, A>(
  route: RouteDefinition<P, Q, B, Write<A> | RefusalAnswer>,
): Route {
  return { ...(route as unknown as RouteFields & { handle: () => Write | RefusalAnswer }), kind: 'write' };
}

/** Answers for as long as the caller listens. */
export function stream<P extends TObject, Q extends TObject, B extends TSchema>(
  route: RouteDefinition<P, Q, B, MaybePromise<StreamAnswer | HandlerResult>>,
): Route {
  return {
    ...(route as unknown as RouteFields & { handle: () => MaybePromise<StreamAnswer | HandlerResult> }),
    kind: 'stream',
  };
}

/**
 * Changes the fleet by many commits. The handler gets all lines, each checked against the schema, once the last one is there: a body that is cut
 * or has a bad line changes nothing. Repeating a call that was interrupted has to complete it; so there is no Idempotency-Key.
 */
export function bulk<P extends TObject, Q extends TObject, B extends TSchema>(
  route: Omit<RouteFields, 'params' | 'query' | 'body' | 'bodyType'> &
    Schemas<P, Q, B> &
    Omit<BulkLimits, 'body'> & {
      readonly body: B;
      readonly handle: (
        call: Call<Static<P>, Static<Q>, readonly BodyLine<Static<B>>[]>,
        world: RouteContext,
      ) => Promise<HandlerResult>;
    },
): Route {
  const fields = route as unknown as RouteFields & BulkLimits & { handle: () => Promise<HandlerResult> };
  return { ...fields, bodyType: 'application/x-ndjson', kind: 'bulk' };
}

/** An object that allows its own fields only: everything else is refused by name. */
export function strictObject<T extends TProperties>(
  fields: T,
  options: { readonly minProperties?: number } = {},
): TObject<T> {
  return Type.Object(fields, { ...options, additionalProperties: false });
}

/** The fields of an object, each of them optional. */
export function optionalFields<F extends Readonly<Record<string, TSchema>>>(
  fields: F,
): { [K in keyof F]: ReturnType<typeof Type.Optional<F[K]>> } {
  const entries = Object.entries(fields).map(([name, field]) => [name, Type.Optional(field)]);
  return Object.fromEntries(entries) as { [K in keyof F]: ReturnType<typeof Type.Optional<F[K]>> };
}

/** An id as it appears in paths and bodies. */
export const ID = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:@-]{0,199}$',
  'x-form': 'an id of letters, digits and . _ : @ - (at most 200)',
  description: 'letters, digits and . _ : @ -, at most 200',
});

/** Marks a field that names a host; `kind/id` and `id` (beside `kind`) do when the kind is `host`. */
export const HOST_MARK = 'x-host';
export type HostMark = 'name' | 'kind/id' | 'id';

/** A host by any of its ids: routes get its name instead. A topology id has slashes, which are encoded in a path. */
export const HOST_REF = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._:@/-]{0,199}$',
  'x-form': 'an id of letters, digits and . _ : @ / - (at most 200)',
  [HOST_MARK]: 'name' satisfies HostMark,
  description: 'name, system id, datapath id or topology id of a host',
});

export const BY_ID = strictObject({ id: ID });
