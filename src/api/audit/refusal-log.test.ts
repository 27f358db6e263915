import { describe, expect, test } from 'vitest';
import { TOKEN, type Caller } from '../../access/index.ts';
import { idOf } from '../../fleet/index.ts';
import { REFUSAL_WINDOW_MS, RefusalLog, type RefusalLine, type RefusedRequest } from './refusal-log.ts';

const ANN: Caller = { name: 'ann', role: 'viewer', token: idOf(TOKEN, 'tk-1'), site: 'north' };

const refused = (extra: Partial<RefusedRequest> = {}): RefusedRequest => ({
  atMs: 1000,
  revision: 7,
  caller: ANN,
  address: '192.0.2.1',
  method: 'POST',
  route: '/api/v1/hosts',
  status: 403,
  code: 'role-insufficient',
  requestId: 'rq-1',
  forwarded: false,
  ...extra,
});

function recorder(): { readonly refusals: RefusalLog; readonly lines: RefusalLine[] } {
  const lines: RefusalLine[] = [];
  return { lines, refusals: new RefusalLog({ server: () => 'https://m1', write: (line) => void lines.push(line) }) };
}

describe('refusals', () => {
  test('the-first-is-a-line-at-once-with-who-and-where', () => {
    const { refusals, lines } = recorder();
    refusals.record(refused());
    expect(lines).toEqual([
      {
        type: 'refusal',
        at: '1970-01-01T00:00:01.000Z',
        atMs: 1000,
        revision: 7,
        server: 'https://m1',
        by: 'ann',
        token: 'tk-1',
        role: 'viewer',
        site: 'north',
        address: '192.0.2.1',
        method: 'POST',
        route: '/api/v1/hosts',
        status: 403,
        code: 'role-insufficient',
        count: 1,
        requestId: 'rq-1',
      },
    ]);
  });

  test('equal-ones-are-counted-and-told-when-their-window-is-over', () => {
    const { refusals, lines } = recorder();
    for (let at = 0; at < 1000; at += 1) refusals.record(refused({ atMs: 1000 + at, requestId: `rq-${at}` }));
    refusals.flush(1000 + REFUSAL_WINDOW_MS - 1);
    expect(lines).toHaveLength(1);
    refusals.flush(1000 + REFUSAL_WINDOW_MS);
    refusals.flush(Infinity);
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatchObject({ count: 999, since: '1970-01-01T00:00:01.001Z', atMs: 1999, requestId: 'rq-999' });
  });

  test('a-window-that-is-over-is-ended-by-the-next-one-too', () => {
    const { refusals, lines } = recorder();
    for (const atMs of [0, 1, REFUSAL_WINDOW_MS]) refusals.record(refused({ atMs }));
    expect(lines.map(({ count, atMs }) => [count, atMs])).toEqual([
      [1, 0],
      [1, 1],
      [1, REFUSAL_WINDOW_MS],
    ]);
  });

  test.each([
    ['caller', { caller: { ...ANN, token: idOf(TOKEN, 'tk-2') } }],
    ['address', { address: '192.0.2.2' }],
    ['route', { route: '/api/v1/sites' }],
    ['code', { code: 'site-bound' }],
  ])('another-%s-is-another-line', (_, extra) => {
    const { refusals, lines } = recorder();
    refusals.record(refused());
    refusals.record(refused(extra));
    expect(lines).toHaveLength(2);
  });

  test('never: strangers write without bound, nor lose a count, nor the name of a known caller', () => {
    const { refusals, lines } = recorder();
    for (let at = 0; at < 100_000; at += 1) {
      refusals.record(refused({ caller: undefined, address: `2001:db8::${at.toString(16)}`, code: 'token-unknown' }));
    }
    for (let at = 0; at < 5000; at += 1) refusals.record(refused({ address: `192.0.2.${at}` }));
    refusals.flush(Infinity);
    const anonymous = lines.filter(({ by }) => by === undefined);
    const known = lines.filter(({ by }) => by === 'ann');
    expect(anonymous.length).toBeLessThan(110);
    expect(known.length).toBeLessThan(1010);
    const total = (of: readonly RefusalLine[]): number => of.reduce((sum, { count }) => sum + count, 0);
    expect([total(anonymous), total(known)]).toEqual([100_000, 5000]);
  });
});
