// A connection to the API of one cluster through the official client, which is loaded when the first cluster is used. Each call has a limit of its own, and ends with
// its signal.
import type {
  ApiType,
  Configuration,
  ConfigurationOptions,
  Observable,
  ObservableMiddleware,
  RequestContext,
  ResponseContext,
} from '@kubernetes/client-node';
import type * as kubernetes from '@kubernetes/client-node';
import { ClusterUnreachable, type ClusterCallOptions } from '../cluster-api.ts';
import type { SecretMask } from '../../../access/index.ts';
import { malformedAnswer } from './answers.ts';
import { maskOf, type ClusterAccess } from './access.ts';
import { statusOf, toClusterError, type ApiStatus } from './errors.ts';
import type { ClusterHttp } from './http-driver.ts';

/** A healthy API answers in less; a request that takes longer is repeated. */
const CALL_MAX_MS = 15_000;

type OfficialClient = typeof kubernetes;
export type ClusterRequestOptions = ConfigurationOptions;

const JSON_HEADERS = { 'content-type': 'application/json' };

interface StreamedRequest {
  readonly send: (how: ClusterRequestOptions) => Promise<unknown>;
  /** Called with the next piece when it has dealt with the one before. */
  readonly receive: (text: string) => Promise<'more' | 'end'>;
  readonly maxMs: number;
}

interface LoadedClient {
  readonly client: OfficialClient;
  readonly http: ClusterHttp;
}

export class ClusterConnection {
  readonly client: OfficialClient;
  readonly #mask: SecretMask;
  readonly #config: InstanceType<OfficialClient['KubeConfig']>;
  readonly #http: ClusterHttp;

  private constructor({ client, http }: LoadedClient, access: ClusterAccess) {
    this.client = client;
    this.#mask = maskOf(access.credentials);
    this.#config = configOf(client, access);
    this.#http = http;
  }

  static async open(access: ClusterAccess): Promise<ClusterConnection> {
    const [client, { ClusterHttp }] = await Promise.all([
      import('@kubernetes/client-node'),
      import('./http-driver.ts'),
    ]);
    return new ClusterConnection({ client, http: new ClusterHttp(access) }, access);
  }

  /** One of the client's groups of requests. */
  group<T extends ApiType>(type: new (config: Configuration) => T): T {
    return this.#config.makeApiClient(type);
  }

  /** Carries out one request. An answer that is an error is thrown as one of the port. */
  async call<T>(
    { signal }: ClusterCallOptions,
    send: (how: ClusterRequestOptions) => Promise<T>,
    contentType?: string,
  ): Promise<T> {
    signal.throwIfAborted();
    const limited = AbortSignal.any([signal, AbortSignal.timeout(CALL_MAX_MS)]);
    try {
      const answer: unknown = await send(this.#optionsFor(limited, contentType));
      if (typeof answer !== 'object' || answer === null) throw malformedAnswer();
      return answer as T;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ClusterUnreachable) throw error;
      throw toClusterError(error, (text) => this.#mask.mask(text));
    }
  }

  /** A request whose answer is read while it comes: until it ends, `receive` has enough, the signal is aborted, or it has lasted for `maxMs`. */
  async stream({ signal }: ClusterCallOptions, { send, receive, maxMs }: StreamedRequest): Promise<void> {
    signal.throwIfAborted();
    const limited = AbortSignal.any([signal, AbortSignal.timeout(maxMs)]);
    const take = (text: string) => receive(this.#mask.mask(text));
    try {
      await send({
        ...this.#optionsFor(limited, undefined),
        httpApi: { send: (context) => this.#stream(context, take) },
      });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ClusterUnreachable) throw error;
      throw toClusterError(error, (text) => this.#mask.mask(text));
    }
  }

  /** As `call`; the answers for which `means` has a word are no errors. */
  async attempt<T, A>(
    how: ClusterCallOptions,
    send: (how: ClusterRequestOptions) => Promise<T>,
    means: (status: ApiStatus) => A | undefined,
    contentType?: string,
  ): Promise<T | { readonly means: A }> {
    let meaning: A | undefined;
    try {
      return await this.call(
        how,
        async (options) => {
          try {
            return await send(options);
          } catch (error) {
            const status = statusOf(error);
            meaning = status === undefined ? undefined : means(status);
            throw error;
          }
        },
        contentType,
      );
    } catch (error) {
      if (meaning === undefined) throw error;
      return { means: meaning };
    }
  }

  /** What the peer repeats of the credentials is taken out of every answer before it is read: it may be in a name as well as in an error. */
  #send(context: RequestContext): Observable<ResponseContext> {
    const { Observable, ResponseContext } = this.client;
    const answered = this.#http
      .send(context)
      .then(({ status, headers, body }) => new ResponseContext(status, headers, bodyOf(this.#mask.mask(body))));
    return new Observable(answered);
  }

  /** What was read is answered as an empty list: the client takes the answer for one. */
  #stream(context: RequestContext, receive: StreamedRequest['receive']): Observable<ResponseContext> {
    const { Observable, ResponseContext } = this.client;
    const answered = this.#http.stream(context, receive).then((refused) => {
      const { status, headers, body } = refused ?? { status: 200, headers: JSON_HEADERS, body: '{"items":[]}' };
      return new ResponseContext(status, headers, bodyOf(this.#mask.mask(body)));
    });
    return new Observable(answered);
  }

  #optionsFor(signal: AbortSignal, contentType: string | undefined): ClusterRequestOptions {
    const { Observable } = this.client;
    const toObservable = <T>(value: T) => new Observable(Promise.resolve(value));
    const prepare: ObservableMiddleware = {
      pre: (context) => {
        context.setSignal(signal);
        if (contentType !== undefined) context.setHeaderParam('Content-Type', contentType);
        return toObservable(context);
      },
      post: toObservable,
    };
    return {
      middleware: [prepare],
      middlewareMergeStrategy: 'append',
      httpApi: { send: (context) => this.#send(context) },
    };
  }
}

/** In the form in which the client takes an answer. */
function bodyOf(text: string) {
  return { text: async () => text, binary: async () => Buffer.from(text), stream: () => null };
}

const USER = 'muster';

function configOf(client: OfficialClient, access: ClusterAccess): InstanceType<OfficialClient['KubeConfig']> {
  const { name, endpoint = '', caCertificate, tlsServerName, skipTlsVerify, credentials } = access;
  const config = new client.KubeConfig();
  config.loadFromOptions({
    clusters: [
      {
        name,
        server: endpoint,
        // The client refuses plain HTTP unless verification is off.
        skipTLSVerify: skipTlsVerify === true || endpoint.startsWith('http:'),
        ...(caCertificate !== undefined && { caData: encode(caCertificate) }),
        ...(tlsServerName !== undefined && { tlsServerName }),
      },
    ],
    users: [{ name: USER, ...userOf(credentials) }],
    contexts: [{ name, cluster: name, user: USER }],
    currentContext: name,
  });
  return config;
}

function userOf(credentials: ClusterAccess['credentials']): object {
  switch (credentials?.kind) {
    case 'token':
      return { token: credentials.token };
    case 'certificate':
      return { certData: encode(credentials.certificate), keyData: encode(credentials.key) };
    case 'password':
      return { username: credentials.user, password: credentials.password };
    case undefined:
      return {};
  }
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}
