// Errors in the format of RESTCONF (RFC 8040, section 7): one for every affected host, each with a tag that
// programs compare and a sentence for a person.
import type { HttpProblem } from '../problem.ts';
import { MODULE } from './library.ts';

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
  'duplicate-field': 'malformed-message',
};

/** What a host that was not acted upon is, by itself: what the protocol calls it, and what this program does. */
const TAGS_OF_RESULT: Readonly<Record<string, readonly [tag: string, appTag: string]>> = {
  unknown: ['invalid-value', 'unknown-host'],
  'wrong-state': ['in-use', 'wrong-state'],
  blocked: ['in-use', 'blocked'],
};

/** Where the native API says it in its own terms. */
const DETAIL_OF_CODE: Readonly<Record<string, string>> = {
  'unsupported-media-type': `Send the body as ${YANG_JSON}, or as application/json.`,
};

interface ProblemDocument {
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
  const { detail, code, field, hosts, problems } = problem.body('') as ProblemDocument;
  const [status, usual] = TAGS[problem.status] ?? [problem.status, 'operation-failed'];
  const tag = TAG_OF_CODE[code] ?? tagOfForm(problems?.[0]?.message) ?? usual;
  const path = pathOf(field);
  const about = { 'error-type': typeOf(problem.status), 'error-app-tag': code };
  const errors = (hosts ?? []).flatMap(({ host, result, sentence }) => {
    const [own, appTag] = TAGS_OF_RESULT[result] ?? [];
    if (own === undefined) return [];
    const which = path === undefined ? {} : { 'error-path': `${path}${keyOf(host)}` };
    const tags = { ...about, 'error-app-tag': appTag, 'error-tag': own, ...which };
    return [{ ...tags, 'error-message': `${host}: ${sentence ?? result}` }];
  });
  const where = path === undefined ? {} : { 'error-path': path };
  const whole = { ...about, 'error-tag': tag, ...where, 'error-message': DETAIL_OF_CODE[code] ?? detail };
  return { status, body: { 'ietf-restconf:errors': { error: [whole, ...errors] } } };
}

const INPUT = 'input';

/**
 * The node of the module that a JSON pointer into a body leads to, as an instance identifier (RFC 7951, section 6.11): only the first
 * name has the module's prefix, and entries of a leaf-list count from 1. What is no part of an input has none.
 */
function pathOf(field: string | undefined): string | undefined {
  const names = (field ?? '').split('/').slice(1).map(stripPrefix);
  if (names[0] !== INPUT) return undefined;
  return names
    .reduce((path, name) => (/^\d+$/.test(name) ? `${path}[${Number(name) + 1}]` : `${path}/${name}`), '')
    .replace('/', `/${MODULE}:`);
}

function stripPrefix(name: string): string {
  return name.startsWith(`${MODULE}:`) ? name.slice(MODULE.length + 1) : name;
}

/** Of an entry of a leaf-list. A name with both kinds of quotes cannot be written here. */
function keyOf(value: string): string {
  if (!value.includes("'")) return `[.='${value}']`;
  return value.includes('"') ? '' : `[.="${value}"]`;
}

/** RESTCONF distinguishes what is missing from what is unknown. */
function tagOfForm(message: string | undefined): string | undefined {
  if (message === undefined) return undefined;
  if (message.startsWith('is not a known field')) return 'unknown-element';
  return /is required|fewer than|must not have fewer/.test(message) ? 'missing-element' : undefined;
}

function typeOf(status: number): string {
  return status === 400 || status === 405 || status === 406 || status === 415 ? 'protocol' : 'application';
}
