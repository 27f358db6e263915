// Agent and server one version apart, by what the real program of 0.1.0 said: what its agents send is replayed to a server of today, and what its
// server answered to an agent of today. The schemas are those of its own API description. test/fixtures/agent-protocol-0.1.0.mjs has made the recordings.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { secretText } from '../../src/access/index.ts';
import { SILENT } from '../../src/agent/server/control-plane-fixture.ts';
import { SimulatedNodeDriver, startAgent } from '../../src/agent/runtime.ts';
import type { View, WireReport } from '../../src/agent/protocol/messages.ts';
import { SimulatedSwitch } from '../../src/dataplane/runtime.ts';
import { compileChecker } from '../../src/fleet/index.ts';
import { realClock } from '../../src/main/clock.ts';
import { realIds } from '../../src/main/ids.ts';
import type { TaskAnswer } from '../../src/operations/index.ts';
import { HttpPlane } from './http-plane.ts';

const FIXTURES = join(import.meta.dirname, '../fixtures');
const LONG = { timeout: 120_000 };

interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly accept?: string;
  readonly body?: Body;
  readonly status: number;
  readonly answer: Answer;
}

interface Body {
  readonly secret?: string;
  readonly applied?: string;
  readonly report?: WireReport;
  readonly answers?: readonly TaskAnswer[];
  readonly phase?: string;
}

interface Answer {
  readonly kind?: string;
  readonly token?: string;
  readonly code?: string;
  readonly report?: string;
  readonly view?: View;
  readonly results?: readonly { readonly task: string; readonly result: string }[];
}

type Schema = Parameters<typeof compileChecker>[0];
type FormerApi = Readonly<Record<string, { readonly body?: Schema; readonly query?: Schema; readonly answer: Schema }>>;

const read = async <T>(name: string): Promise<T> => JSON.parse(await readFile(join(FIXTURES, name), 'utf8')) as T;
const [fromAgent, fromServer, formerApi] = await Promise.all([
  read<Exchange[]>('agent-0.1.0.json'),
  read<Exchange[]>('server-0.1.0.json'),
  read<FormerApi>('agent-api-0.1.0.json'),
]);

const routeOf = ({ method, path }: Pick<Exchange, 'method' | 'path'>): string => `${method} ${path.split('?')[0]}`;

const checkers = new Map<string, ReturnType<typeof compileChecker>>();
/** What version 0.1.0 would object to. */
function problemsOf(route: string, part: 'body' | 'query' | 'answer', value: unknown): readonly unknown[] {
  const schema = formerApi[route]?.[part];
  if (schema === undefined) return [`0.1.0 has no ${part} for ${route}`];
  const key = `${route} ${part}`;
  const check = checkers.get(key) ?? compileChecker(schema);
  checkers.set(key, check);
  return check(value);
}

test('what-an-agent-of-0.1.0-sends-is-accepted-and-the-answers-are-those-it-knows', LONG, async () => {
  const plane = new HttpPlane();
  const { url } = await plane.listen('s1');
  await expect.poll(() => plane.hasLeader).toBe(true);
  onTestFinished(async () => {
    await plane.close();
    expect(plane.violations).toEqual([]);
  });
  await plane.register('c1');
  let secret = await plane.joinToken('c1');
  const outcomes = new Map<string, Set<string>>();
  for (const exchange of fromAgent.filter(({ status }) => status === 200)) {
    const { method, path, body } = exchange;
    const route = routeOf(exchange);
    // Only the digest and the epoch are of another fleet: nothing there is waited for.
    const target = path.replace(/digest=[^&]*/, 'digest=of-another-fleet');
    const response = await fetch(`${url}${target}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Answer;
    if (response.status === 200) expect([exchange.path, problemsOf(route, 'answer', answer)]).toEqual([path, []]);
    if (answer.token !== undefined) secret = secretText(answer.token, body?.secret ?? '');
    const seen = outcomes.get(route) ?? new Set();
    outcomes.set(route, seen.add(`${response.status} ${answer.code ?? answer.kind ?? answer.report ?? ''}`.trim()));
    for (const { result } of answer.results ?? []) seen.add(result);
  }
  expect(Object.fromEntries([...outcomes].map(([route, seen]) => [route, [...seen].sort()]))).toEqual({
    'POST /api/v1/agent/join': ['200'],
    'POST /api/v1/agent/heartbeat': ['200 known'],
    'GET /api/v1/agent/view': ['200 view'],
    // Of operations that are not of this fleet.
    'POST /api/v1/agent/observations': ['200', 'stale'],
    'POST /api/v1/agent/connections/deposit': ['409 not-copied-now'],
    'POST /api/v1/agent/connections/collect': ['409 not-copied-now'],
  });
  expect(plane.leader.gateway.reports.get('c1')).toMatchObject({ report: { facts: { driver: 'simulated' } } });
});

/** Answers an agent as the server of 0.1.0 did: one view after the other, each when the agent has converged on the last and done its tasks. */
class FormerServer {
  readonly problems: unknown[] = [];
  readonly answers: TaskAnswer[] = [];
  readonly phases = new Set<string>();
  readonly views: readonly Answer[];
  readonly #recorded = new Map<string, Exchange[]>();
  readonly #converged = new Set<string>();
  #at = 0;

  constructor(exchanges: readonly Exchange[]) {
    for (const one of exchanges.filter(({ status }) => status === 200))
      this.#recorded.set(routeOf(one), [...(this.#recorded.get(routeOf(one)) ?? []), one]);
    const given = (this.#recorded.get('GET /api/v1/agent/view') ?? []).map(({ answer }) => answer);
    // Each task, and each step of a handover once: the rest repeats.
    const seen = new Set<string>();
    this.views = given.filter(({ view }) => {
      if (view === undefined) return false;
      const key = JSON.stringify(view.tasks.length > 0 ? view.tasks : stepsOf(view));
      return !seen.has(key) && seen.add(key);
    });
  }

  get isAtEnd(): boolean {
    return this.#at === this.views.length - 1 && this.#isDone(this.views[this.#at]?.view);
  }

  handle(request: Pick<Exchange, 'method' | 'path'>, body: Body | undefined): Answer | undefined {
    const route = routeOf(request);
    const { searchParams } = new URL(request.path, 'http://server');
    const found =
      body === undefined ? problemsOf(route, 'query', toQuery(searchParams)) : problemsOf(route, 'body', body);
    if (found.length > 0) this.problems.push({ route, body, found });
    if (body?.phase !== undefined) this.phases.add(body.phase);
    switch (route) {
      case 'GET /api/v1/agent/view':
        return this.#nextView(searchParams.get('digest') ?? undefined);
      case 'POST /api/v1/agent/heartbeat':
        if (body?.applied !== undefined) this.#converged.add(body.applied);
        return this.#answerLike(
          route,
          ({ report }) => (report === 'wanted') === (body?.report === undefined && this.#at === 0),
        );
      case 'POST /api/v1/agent/observations':
        this.answers.push(...(body?.answers ?? []));
        return { results: (body?.answers ?? []).map(({ task }) => ({ task, result: 'recorded' })) };
      default:
        return this.#answerLike(route, () => true);
    }
  }

  #answerLike(route: string, isLike: (answer: Answer) => boolean): Answer | undefined {
    return this.#recorded.get(route)?.find(({ answer }) => isLike(answer))?.answer;
  }

  #nextView(digest: string | undefined): Answer | undefined {
    const present = this.views[this.#at];
    if (digest === undefined || digest !== present?.view?.digest) return present;
    if (!this.#isDone(present.view) || this.#at === this.views.length - 1) return { kind: 'unchanged' };
    this.#at += 1;
    return this.views[this.#at];
  }

  #isDone(view: View | undefined): boolean {
    if (view === undefined) return false;
    const isLeaving = view.tasks.some(({ kind }) => kind === 'leave');
    const areDone = view.tasks.every(({ id }) => this.answers.some(({ task }) => task === id));
    return areDone && (isLeaving || this.#converged.has(view.digest));
  }
}

function stepsOf({ parts }: View): readonly unknown[] {
  const services = (parts['services'] ?? []) as readonly { id: string; role: string; handOver?: { phase: string } }[];
  return services.map(({ id, role, handOver }) => [id, role, handOver?.phase]);
}

function toQuery(parameters: URLSearchParams): object {
  const numbers = new Set(['leaseEpoch', 'waitMs']);
  return Object.fromEntries([...parameters].map(([name, value]) => [name, numbers.has(name) ? Number(value) : value]));
}

async function listen(server: FormerServer): Promise<string> {
  const answer = async (request: IncomingMessage): Promise<Answer | undefined> => {
    const sent = await text(request);
    const body = sent === '' ? undefined : (JSON.parse(sent) as Body);
    return server.handle({ method: request.method ?? '', path: request.url ?? '' }, body);
  };
  const http = createServer((request, response) => {
    const send = async (): Promise<void> => {
      const found = await answer(request);
      // A long poll that finds nothing: short, so that the next one comes soon.
      if (found?.kind === 'unchanged') await setTimeout(20);
      response.writeHead(found === undefined ? 500 : 200).end(JSON.stringify(found ?? {}));
    };
    void send();
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

test('an-agent-of-today-does-all-that-a-server-of-0.1.0-says-and-says-nothing-that-it-would-refuse', LONG, async () => {
  const server = new FormerServer(fromServer);
  const url = await listen(server);
  const folder = await mkdtemp(join(tmpdir(), 'muster-agent-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const driver = new SimulatedNodeDriver({
    clock: realClock,
    switch: new SimulatedSwitch({ host: 'c1', clock: realClock }),
  });
  const agent = startAgent({
    servers: [url],
    folder,
    driver,
    joinToken: () => Promise.resolve(secretText('tk-1.join', 'x'.repeat(43))),
    clock: realClock,
    ids: realIds(),
    random: Math.random,
    log: SILENT,
    heartbeatMs: 100,
  });
  onTestFinished(() => agent.stop());
  await expect.poll(() => server.isAtEnd, LONG).toBe(true);
  expect(server.problems).toEqual([]);
  expect(server.answers.filter(({ outcome }) => outcome !== 'done')).toEqual([]);
  const kinds = new Set(server.views.flatMap(({ view }) => view?.tasks.map(({ kind }) => kind) ?? []));
  expect([...kinds].sort()).toEqual(['build', 'destroy', 'leave', 'migrate', 'preflight']);
  expect([...server.phases].sort()).toEqual(['reseeding', 'seeding']);
  await expect.poll(() => agent.status().refusal?.code, LONG).toBe('leave-ordered');
  expect(agent.status().problems).toEqual([]);
});
