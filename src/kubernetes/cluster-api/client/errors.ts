// What the errors of the client mean for the port. The client's own message says nothing, and its body is a text.
import { ClusterRefused, ClusterUnreachable, type EvictionAnswer } from '../cluster-api.ts';
import { readText } from './answers.ts';

/** The part of a Status object that matters here. */
export interface ApiStatus {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly causes: readonly { readonly reason?: string; readonly message?: string }[];
  readonly retryAfterMs?: number;
}

interface ApiExceptionLike {
  readonly code: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Undefined for what is no answer of the API. */
export function statusOf(error: unknown): ApiStatus | undefined {
  if (!isApiException(error)) return undefined;
  const { code, body, headers } = error;
  const said = parseBody(body);
  const retryAfter = Number(headers?.['retry-after'] ?? Number.NaN);
  return {
    code,
    reason: typeof said['reason'] === 'string' ? said['reason'] : '',
    message: readText(said['message'], Infinity) ?? '',
    causes: causesOf(said['details']),
    ...(Number.isFinite(retryAfter) && { retryAfterMs: retryAfter * 1000 }),
  };
}

function isApiException(error: unknown): error is ApiExceptionLike {
  return error instanceof Error && 'code' in error && typeof error.code === 'number' && 'body' in error;
}

function parseBody(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body === 'object' && body !== null) return body as Readonly<Record<string, unknown>>;
  if (typeof body !== 'string') return {};
  try {
    const parsed: unknown = JSON.parse(body);
    return typeof parsed === 'object' && parsed !== null ? (parsed as Readonly<Record<string, unknown>>) : {};
  } catch (error) {
    // A proxy in between answers pages, not objects.
    if (error instanceof SyntaxError) return { message: body.slice(0, PAGE_MAX) };
    throw error;
  }
}

const PAGE_MAX = 200;

/** It becomes a reason, an alarm and a line of the log. */
const MESSAGE_MAX = 1000;

function causesOf(details: unknown): ApiStatus['causes'] {
  const causes: unknown = (details as { readonly causes?: unknown } | null | undefined)?.causes;
  if (!Array.isArray(causes)) return [];
  return causes.map((cause: { readonly reason?: unknown; readonly message?: unknown } | null) => {
    const [reason, message] = [readText(cause?.reason, MESSAGE_MAX), readText(cause?.message, MESSAGE_MAX)];
    return { ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) };
  });
}

/** The API is there and cannot answer now, or a proxy in between cannot reach it. */
const AWAY: readonly number[] = [429, 502, 503, 504];

/** The error of the port; `mask` takes secrets out of what the peer said. */
export function toClusterError(error: unknown, mask: (text: string) => string): Error {
  const status = statusOf(error);
  if (status === undefined)
    return new ClusterUnreachable(mask(transportText(error)).slice(0, MESSAGE_MAX), {
      isUntrusted: isAboutTrust(error),
    });
  // Masked before it is cut: of a secret that is cut in two, the rest would be left.
  const text = mask(status.message === '' ? `status ${status.code}` : status.message).slice(0, MESSAGE_MAX);
  return AWAY.includes(status.code)
    ? new ClusterUnreachable(text)
    : new ClusterRefused(status.code, status.reason, text);
}

/** How Node names a chain of certificates that does not hold. */
const TRUST_CODES: readonly unknown[] = [
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
];

function isAboutTrust(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && TRUST_CODES.includes(error.code)) return true;
  return isAboutTrust(error instanceof AggregateError ? error.errors[0] : error.cause);
}

/** The innermost cause says what happened: of several addresses, the first. */
function transportText(error: unknown): string {
  if (!(error instanceof Error)) return 'no answer';
  const { cause } = error;
  if (error instanceof AggregateError) return transportText(error.errors[0]);
  return cause instanceof Error ? transportText(cause) : error.message;
}

/** What an eviction that was not accepted means; undefined when it means what any other error does. */
export function evictionAnswerOf(status: ApiStatus): EvictionAnswer | undefined {
  const { code, message, causes, retryAfterMs } = status;
  if (code === 404 || code === 409) return { kind: 'gone' };
  const budget = causes.find(({ reason }) => reason === 'DisruptionBudget');
  if (code === 429 && (budget !== undefined || message.includes('disruption budget'))) {
    const name = /disruption budget (?<name>[a-z0-9.-]+) /.exec(budget?.message ?? '')?.groups?.['name'];
    const text = budget?.message ?? message;
    return {
      ...{ kind: 'budget', text },
      ...(name !== undefined && { budget: name }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    };
  }
  if (code === 500 && message.includes('more than one PodDisruptionBudget'))
    return { kind: 'two-budgets', text: message };
  return undefined;
}
