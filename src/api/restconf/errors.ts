// What goes wrong, in RESTCONF's words (RFC 8040, section 7): an error for every host that is at fault, each with a tag that
// programs compare and a sentence for a person.
import type { HttpProblem } from '../problem.ts';

export const YANG_JSON = 'application/yang-data+json';

/** What a problem of this API is there. Its own code goes along as the application's tag. */
const TAGS: Readonly<Record<number, readonly [status: number, tag: string]>> = {
  400: [400, 'invalid-value'],
  401: [401, 'access-denied'],
  403: [403, 'access-denied'],
  404: [404, 'invalid-value'],
  405: [405, 'operation-not-supported'],
  406: [406, 'invalid-value'],
  409: [409, 'in-use'],
  412: [412, 'operation-failed'],
  413: [413, 'too-big'],
  415: [415, 'invalid-value'],
  422: [400, 'invalid-value'],
};

/** Where the code says it better than the status does. */
const TAG_OF_CODE: Readonly<Record<string, string>> = {
  'malformed-json': 'malformed-message',
};

/** What a host that was not acted upon is, by itself. */
const TAG_OF_RESULT: Readonly<Record<string, string>> = {
  unknown: 'invalid-value',
  'wrong-state': 'in-use',
  blocked: 'in-use',
};

interface ProblemBody {
  readonly detail: string;
  readonly code: string;
  readonly problems?: readonly { readonly message: string }[];
  readonly field?: string;
  readonly hosts?: readonly { readonly host: string; readonly result: string; readonly sentence?: string }[];
}

export interface RestconfProblem {
  readonly status: number;
  readonly body: object;
}

export function restconfProblem(problem: HttpProblem): RestconfProblem {
  const { detail, code, field, hosts, problems } = problem.body('') as ProblemBody;
  const [status, usual] = TAGS[problem.status] ?? [problem.status, 'operation-failed'];
  const tag = TAG_OF_CODE[code] ?? tagOfForm(problems?.[0]?.message) ?? usual;
  const about = { 'error-type': typeOf(problem.status), 'error-app-tag': code };
  const errors = (hosts ?? []).flatMap(({ host, result, sentence }) => {
    const own = TAG_OF_RESULT[result];
    if (own === undefined) return [];
    return [{ ...about, 'error-tag': own, 'error-message': `${host}: ${sentence ?? result}` }];
  });
  const path = field === undefined ? {} : { 'error-path': field };
  const whole = { ...about, 'error-tag': tag, ...path, 'error-message': detail };
  return { status, body: { 'ietf-restconf:errors': { error: [whole, ...errors] } } };
}

/** RESTCONF tells apart what is missing from what is not known. */
function tagOfForm(message: string | undefined): string | undefined {
  if (message === undefined) return undefined;
  if (message.startsWith('is not a known field')) return 'unknown-element';
  return /is required|fewer than|must not have fewer/.test(message) ? 'missing-element' : undefined;
}

function typeOf(status: number): string {
  return status === 400 || status === 405 || status === 406 || status === 415 ? 'protocol' : 'application';
}
