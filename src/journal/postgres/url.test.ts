import { describe, expect, test } from 'vitest';
import { describePostgresUrl, parsePostgresUrl, type PostgresUrl } from './url.ts';

function parsed(text: string, env: Record<string, string> = {}): PostgresUrl {
  const answer = parsePostgresUrl(text, env);
  if (answer.kind === 'refused') throw new Error(answer.detail);
  return answer.url;
}

const refusal = (text: string): string | undefined => {
  const answer = parsePostgresUrl(text);
  return answer.kind === 'refused' ? answer.detail : undefined;
};

describe('hosts', () => {
  test.each([
    ['one-host', 'postgres://db/muster', ['db:5432']],
    ['three-hosts', 'postgres://a,b,c/muster', ['a:5432', 'b:5432', 'c:5432']],
    ['ports-of-their-own', 'postgresql://u@a:5432,b:5433,c/muster', ['a:5432', 'b:5433', 'c:5432']],
    ['ipv6-in-brackets', 'postgres://[::1]:6000,[fe80::2]/m', ['[::1]:6000', '[fe80::2]:5432']],
    ['hosts-as-parameter', 'postgres://u@/m?host=a,b&port=1,2', ['a:1', 'b:2']],
    ['one-port-for-all', 'postgres:///m?host=a,b&port=7', ['a:7', 'b:7']],
    ['unix-socket', 'postgres:///m?host=/run/postgresql', ['/run/postgresql:5432']],
    ['unix-socket-in-the-address', 'postgres://%2Frun%2Fpostgresql/m', ['/run/postgresql:5432']],
    ['no-host', 'postgres:///m', ['localhost:5432']],
  ])('%s', (_name, text, hosts) => {
    expect(describePostgresUrl(parsed(text)).replace(/^postgres:\/\/(?:u@)?/, '')).toBe(
      `${hosts.join(',')}/${parsed(text).database}`,
    );
  });

  test('several-hosts-mean-the-one-that-accepts-writes-unless-said-otherwise', () => {
    expect(parsed('postgres://a/m').target).toBe('any');
    expect(parsed('postgres://a,b/m').target).toBe('read-write');
    expect(parsed('postgres://a,b/m?target_session_attrs=any').target).toBe('any');
    expect(parsed('postgres://a/m?target_session_attrs=primary').target).toBe('primary');
  });
});

test('user-password-and-database-are-decoded-and-the-password-is-not-described', () => {
  const url = parsed('postgres://m%40ster:p%3Aw%2F@a,b/fl%20eet');
  expect(url).toMatchObject({ user: 'm@ster', password: 'p:w/', database: 'fl eet' });
  expect(describePostgresUrl(url)).toBe('postgres://m%40ster@a:5432,b:5432/fl eet');
});

test('variables-of-libpq-stand-in-for-what-is-not-given', () => {
  const env = { PGHOST: 'x,y', PGPORT: '9', PGSSLMODE: 'verify-full', PGSSLROOTCERT: '/ca.pem' };
  expect(describePostgresUrl(parsed('postgres:///m', env))).toBe('postgres://x:9,y:9/m');
  expect(parsed('postgres://a/m', env).tls).toEqual({ mode: 'verify-full', rootCert: '/ca.pem' });
  expect(parsed('postgres://a/m?sslmode=disable', env).tls.mode).toBe('disable');
});

describe('tls', () => {
  test.each([
    ['prefer-by-default', '', { mode: 'prefer' }],
    ['disable', 'sslmode=disable', { mode: 'disable' }],
    ['require', 'sslmode=require', { mode: 'require' }],
    ['require-with-a-ca-verifies-it', 'sslmode=require&sslrootcert=/ca', { mode: 'verify-ca', rootCert: '/ca' }],
    ['system-verifies-in-full', 'sslrootcert=system', { mode: 'verify-full', rootCert: 'system' }],
    ['client-certificate', 'sslcert=/c&sslkey=/k', { mode: 'prefer', cert: '/c', key: '/k' }],
  ])('%s', (_name, query, tls) => {
    expect(parsed(`postgres://a/m?${query}`).tls).toEqual(tls);
  });
});

test('what-is-not-understood-is-refused-by-name', () => {
  const texts = [
    'mysql://a/m',
    'postgres://a,,b/m',
    'postgres://a:0/m',
    'postgres://a:port/m',
    'postgres://::1/m',
    'postgres:///m?host=a,b,c&port=1,2',
    'postgres://a/m?sslmode=verify-full',
    'postgres://a/m?sslmode=allow',
    'postgres://a/m?sslrootcert=system&sslmode=require',
    'postgres://a/m?sslcert=/c',
    'postgres://a/m?connect_timeout=0',
    'postgres://a/m?target_session_attrs=standby',
    'postgres://a/m?ssl=true',
    'postgres://a/m?sslmode=require&sslmode=disable',
    'postgres://a/m%2',
  ];
  expect(texts.map((text) => `${text}: ${refusal(text)}`)).toMatchInlineSnapshot(`
    [
      "mysql://a/m: a PostgreSQL URL begins with postgres://",
      "postgres://a,,b/m: a host of the list is empty: write postgres://a,b,c/database",
      "postgres://a:0/m: port 0 is not a number from 1 to 65535",
      "postgres://a:port/m: port port is not a number from 1 to 65535",
      "postgres://::1/m: "::1" is not a host: write an IPv6 address in brackets, [::1]:5432",
      "postgres:///m?host=a,b,c&port=1,2: 2 ports are given for 3 hosts: give one for all, or one for each",
      "postgres://a/m?sslmode=verify-full: sslmode=verify-full needs sslrootcert: a file with the CA’s certificate, or system",
      "postgres://a/m?sslmode=allow: sslmode=allow is not known: say disable, prefer, require, verify-ca, verify-full",
      "postgres://a/m?sslrootcert=system&sslmode=require: sslrootcert=system needs sslmode=verify-full: any site of the Internet has a certificate of such a CA",
      "postgres://a/m?sslcert=/c: sslcert and sslkey go together: give both",
      "postgres://a/m?connect_timeout=0: connect_timeout 0 is not a number from 1 to 600",
      "postgres://a/m?target_session_attrs=standby: target_session_attrs=standby is not known: say any, read-write, primary",
      "postgres://a/m?ssl=true: the parameter ssl is not known: there are application_name, connect_timeout, dbname, host, options, password, port, sslcert, sslkey, sslmode, sslrootcert, statement_timeout, target_session_attrs, user",
      "postgres://a/m?sslmode=require&sslmode=disable: the parameter sslmode is given twice",
      "postgres://a/m%2: a % is not followed by two hexadecimal digits: write %25 for a % that is meant",
    ]
  `);
});
