// Wrong requests for a route, made from its own schemas and a seed. Only what is wrong for certain comes out: a body that
// happens to fit its schema is thrown away.
import type { InjectOptions } from 'fastify';
import type { TSchema } from 'typebox';
import type { Route } from '../../src/access/index.ts';
import { compileChecker } from '../../src/fleet/index.ts';

export type Random = () => number;

/** Mulberry32: small, and the same everywhere. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;

const SAMPLES = ['a', '10.0.0.1', 'name', 'A'.repeat(43), '0'.repeat(64), 'x-1', '1'];

interface Node {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly minItems?: number;
}

/** A value that fits the schema. */
export function sample(schema: TSchema): unknown {
  const node = schema as Node;
  if (node.const !== undefined) return node.const;
  if (node.enum !== undefined) return node.enum[0];
  if (node.anyOf !== undefined) return sample(node.anyOf[0] as TSchema);
  switch (node.type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(node.properties ?? {}).map(([name, field]) => [name, sample(field as TSchema)]),
      );
    case 'array':
      return [sample(node.items as TSchema)];
    case 'string':
      return SAMPLES.find((text) => compileChecker(schema)(text).length === 0) ?? 'a';
    case 'integer':
    case 'number':
      return Math.max(node.minimum ?? 1, 1);
    case 'boolean':
      return true;
    default:
      return 'anything';
  }
}

const LONG = 'x'.repeat(70_000);

const WRONG_VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  0.5,
  2 ** 53,
  1e308,
  -1e308,
  '',
  ' ',
  LONG,
  'ünï©ødé',
  '\u202Eoverride',
  '😀'.repeat(300),
  '../../etc/passwd',
  "'; DROP TABLE commits; --",
  '${7*7}',
  '<script>',
  '\r\nx: y',
  [],
  [[]],
  [null],
  {},
  { a: { b: { c: {} } } },
  { constructor: { prototype: { admin: true } } },
  Array.from({ length: 2000 }, () => 'x'),
];

const WRONG_NAMES = [
  'constructor',
  'toString',
  'hasOwnProperty',
  'Name',
  'roles',
  '$ref',
  'x'.repeat(5000),
  '',
  'ключ',
  'id',
];

const wrongValue = (random: Random): unknown => structuredClone(pick(random, WRONG_VALUES));

interface Spot {
  readonly holder: Record<string, unknown> | unknown[];
  readonly key: string | number;
}

/** Every place in a value that can be changed. */
function spots(value: unknown): Spot[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...spots(holder[key])]);
}

function objectsIn(value: unknown): Record<string, unknown>[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.values(value).flatMap(objectsIn);
  return Array.isArray(value) ? inner : [value as Record<string, unknown>, ...inner];
}

/** A body that does not fit, by one or a few changes to one that does. */
function wrongBody(random: Random, schema: TSchema): unknown {
  const check = compileChecker(schema);
  for (;;) {
    const wrapped = { body: structuredClone(sample(schema)) };
    for (let changes = 1 + Math.floor(random() * 3); changes > 0; changes -= 1) change(random, wrapped);
    if (check(wrapped.body).length > 0) return wrapped.body;
  }
}

function change(random: Random, wrapped: { body: unknown }): void {
  const kind = random();
  if (kind < 0.2) {
    const objects = objectsIn(wrapped.body);
    if (objects.length > 0) pick(random, objects)[pick(random, WRONG_NAMES)] = wrongValue(random);
    return;
  }
  const { holder, key } = pick(random, spots(wrapped));
  if (kind < 0.4 && !Array.isArray(holder) && key !== 'body') {
    Reflect.deleteProperty(holder, key);
    return;
  }
  (holder as Record<string, unknown>)[key] = wrongValue(random);
}

/** Bodies that are no JSON, or JSON that no route takes. */
const BROKEN_TEXTS: readonly string[] = [
  '{',
  '{"a":',
  "{'a':1}",
  'undefined',
  '{"a":1,}',
  '{"a":NaN}',
  '\uFEFF{',
  '{"a":"\u0001"}',
  '[1,2',
  '"text"',
  '42',
  'null',
  '[]',
  'true',
  '['.repeat(100_000),
  '{"a":'.repeat(50_000),
  `${'['.repeat(33)}${']'.repeat(33)}`,
  '{"__proto__":{"admin":true}}',
  '{"\\u005f_proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"admin":true}}}',
  '{"name":"\\ud800"}',
  '{"name":"a\\u0000b"}',
  '{"a":1e999}',
  `{"a":"${'x'.repeat(1024 * 1024)}"}`,
];

const WRONG_TYPES = [
  'text/plain',
  'application/xml',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  'nonsense',
  '',
];

const WRONG_IDS = [
  '%00',
  '..%2F..',
  'a%20b',
  '%F0%9F%98%80',
  'x'.repeat(201),
  '-a',
  '%',
  '%zz',
  '__proto__',
  '.',
  '%2e%2e',
  '*',
  'a%0Ab',
  '%C3%28',
];

const WRONG_QUERY_VALUES = [
  '',
  '-1',
  '1e3',
  '0x10',
  '1.5',
  'NaN',
  '99999999999999999999',
  'TRUE',
  '%00',
  'null',
  '[]',
  'x'.repeat(2000),
  '%F0%9F%98%80',
  'nothing-like-it!',
];
/** For texts with a pattern: most of the above are fine texts. */
const WRONG_QUERY_TEXTS = ['%20', '%00', 'a%20b', '[]', 'x'.repeat(2000), '%F0%9F%98%80', '-nothing', '!'];
const WRONG_QUERY_NAMES = ['__proto__', 'constructor', 'a[b]', 'Limit', 'limits', 'x'.repeat(500), '%00', 'toString'];

/** The path of a request that names what may exist, so that nothing but the input is wrong. */
function pathOf(route: Route, id: (name: string) => string): string {
  // Two colons are one that begins no parameter.
  const parts = route.path.split('::').map((part) => part.replaceAll(/:([a-zA-Z]+)/g, (_, name: string) => id(name)));
  return parts.join(':');
}

type Make = (random: Random, route: Route, ids: (name: string) => string) => InjectOptions | undefined;

const goodBody = (route: Route): { payload?: string } =>
  route.body === undefined ? {} : { payload: JSON.stringify(sample(route.body)) };

const wrongId: Make = (random, route) => {
  if (route.params === undefined) return undefined;
  const url = pathOf(route, () => pick(random, WRONG_IDS));
  // Dots are resolved before an injected request is sent, and then lead to another route. A real socket sends them as
  // they are: that is tested beside this.
  const sent = new URL(url, 'http://server').pathname;
  return sent.split('/').length === url.split('/').length ? { url, ...goodBody(route) } : undefined;
};

function wrongTyped(random: Random, route: Route, name: string): string {
  const field: Node | undefined = route.query?.properties[name];
  const isText = field?.type === 'string';
  return `${name}=${pick(random, isText ? WRONG_QUERY_TEXTS : WRONG_QUERY_VALUES)}`;
}

const wrongQuery: Make = (random, route, ids) => {
  const known = Object.keys(route.query?.properties ?? {});
  const typed = known.filter((name) => {
    const field = route.query?.properties[name] as Node;
    return field.type !== 'string' || 'pattern' in field;
  });
  const choice = random();
  const value = pick(random, WRONG_QUERY_VALUES);
  let query = `${pick(random, WRONG_QUERY_NAMES)}=${value}`;
  if (choice < 0.4 && typed.length > 0) query = wrongTyped(random, route, pick(random, typed));
  else if (choice < 0.6 && known.length > 0) {
    const name = pick(random, known);
    query = `${name}=1&${name}=2`;
  }
  return { url: `${pathOf(route, ids)}?${query}`, ...goodBody(route) };
};

const wrongDocument: Make = (random, route, ids) => {
  if (route.method === 'GET') return undefined;
  const url = pathOf(route, ids);
  if (route.body === undefined) return { url, payload: JSON.stringify(wrongValue(random)) };
  return { url, payload: JSON.stringify(wrongBody(random, route.body)) };
};

const brokenText: Make = (random, route, ids) => {
  if (route.method === 'GET') return undefined;
  return { url: pathOf(route, ids), payload: pick(random, BROKEN_TEXTS) };
};

const wrongType: Make = (random, route, ids) => {
  if (route.method === 'GET') return undefined;
  const payload = goodBody(route).payload ?? '{"a":1}';
  const elsewhere = route.kind === 'bulk' ? 'application/json' : 'application/x-ndjson';
  return { url: pathOf(route, ids), payload, headers: { 'content-type': pick(random, [...WRONG_TYPES, elsewhere]) } };
};

const wrongHeader: Make = (random, route, ids) => {
  const url = pathOf(route, ids);
  const wrong = pick(random, ['x', '-1', '1.5', '9'.repeat(30), '"1', 'W/"1"', 'a b']);
  if (route.kind !== 'write' && route.kind !== 'bulk')
    return { url, ...goodBody(route), headers: { 'muster-revision': wrong } };
  // Both are looked at only when the rest is right; one of them is wrong in any case.
  return { url, ...goodBody(route), headers: { 'if-match': wrong } };
};

const MAKERS: readonly Make[] = [wrongId, wrongQuery, wrongDocument, wrongDocument, brokenText, wrongType, wrongHeader];

/** The next wrong request for a route. */
export function wrongRequest(random: Random, route: Route, ids: (name: string) => string): InjectOptions {
  for (;;) {
    const made = pick(random, MAKERS)(random, route, ids);
    if (made === undefined) continue;
    const typed = made.payload === undefined ? {} : { 'content-type': route.bodyType ?? 'application/json' };
    return { ...made, method: route.method, headers: { ...typed, ...made.headers } };
  }
}
