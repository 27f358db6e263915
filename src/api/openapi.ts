// The API description, OpenAPI 3.1, made from the routes: what is described is what is served.
import { Type, type TObject, type TSchema } from 'typebox';
import type { AnswerDescription, Route } from '../access/index.ts';
import { YANG_JSON } from './restconf/errors.ts';

const Problem = Type.Object(
  {
    type: Type.String({ description: 'urn:muster:problem:<code>' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String({ description: 'what is wrong and what to do' }),
    code: Type.String({ description: 'stable, kebab-case: compare this' }),
    field: Type.Optional(Type.String({ description: 'the offending field, as a JSON pointer' })),
    problems: Type.Optional(
      Type.Array(Type.Object({ field: Type.String(), message: Type.String() }), { description: 'every wrong field' }),
    ),
    requestId: Type.String(),
  },
  { description: 'RFC 9457; further fields are facts that the sentence mentions' },
);

const PROBLEM_ANSWER = {
  description: 'The request was refused or failed',
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
};

const RESTCONF_ANSWER = {
  description: 'The request was refused or failed (RFC 8040, section 7.1)',
  content: { [YANG_JSON]: { schema: { type: 'object' } } },
};

const ROLE_SENTENCES: Readonly<Record<Route['access'], string>> = {
  public: 'Needs no token.',
  viewer: 'Needs a token with the role viewer, operator or admin.',
  operator: 'Needs a token with the role operator or admin.',
  admin: 'Needs a token with the role admin.',
  agent: "Needs a host's own agent token.",
  join: 'Needs a join token.',
  manager: "Needs a manager's own token.",
};

export function describeApi(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of [...routes].sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))) {
    const path = openApiPath(route.path);
    (paths[path] ??= {})[route.method.toLowerCase()] = describeOperation(route);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Muster',
      version,
      description: 'Brings compute nodes into service and takes them out again, without dropping what runs on them.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths,
    components: {
      schemas: { Problem },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        header: { type: 'apiKey', in: 'header', name: 'X-Auth-Token' },
      },
    },
  };
}

/** `/a::b/:id` is `/a:b/{id}`: two colons are one that begins no parameter. */
function openApiPath(path: string): string {
  return path
    .split('::')
    .map((part) => part.replaceAll(/:([A-Za-z]+)/g, '{$1}'))
    .join(':');
}

function keyOf({ path, method }: Route): string {
  return `${path} ${method}`;
}

function describeOperation(route: Route): object {
  const bound = !['viewer', 'operator', 'admin'].includes(route.access);
  const scope = bound || route.scope === 'site' ? '' : ' It must not be bound to a site.';
  return {
    operationId: operationId(route),
    tags: [route.tag],
    summary: route.about,
    description: `${ROLE_SENTENCES[route.access]}${scope}`,
    security: route.access === 'public' ? [] : [{ bearer: [] }, { header: [] }],
    parameters: [...parametersOf('path', route.params), ...parametersOf('query', route.query), ...headerFields(route)],
    ...(route.body !== undefined && {
      requestBody: { required: isRequired(route.body), content: { [mediaOf(route)]: { schema: route.body } } },
    }),
    responses: {
      ...Object.fromEntries(Object.entries(route.answers).map(([status, face]) => [status, answerOf(face)])),
      default: route.dialect === 'restconf' ? RESTCONF_ANSWER : PROBLEM_ANSWER,
    },
  };
}

function mediaOf({ dialect }: Route): string {
  return dialect === 'restconf' ? YANG_JSON : 'application/json';
}

function answerOf({ about, schema, type = 'application/json' }: AnswerDescription): object {
  return { description: about, content: { [type]: { schema: schema ?? { type: 'string' } } } };
}

function isRequired(body: TSchema): boolean {
  const { required } = body as { readonly required?: readonly string[] };
  return required !== undefined && required.length > 0;
}

function parametersOf(where: 'path' | 'query', schema: TObject | undefined): object[] {
  const required = new Set((schema as { readonly required?: readonly string[] } | undefined)?.required ?? []);
  return Object.entries(schema?.properties ?? {}).map(([name, field]) => ({
    name,
    in: where,
    required: where === 'path' || required.has(name),
    schema: field,
  }));
}

function headerFields(route: Route): object[] {
  if (route.kind !== 'write') {
    const about = 'answer only from this revision on; waits up to 2 s for it';
    return [
      { name: 'Muster-Revision', in: 'header', required: false, description: about, schema: { type: 'integer' } },
    ];
  }
  const key = 'a repeated request with the same key is answered as the first one was, for 24 hours';
  const match = 'the ETag that the resource must still have';
  return [
    {
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description: key,
      schema: { type: 'string', maxLength: 200 },
    },
    { name: 'If-Match', in: 'header', required: false, description: match, schema: { type: 'string' } },
  ];
}

/** `GET /api/v1/hosts/:id/items` is `getHostsIdItems`. */
function operationId({ method, path }: Route): string {
  const words = path
    .replace(/^\/api\/v1/, '')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '');
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

export function openApiRoute(describe: () => object): Route {
  let text: string | undefined;
  return {
    kind: 'read',
    method: 'GET',
    path: '/api/v1/openapi.json',
    tag: 'probes',
    about: 'Show this description',
    access: 'public',
    answers: { 200: { about: 'OpenAPI 3.1', schema: Type.Object({}) } },
    handle: () => {
      text ??= JSON.stringify(describe());
      return { kind: 'answer', status: 200, text };
    },
  };
}
