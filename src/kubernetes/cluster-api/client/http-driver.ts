// One HTTP exchange with the API of a cluster, in the place of the client's own: connections are kept, no redirect is followed (it may lead anywhere, and the answer
// from there would be shown), and an answer has an end.
import { Agent as PlainAgent, request as requestPlain, type AgentOptions, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent, request as requestTls } from 'node:https';
import type { RequestContext } from '@kubernetes/client-node';
import type { ClusterAccess } from './access.ts';

/** A page of 500 pods has about 10 MiB; budgets come in one list. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Evictions come ten at a time, of up to 32 nodes. */
const CONNECTIONS_MAX = 50;
/** One of Nodes and one of pods, and those that are just ending. */
const STREAMS_MAX = 8;
/** Sooner than API servers and what is in front of them end an idle connection. */
const IDLE_MS = 20_000;

export interface ClusterAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

export class ClusterHttp {
  readonly #isPlain: boolean;
  readonly #agent: PlainAgent;
  /** Each has a connection of its own, which ends with it. */
  readonly #streams: PlainAgent;

  constructor({ endpoint = '', caCertificate, tlsServerName, skipTlsVerify, credentials }: ClusterAccess) {
    this.#isPlain = endpoint.startsWith('http:');
    const trust = {
      rejectUnauthorized: skipTlsVerify !== true,
      ...(caCertificate !== undefined && { ca: caCertificate }),
      ...(tlsServerName !== undefined && { servername: tlsServerName }),
      ...(credentials?.kind === 'certificate' && { cert: credentials.certificate, key: credentials.key }),
    };
    const makeAgent = (options: AgentOptions) =>
      this.#isPlain ? new PlainAgent(options) : new TlsAgent({ ...options, ...trust });
    this.#agent = makeAgent({ keepAlive: true, maxSockets: CONNECTIONS_MAX, timeout: IDLE_MS });
    this.#streams = makeAgent({ keepAlive: false, maxSockets: STREAMS_MAX });
  }

  async send(context: RequestContext): Promise<ClusterAnswer> {
    return readWhole(await this.#begin(context, this.#agent));
  }

  /** Hands on what comes, piece by piece, and closes the connection; a refusal is answered whole. */
  async stream(
    context: RequestContext,
    receive: (text: string) => Promise<'more' | 'end'>,
  ): Promise<ClusterAnswer | undefined> {
    const response = await this.#begin(context, this.#streams);
    if (response.statusCode !== 200) return readWhole(response);
    response.setEncoding('utf8');
    for await (const text of response as AsyncIterable<string>) if ((await receive(text)) === 'end') break;
    return undefined;
  }

  #begin(context: RequestContext, agent: PlainAgent): Promise<IncomingMessage> {
    const given = context.getBody();
    const body = typeof given === 'string' ? Buffer.from(given) : undefined;
    const signal = context.getSignal();
    const options = {
      method: context.getHttpMethod(),
      // Said, since Node takes a deletion to have no body, and would leave its end open.
      headers: { ...context.getHeaders(), ...(body !== undefined && { 'content-length': body.length }) },
      agent,
      ...(signal !== undefined && { signal }),
    };
    return new Promise((resolve, reject) => {
      const request = (this.#isPlain ? requestPlain : requestTls)(context.getUrl(), options, resolve);
      request.on('error', reject);
      request.end(body);
    });
  }
}

async function readWhole(response: IncomingMessage): Promise<ClusterAnswer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > ANSWER_BYTES_MAX) throw new AnswerTooLarge();
    parts.push(part);
  }
  const headers = Object.entries(response.headers).map(([name, value]) => [name, String(value)]);
  return {
    status: response.statusCode ?? 0,
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: Buffer.concat(parts).toString(),
  };
}

/** Whoever sends so much is no API of Kubernetes, or one that would use up the memory here. */
class AnswerTooLarge extends Error {
  constructor() {
    super(`its answer is larger than ${ANSWER_BYTES_MAX / 1024 / 1024} MiB`);
    this.name = 'AnswerTooLarge';
  }
}
