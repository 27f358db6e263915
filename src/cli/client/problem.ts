// Refusals of the API as text. The sentences are the server's own.
import { isListOfObjects, jsonIn } from './answer-body.ts';
import { EXIT, CommandFailure } from '../exit-code.ts';
import { sanitizeLine } from '../output/text-width.ts';

interface FieldProblem {
  readonly field: string;
  readonly message: string;
}

/** An application/problem+json body; everything in it may be missing when something else than Muster answered. */
export interface ProblemBody {
  readonly code?: string;
  readonly detail?: string;
  readonly field?: string;
  readonly problems?: readonly FieldProblem[];
  readonly requestId?: string;
  /** Of refusals that concern several hosts: what became of each. */
  readonly hosts?: readonly object[];
}

/** Picks the fields of a problem out of a body that need not come from Muster, and need not hold text where a problem does. */
export function problemIn(text: string): ProblemBody {
  const body = (jsonIn(text) ?? {}) as Readonly<Record<string, unknown>>;
  const problems = isListOfObjects(body['problems']) ? (body['problems'] as readonly Record<string, unknown>[]) : [];
  const texts = ['code', 'detail', 'field', 'requestId'].filter((name) => typeof body[name] === 'string');
  return {
    ...Object.fromEntries(texts.map((name): [string, unknown] => [name, body[name]])),
    problems: problems.map(({ field, message }) => ({ field: asText(field), message: asText(message) })),
    ...(isListOfObjects(body['hosts']) && { hosts: body['hosts'] }),
  };
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The server refused the request. */
export class ApiRefusal extends CommandFailure {
  readonly status: number;
  readonly body: ProblemBody;

  /** `tokenAdvice` is added when no valid token was sent. */
  constructor(
    status: number,
    body: ProblemBody,
    tokenAdvice = 'Give another token with --token, --token-file or MUSTER_TOKEN.',
  ) {
    super(EXIT.refused, refusalText(status, body, tokenAdvice));
    this.name = 'Refused';
    this.status = status;
    this.body = body;
  }
}

const ROLE_ADVICE =
  'Give it with --token, --token-file or MUSTER_TOKEN; administrators make tokens with "muster token create".';

function refusalText(status: number, body: ProblemBody, tokenAdvice: string): string {
  const { detail, problems = [], code } = body;
  if (detail === undefined) {
    return `The server answered ${status}, and not as Muster does. Is --server the address of a Muster server?`;
  }
  const lines = problems.length > 1 ? [firstSentence(detail), ...problems.map(fieldLine)] : [detail];
  if (status === 401 && code !== undefined) lines.push(tokenAdvice);
  if (code === 'role-insufficient') lines.push(ROLE_ADVICE);
  return lines.map((line) => sanitizeLine(line)).join('\n');
}

/** The detail lists all problems in a row; when each has its own line, its first part is enough. */
function firstSentence(detail: string): string {
  const at = detail.indexOf(': ');
  return at === -1 ? detail : `${detail.slice(0, at)}:`;
}

function fieldLine({ field, message }: FieldProblem): string {
  return `  ${field === '' ? 'it' : field} ${message}`;
}

export function unreachableFailure(server: string, error: unknown): CommandFailure {
  const untrusted = UNTRUSTED[codeOf(error) ?? ''];
  if (untrusted !== undefined) {
    const message = `The server at ${server} cannot be trusted: ${untrusted}. Nothing was sent to it.`;
    return new CommandFailure(EXIT.unreachable, message, { cause: error });
  }
  const why = describeError(error);
  const start = 'Start one with "muster demo" or "muster serve", or name it with --server or MUSTER_SERVER.';
  return new CommandFailure(EXIT.unreachable, `No Muster server answers at ${server}: ${why}. ${start}`, {
    cause: error,
  });
}

const PLAIN_WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'there is no such name',
  EAI_AGAIN: 'the name cannot be looked up',
  EHOSTUNREACH: 'there is no way to that host',
  ENETUNREACH: 'there is no way to that network',
  ETIMEDOUT: 'it does not answer',
  UND_ERR_SOCKET: 'the connection was cut',
  UND_ERR_CONNECT_TIMEOUT: 'it does not answer',
  ERR_SSL_WRONG_VERSION_NUMBER: 'what listens there does not speak TLS; with http:// it may answer',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'what listens there does not speak TLS; with http:// it may answer',
};

const OTHER_AUTHORITY =
  'its certificate is of an authority that this machine does not know; name a file with that authority in the variable NODE_EXTRA_CA_CERTS';

/** Certificates that are not accepted. */
const UNTRUSTED: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed; name its file in the variable NODE_EXTRA_CA_CERTS',
  SELF_SIGNED_CERT_IN_CHAIN: OTHER_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: OTHER_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: OTHER_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: OTHER_AUTHORITY,
  CERT_HAS_EXPIRED: 'its certificate has expired; it has to be renewed',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; compare the clocks of the two machines',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for another name; name the server as its certificate does, with --server',
};

function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : codeOf(error.cause);
}

export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return 'it does not answer in time';
  // fetch() has no code for it.
  if (error.message === 'bad port') return 'that port is not one for HTTP';
  const { code } = error as { readonly code?: unknown };
  if (typeof code === 'string' && PLAIN_WORDS[code] !== undefined) return PLAIN_WORDS[code];
  return error.cause === undefined ? sanitizeLine(error.message) : describeError(error.cause);
}
