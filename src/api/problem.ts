// Everything that goes wrong, as application/problem+json (RFC 9457): a stable code, a sentence that says what to do, the
// offending field. It never shows a stack, a secret, or what an internal error said.
import type { BodyType } from '../access/index.ts';
import type { SchemaProblem, Refusal } from '../fleet/index.ts';
import { NotHolder, StoreUnavailable } from '../journal/index.ts';
import { http } from '../link/index.ts';

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

interface HttpProblemOptions {
  readonly status: number;
  readonly code: string;
  /** What is wrong and what to do. */
  readonly detail: string;
  readonly field?: string | undefined;
  readonly problems?: readonly SchemaProblem[];
  readonly facts?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A problem as an error. Thrown inside the API only: modules return refusals. */
export class HttpProblem extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly field: string | undefined;
  readonly #options: HttpProblemOptions;

  constructor(options: HttpProblemOptions) {
    super(options.detail);
    this.name = 'HttpProblem';
    this.status = options.status;
    this.code = options.code;
    this.headers = options.headers ?? {};
    this.field = options.field;
    this.#options = options;
  }

  body(requestId: string): object {
    const { status, code, detail, field, problems, facts } = this.#options;
    return {
      ...facts,
      type: `urn:muster:problem:${code}`,
      title: http.STATUS_CODES[status] ?? 'Error',
      status,
      detail,
      code,
      ...(field !== undefined && { field }),
      ...(problems !== undefined && { problems }),
      requestId,
    };
  }
}

/** RFC 9110 requires it with every 401. */
const CHALLENGE = { 'www-authenticate': 'Bearer realm="muster"' };

const STATUS_OF: Readonly<Record<Refusal['kind'], number>> = {
  malformed: 400,
  invalid: 422,
  'not-found': 404,
  conflict: 409,
  unauthenticated: 401,
  forbidden: 403,
  precondition: 412,
  limit: 413,
  gone: 410,
  unavailable: 503,
};

const RETRY_AFTER_DEFAULT_MS = 1000;

export function refusalProblem(refusal: Refusal): HttpProblem {
  const { kind, code, message, field, facts, retryAfterMs = RETRY_AFTER_DEFAULT_MS } = refusal;
  return new HttpProblem({
    status: STATUS_OF[kind],
    code,
    detail: message,
    field,
    ...(facts !== undefined && { facts }),
    ...(kind === 'unauthenticated' && { headers: CHALLENGE }),
    ...(kind === 'unavailable' && { headers: { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) } }),
  });
}

/** Input that does not match the schema of the route. Every problem is reported, by field. */
export function malformedProblem(where: 'path' | 'query' | 'body', problems: readonly SchemaProblem[]): HttpProblem {
  const [first] = problems;
  const text = problems.map((one) => `${one.field === '' ? `the ${where}` : one.field} ${one.message}`).join('; ');
  return new HttpProblem({
    status: 400,
    code: `malformed-${where}`,
    detail: `The ${where} is not as this route wants it: ${text}.`,
    field: first?.field,
    problems,
  });
}

export function unavailableProblem(options: {
  readonly code: string;
  readonly detail: string;
  readonly facts?: Readonly<Record<string, unknown>>;
}): HttpProblem {
  return new HttpProblem({ status: 503, ...options, headers: { 'retry-after': '1' } });
}

/** Refusals of Fastify itself, as problems of this API. */
const FASTIFY_CODES: Readonly<Record<string, readonly [status: number, code: string, detail: string]>> = {
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    400,
    'malformed-request',
    'The body is not as long as Content-Length says. Send its length in bytes, or leave the header out.',
  ],
  FST_ERR_BAD_URL: [
    400,
    'malformed-path',
    'The path holds an escape that cannot be decoded. Write a per cent sign itself as %25.',
  ],
};

/** What the caller does when the store was away: only where it is unknown whether it was written, the key matters. */
const OUTCOME_ADVICE: Readonly<Record<StoreUnavailable['outcome'], string>> = {
  failed: 'Nothing was changed; try again in a moment.',
  unknown: 'Whether the request was carried out is not known: repeat it with the same Idempotency-Key.',
};

/** What a route takes as a body. */
interface BodyDemand {
  readonly bytesMax?: number | undefined;
  readonly type?: BodyType | undefined;
}

export function problemOf(error: unknown, body: BodyDemand = {}): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof NotHolder) return noHolderProblem();
  if (error instanceof StoreUnavailable) {
    return unavailableProblem({
      code: error.code,
      detail: `${sentence(error.message)}. ${OUTCOME_ADVICE[error.outcome]}`,
      facts: { outcome: error.outcome },
    });
  }
  const { code, statusCode } = error as { readonly code?: unknown; readonly statusCode?: unknown };
  const known = typeof code === 'string' ? FASTIFY_CODES[code] : undefined;
  if (known !== undefined) return new HttpProblem({ status: known[0], code: known[1], detail: known[2] });
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return bodyTooLarge(body.bytesMax);
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return unsupportedMediaType(body.type);
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new HttpProblem({
      status: statusCode,
      code: 'malformed-request',
      detail: 'The HTTP request is not one that this server takes. Compare it with /api/v1/openapi.json.',
    });
  }
  const detail =
    'Something went wrong in this server. Give an administrator this request id: the log of the server has the cause.';
  return new HttpProblem({ status: 500, code: 'internal-error', detail });
}

function bodyTooLarge(bytesMax: number | undefined): HttpProblem {
  const limit = bytesMax === undefined ? '' : `: at most ${bytesMax} bytes`;
  const detail = `The body is larger than this route takes${limit}. Send less at once.`;
  return new HttpProblem({ status: 413, code: 'body-too-large', detail });
}

export function unsupportedMediaType(wanted: BodyType = 'application/json'): HttpProblem {
  const detail = `Send the body as ${wanted}.`;
  return new HttpProblem({ status: 415, code: 'unsupported-media-type', detail });
}

export function noHolderProblem(): HttpProblem {
  const detail = 'No server holds the deciding lease right now. Nothing was changed; try again in a moment.';
  return unavailableProblem({ code: 'no-holder', detail, facts: { outcome: 'failed' } });
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
