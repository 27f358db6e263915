// Calls to the API of Ironic, in the newest version that both sides know. What does not answer, or not as Ironic does, is `InventoryUnavailable`; what
// Ironic refuses is `IronicRefusal`. Nothing here decides what a refusal means.
import { InventoryUnavailable } from '../inventory.ts';

/** The newest version that this driver requests: nothing it uses came later. */
const VERSION_WANTED: IronicVersion = [1, 65];
const ALLOCATIONS_SINCE: IronicVersion = [1, 52];
const VERSION_HEADER = 'x-openstack-ironic-api-version';
const VERSION_MAX_HEADER = 'x-openstack-ironic-api-maximum-version';
/** An upgraded inventory is noticed after this, without a restart. */
const VERSION_KEPT_MS = 30_000;
const UNAUTHENTICATED = 401;
const ANSWER_TIMEOUT_MS = 20_000;
/** A thousand nodes with every requested field. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024;

export type IronicVersion = readonly [major: number, minor: number];

export interface IronicClientOptions {
  /** Without `/v1`. */
  readonly url: string;
  /** The headers that authenticate a request, where the inventory requires any; read for each request, since they may be replaced. */
  readonly authorize?: (() => Promise<Readonly<Record<string, string>>>) | undefined;
  /** Milliseconds of a clock that cannot be set. */
  readonly steadyMs: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** It understood the request and does not do it. */
export class IronicRefusal extends Error {
  readonly code = 'inventory-refused';
  readonly retryable = false;
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'IronicRefusal';
    this.status = status;
  }
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

interface IronicRequest {
  readonly method: Method;
  readonly path: string;
  readonly body?: object;
  readonly signal: AbortSignal;
}

export class IronicClient {
  readonly #options: IronicClientOptions;
  #known: { readonly version: IronicVersion; readonly atMs: number } | undefined;

  constructor(options: IronicClientOptions) {
    this.#options = options;
  }

  get url(): string {
    return this.#options.url;
  }

  /** The version in which it is spoken to. */
  async version(signal: AbortSignal): Promise<IronicVersion> {
    const nowMs = this.#options.steadyMs();
    if (this.#known !== undefined && nowMs - this.#known.atMs < VERSION_KEPT_MS) return this.#known.version;
    const { response } = await this.#fetch({ method: 'GET', path: '/v1/', signal }, VERSION_WANTED);
    const newest = parseVersion(response.headers.get(VERSION_MAX_HEADER));
    if (newest === undefined) throw new InventoryUnavailable(`${this.#options.url} does not answer as Ironic does`);
    const version = isAtLeast(newest, VERSION_WANTED) ? VERSION_WANTED : newest;
    this.#known = { version, atMs: nowMs };
    return version;
  }

  /** Whether it has the endpoint that claims are made by. */
  async hasAllocations(signal: AbortSignal): Promise<boolean> {
    return isAtLeast(await this.version(signal), ALLOCATIONS_SINCE);
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.#options.sleep(ms, signal);
  }

  /** The value that is answered; undefined where there is none. */
  async send(request: IronicRequest): Promise<unknown> {
    const { response, text } = await this.#fetch(request, await this.version(request.signal));
    if (response.ok) return text === '' ? undefined : parseAnswer(text);
    // It could not be done now: nothing is known of what it was to do.
    if (response.status >= 500) throw new InventoryUnavailable(`Ironic answered ${response.status}: ${faultIn(text)}`);
    // The caller is refused, not the request: with other credentials it is answered.
    if (response.status === UNAUTHENTICATED)
      throw new InventoryUnavailable(`Ironic does not accept the credentials of this program: ${faultIn(text)}`);
    throw new IronicRefusal(response.status, faultIn(text));
  }

  async #fetch({ method, path, body, signal }: IronicRequest, [major, minor]: IronicVersion) {
    const { url, authorize } = this.#options;
    const limit = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    try {
      const response = await fetch(`${url.replace(/\/+$/, '')}${path}`, {
        method,
        headers: {
          accept: 'application/json',
          [VERSION_HEADER]: `${major}.${minor}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(await authorize?.()),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        // Whoever is there would be shown the credentials.
        redirect: 'error',
        signal: AbortSignal.any([signal, limit]),
      });
      return { response, text: await readText(response) };
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      const why = limit.aborted ? 'it did not answer in time' : describeFailure(cause);
      throw new InventoryUnavailable(`Ironic at ${url}: ${why}`, { cause });
    }
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) throw new InventoryUnavailable('its answer is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function describeFailure(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.cause instanceof Error && cause.cause.message !== '' ? cause.cause.message : cause.message;
}

function parseAnswer(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new InventoryUnavailable('Ironic answered something that is no JSON', { cause });
  }
}

/** The fault is JSON text within JSON. */
function faultIn(text: string): string {
  try {
    const { error_message: outer } = JSON.parse(text) as { readonly error_message?: unknown };
    const fault = typeof outer === 'string' ? (JSON.parse(outer) as unknown) : outer;
    const { faultstring } = fault as { readonly faultstring?: unknown };
    if (typeof faultstring === 'string') return faultstring;
  } catch (error) {
    if (!(error instanceof SyntaxError) && !(error instanceof TypeError)) throw error;
  }
  return text.slice(0, 300);
}

function parseVersion(text: string | null): IronicVersion | undefined {
  const [, major, minor] = /^(\d+)\.(\d+)$/.exec(text ?? '') ?? [];
  return major === undefined ? undefined : [Number(major), Number(minor)];
}

function isAtLeast([major, minor]: IronicVersion, [wantedMajor, wantedMinor]: IronicVersion): boolean {
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}
