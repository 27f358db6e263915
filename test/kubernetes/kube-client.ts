// A plain client of the Kubernetes API for tests: what was sent and what was answered, without a library's own opinion. It stands beside the
// product's client, so that a test does not see through the eyes of what it tests.
import { once } from 'node:events';
import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { type KubeAccess, readKubeconfig } from './kubeconfig.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface KubeAnswer<Body = KubeObject> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Empty when the answer was not JSON. */
  readonly body: Body;
}

/** What most objects have. A test that looks at more says what it expects there. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly creationTimestamp?: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
  };
}

export interface KubeList<Item extends KubeObject = KubeObject> {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly Item[];
}

/** The API said no: `status` and `reason` say why. */
export class KubeRefusal extends Error {
  readonly status: number;
  readonly reason: string | undefined;

  constructor(call: string, { status, body }: KubeAnswer<unknown>) {
    const { message, reason } = body as { message?: string; reason?: string };
    super(`${call}: ${status} ${reason ?? ''} ${message ?? ''}`);
    this.status = status;
    this.reason = reason;
  }
}

export interface KubeWatchEvent<Item extends KubeObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: Item;
}

const PATCH_TYPES = {
  strategic: 'application/strategic-merge-patch+json',
  merge: 'application/merge-patch+json',
} as const;

export class KubeClient {
  readonly access: KubeAccess;
  readonly #agent: Agent | HttpAgent;

  constructor(access: KubeAccess) {
    this.access = access;
    const { ca, skipsVerification, user, endpoint } = access;
    this.#agent = endpoint.startsWith('http:')
      ? new HttpAgent({ keepAlive: true })
      : new Agent({
          keepAlive: true,
          ca,
          cert: user.certificate,
          key: user.key,
          rejectUnauthorized: skipsVerification !== true,
        });
  }

  static of(kubeconfig: string): KubeClient {
    return new KubeClient(readKubeconfig(kubeconfig));
  }

  /** Whatever is answered is answered; it throws only when nothing is. */
  async send<Body = KubeObject>(method: Method, path: string, body?: unknown): Promise<KubeAnswer<Body>> {
    const answer = await this.#request(method, path, { body });
    const content = await text(answer);
    const isJson = answer.headers['content-type']?.startsWith('application/json') === true;
    return {
      status: answer.statusCode ?? 0,
      headers: answer.headers,
      body: (isJson ? JSON.parse(content) : {}) as Body,
    };
  }

  async get<Body = KubeObject>(path: string): Promise<Body> {
    return this.#need<Body>('GET', path);
  }

  /** Undefined when it is not there. */
  async find<Body = KubeObject>(path: string): Promise<Body | undefined> {
    const answer = await this.send<Body>('GET', path);
    if (answer.status === 404) return undefined;
    if (answer.status >= 300) throw new KubeRefusal(`GET ${path}`, answer);
    return answer.body;
  }

  async list<Item extends KubeObject = KubeObject>(path: string): Promise<readonly Item[]> {
    return (await this.get<KubeList<Item>>(path)).items;
  }

  async create<Body = KubeObject>(path: string, body: unknown): Promise<Body> {
    return this.#need<Body>('POST', path, body);
  }

  async patch<Body = KubeObject>(
    path: string,
    body: unknown,
    kind: keyof typeof PATCH_TYPES = 'strategic',
  ): Promise<Body> {
    const answer = await this.#request('PATCH', path, { body, type: PATCH_TYPES[kind] });
    const content = JSON.parse(await text(answer)) as Body;
    const result = { status: answer.statusCode ?? 0, headers: answer.headers, body: content };
    if (result.status >= 300) throw new KubeRefusal(`PATCH ${path}`, result);
    return content;
  }

  /** Whether it was there. */
  async delete(path: string, options?: object): Promise<boolean> {
    const answer = await this.send('DELETE', path, options);
    if (answer.status === 404) return false;
    if (answer.status >= 300) throw new KubeRefusal(`DELETE ${path}`, answer);
    return true;
  }

  /** Events until the API ends the stream or `stop` is aborted, whatever ends it. */
  async *watch<Item extends KubeObject>(path: string, stop: AbortSignal): AsyncGenerator<KubeWatchEvent<Item>> {
    const answer = await this.#request('GET', `${path}${path.includes('?') ? '&' : '?'}watch=true`, { stop });
    answer.on('error', () => {});
    for await (const line of createInterface({ input: answer })) yield JSON.parse(line) as KubeWatchEvent<Item>;
  }

  close(): void {
    this.#agent.destroy();
  }

  async #need<Body>(method: Method, path: string, body?: unknown): Promise<Body> {
    const answer = await this.send<Body>(method, path, body);
    if (answer.status >= 300) throw new KubeRefusal(`${method} ${path}`, answer);
    return answer.body;
  }

  async #request(
    method: Method,
    path: string,
    { body, type = 'application/json', stop }: { body?: unknown; type?: string; stop?: AbortSignal },
  ): Promise<IncomingMessage> {
    const { endpoint, user } = this.access;
    const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const request: ClientRequest = (endpoint.startsWith('http:') ? httpRequest : httpsRequest)(`${endpoint}${path}`, {
      method,
      agent: this.#agent,
      headers: {
        accept: 'application/json',
        ...(user.token !== undefined && { authorization: `Bearer ${user.token}` }),
        // Node says no length by itself when it is a DELETE, and the next call on the connection would begin with this one's body.
        ...(content !== undefined && { 'content-type': type, 'content-length': content.length }),
      },
      ...(stop !== undefined && { signal: stop }),
    });
    // One after the answer has begun ends the reading of it.
    request.on('error', () => {});
    request.end(content);
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    return answer;
  }
}
