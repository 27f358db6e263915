import { describe, expect, test } from 'vitest';
import { demoHosts } from './demo-hosts.ts';
import { newsIn } from './demo-news.ts';
import { parseListenAddress } from './listen-address.ts';
import { PROGRAM } from './modules.ts';

describe('the demonstration', () => {
  test('twelve-hosts-in-two-sites, each with its own name and address', () => {
    const hosts = demoHosts(12);
    expect(hosts.map(({ name }) => name).join(' ')).toBe(
      'compute-1 compute-2 north-1 compute-3 compute-4 north-2 compute-5 compute-6 north-3 compute-7 compute-8 north-4',
    );
    expect(new Set(hosts.map(({ site }) => site))).toEqual(new Set(['central', 'north']));
  });

  test('a-larger-fleet-begins-with-the-smaller-one, up to ten thousand', () => {
    const many = demoHosts(10_000);
    expect(many.slice(0, 12)).toEqual(demoHosts(12));
    expect(new Set(many.map(({ name }) => name)).size).toBe(10_000);
    expect(new Set(many.map(({ tunnelAddress }) => tunnelAddress)).size).toBe(10_000);
  });

  test('news-are-what-a-person-would-tell', () => {
    const host = { state: 'active', connection: { state: 'up' } };
    const change = (before: object | undefined, after: object | undefined, kind = 'host') => {
      const stored = (doc: object | undefined) => doc && { id: 'x' as never, revision: 1, doc };
      return newsIn([{ kind, before: stored(before), after: stored(after) }], PROGRAM.explain);
    };
    expect(change(undefined, host)).toEqual([]);
    expect(change({ ...host, state: 'joining', connection: { state: 'unknown' } }, host)).toEqual(['host x is active']);
    expect(change(host, { ...host, connection: { state: 'down' } })).toEqual(['host x is down']);
    expect(change({ ...host, connection: { state: 'down' } }, host)).toEqual(['host x is reachable again']);
    expect(change(host, { ...host, disabled: { reason: 'fan' } })).toEqual(['host x is disabled: fan']);
    const silence = { severity: 'critical', reason: { code: 'mass-silence', site: 's', silent: 3, hosts: 4 } };
    expect(change(undefined, silence, 'alarm')[0]).toMatch(/^critical alarm: 3 of 4 hosts of site s/);
    expect(change({ state: 'running', title: 't' }, { state: 'succeeded', title: 't' }, 'operation')).toEqual([
      'operation x succeeded: t.',
    ]);
  });
});

describe('addresses to listen on', () => {
  test.each([
    ['127.0.0.1:7070', '127.0.0.1', 7070],
    ['7070', '127.0.0.1', 7070],
    [':7070', '127.0.0.1', 7070],
    ['[::1]:80', '::1', 80],
    ['muster.example.org:0', 'muster.example.org', 0],
  ])('%s', (text, host, port) => expect(parseListenAddress(text)).toEqual({ host, port }));

  test.each(['', 'somewhere', '127.0.0.1', '1:2:3', '127.0.0.1:70000', '[::1]'])('%j is refused', (text) => {
    expect(() => parseListenAddress(text)).toThrow('is not an address to listen on');
  });
});
