// One HTTP exchange with the API of a cluster, in the place of the client's own: connections are kept, no redirect is followed (it may lead anywhere, and the answer
// from there would be shown), and an answer has an end.
import { Agent as PlainAgent, request as requestPlain, type IncomingMessage } from 'node:http';
import { Agent as TlsAgent, request as requestTls } from 'node:https';
import type { RequestContext } from '@kubernetes/client-node';
import type { ClusterAccess } from './access.ts';

/** A page of 500 pods has about 10 MiB; budgets come in one list. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
/** Evictions come ten at a time, of up to 32 nodes. */
const CONNECTIONS_MAX = 50;
/** Sooner than API servers and what is in front of them end a connection that nobody uses. */
const IDLE_MS = 20_000;

export interface ClusterAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

export class ClusterHttp {
  readonly #isPlain: boolean;
  readonly #agent: PlainAgent;

  constructor({ endpoint = '', caCertificate, tlsServerName, skipTlsVerify, credentials }: ClusterAccess) {
    this.#isPlain = endpoint.startsWith('http:');
    const kept = { keepAlive: true, maxSockets: CONNECTIONS_MAX, timeout: IDLE_MS };
    this.#agent = this.#isPlain
      ? new PlainAgent(kept)
      : new TlsAgent({
          ...kept,
          rejectUnauthorized: skipTlsVerify !== true,
          ...(caCertificate !== undefined && { ca: caCertificate }),
          ...(tlsServerName !== undefined && { servername: tlsServerName }),
          ...(credentials?.kind === 'certificate' && { cert: credentials.certificate, key: credentials.key }),
        });
  }

  async send(context: RequestContext): Promise<ClusterAnswer> {
    const response = await this.#begin(context);
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

  #begin(context: RequestContext): Promise<IncomingMessage> {
    const given = context.getBody();
    const body = typeof given === 'string' ? Buffer.from(given) : undefined;
    const signal = context.getSignal();
    const options = {
      method: context.getHttpMethod(),
      // Said, since Node takes a deletion to have no body, and would leave its end open.
      headers: { ...context.getHeaders(), ...(body !== undefined && { 'content-length': body.length }) },
      agent: this.#agent,
      ...(signal !== undefined && { signal }),
    };
    return new Promise((resolve, reject) => {
      const request = (this.#isPlain ? requestPlain : requestTls)(context.getUrl(), options, resolve);
      request.on('error', reject);
      request.end(body);
    });
  }
}

/** Whoever sends so much is no API of Kubernetes, or one that would use up the memory here. */
class AnswerTooLarge extends Error {
  constructor() {
    super(`its answer is larger than ${ANSWER_BYTES_MAX / 1024 / 1024} MiB`);
    this.name = 'AnswerTooLarge';
  }
}
