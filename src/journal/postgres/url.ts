// Parses a PostgreSQL URL as libpq does: hosts in order, TLS mode and files, target_session_attrs. It must
// never drop a parameter silently: one that is not known, or not understood, is refused with a sentence.

export interface PostgresHost {
  /** A name, an address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
}

const TLS_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
export type TlsMode = (typeof TLS_MODES)[number];

const TARGETS = ['any', 'read-write', 'primary'] as const;
type TargetSession = (typeof TARGETS)[number];

export interface PostgresUrl {
  readonly hosts: readonly PostgresHost[];
  readonly user?: string;
  readonly password?: string;
  readonly database?: string;
  readonly tls: { readonly mode: TlsMode } & TlsFiles;
  /** Which of the hosts is the right one: any that answers, or the one that accepts writes. */
  readonly target: TargetSession;
  /** How long one host may take to accept a connection and to say whether it accepts writes. */
  readonly connectTimeoutMs: number;
  /** Settings of the session, as on the command line of PostgreSQL. */
  readonly options?: string;
  readonly applicationName?: string;
  readonly statementTimeoutMs?: number;
}

export interface TlsFiles {
  /** A file with certificates, or `system` for those that the operating system trusts. */
  readonly rootCert?: string;
  readonly cert?: string;
  readonly key?: string;
}

export type ParsedPostgresUrl =
  { readonly kind: 'url'; readonly url: PostgresUrl } | { readonly kind: 'refused'; readonly detail: string };

/** The variables of libpq, each a default for one parameter. */
export type PostgresEnvironment = Readonly<Record<string, string | undefined>>;

const SCHEME = /^postgres(?:ql)?:\/\//;
const PORT_DEFAULT = '5432';
// Long beside a round trip between sites, short beside the time after which a caller times out.
const CONNECT_TIMEOUT_DEFAULT_S = '2';

/** Which variable of the environment stands in for a parameter that is not given. */
const VARIABLES: Readonly<Record<string, string>> = {
  host: 'PGHOST',
  port: 'PGPORT',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  target_session_attrs: 'PGTARGETSESSIONATTRS',
  connect_timeout: 'PGCONNECT_TIMEOUT',
};

const PARAMETERS: ReadonlySet<string> = new Set([
  ...Object.keys(VARIABLES),
  ...['user', 'password', 'dbname', 'options', 'application_name', 'statement_timeout'],
]);

class InvalidUrl extends Error {}

export function parsePostgresUrl(text: string, env: PostgresEnvironment = {}): ParsedPostgresUrl {
  try {
    return { kind: 'url', url: parse(text, env) };
  } catch (error) {
    if (error instanceof InvalidUrl) return { kind: 'refused', detail: error.message };
    throw error;
  }
}

/** For sentences and logs: hosts and database, neither password nor parameters. */
export function describePostgresUrl({ hosts, user, database }: PostgresUrl): string {
  const at = user === undefined ? '' : `${encodeURIComponent(user)}@`;
  return `postgres://${at}${hosts.map(describeHost).join(',')}/${database ?? ''}`;
}

export function describeHost({ host, port }: PostgresHost): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

function parse(text: string, env: PostgresEnvironment): PostgresUrl {
  if (!SCHEME.test(text)) throw new InvalidUrl('a PostgreSQL URL begins with postgres://');
  const [address, query = ''] = splitOnce(text.replace(SCHEME, ''), '?');
  const [authority, path = ''] = splitOnce(address, '/');
  const at = authority.lastIndexOf('@');
  const [user = '', password] = at === -1 ? [] : splitOnce(authority.slice(0, at), ':');
  const parameters = parametersOf(query);
  const get = (name: string): string | undefined => parameters.get(name) ?? nonEmpty(env[VARIABLES[name] ?? '']);
  const hosts = hostsOf(authority.slice(at + 1), parameters, get);
  return {
    hosts,
    tls: tlsOf(get),
    target: oneOf(
      'target_session_attrs',
      get('target_session_attrs') ?? (hosts.length > 1 ? 'read-write' : 'any'),
      TARGETS,
    ),
    connectTimeoutMs: 1000 * parseWhole('connect_timeout', get('connect_timeout') ?? CONNECT_TIMEOUT_DEFAULT_S, 600),
    ...optionalField('user', parameters.get('user') ?? nonEmpty(decode(user))),
    ...optionalField('password', parameters.get('password') ?? (password === undefined ? undefined : decode(password))),
    ...optionalField('database', parameters.get('dbname') ?? nonEmpty(decode(path))),
    ...optionalField('options', parameters.get('options')),
    ...optionalField('applicationName', parameters.get('application_name')),
    ...statementTimeout(parameters.get('statement_timeout')),
  };
}

function statementTimeout(text: string | undefined): { readonly statementTimeoutMs?: number } {
  return text === undefined ? {} : { statementTimeoutMs: parseWhole('statement_timeout', text, 3_600_000) };
}

function optionalField<K extends string>(key: K, value: string | undefined): { readonly [name in K]?: string } {
  return (value === undefined ? {} : { [key]: value }) as { readonly [name in K]?: string };
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}

function splitOnce(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new InvalidUrl('a % is not followed by two hexadecimal digits: write %25 for a % that is meant');
  }
}

function parametersOf(query: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const part of query.split('&')) {
    if (part === '') continue;
    const [name = '', value] = splitOnce(part, '=').map((one) => decode(one ?? ''));
    if (!PARAMETERS.has(name)) {
      throw new InvalidUrl(`the parameter ${name} is not known: there are ${[...PARAMETERS].toSorted().join(', ')}`);
    }
    if (parameters.has(name)) throw new InvalidUrl(`the parameter ${name} is given twice`);
    parameters.set(name, value ?? '');
  }
  return parameters;
}

/** From the address of the URL, or from the parameters `host` and `port`, each a list. */
function hostsOf(
  authority: string,
  parameters: ReadonlyMap<string, string>,
  get: (name: string) => string | undefined,
): readonly PostgresHost[] {
  const listed = parameters.get('host') ?? (authority === '' ? (get('host') ?? 'localhost') : undefined);
  const named: readonly (readonly [string, string?])[] =
    listed === undefined ? authority.split(',').map(hostAndPort) : listed.split(',').map((host) => [host] as const);
  const ports = (get('port') ?? PORT_DEFAULT).split(',');
  if (ports.length !== 1 && ports.length !== named.length) {
    throw new InvalidUrl(
      `${ports.length} ports are given for ${named.length} hosts: give one for all, or one for each`,
    );
  }
  return named.map(([host, port], nth) => {
    if (host === '') throw new InvalidUrl('a host of the list is empty: write postgres://a,b,c/database');
    return { host, port: parseWhole('port', port ?? ports[ports.length === 1 ? 0 : nth] ?? PORT_DEFAULT, 65_535) };
  });
}

function hostAndPort(text: string): readonly [string, string?] {
  const parts = /^(?:\[(?<v6>[^\]]*)\]|(?<host>[^:[\]]*))(?::(?<port>[^:]*))?$/.exec(text)?.groups;
  if (parts === undefined)
    throw new InvalidUrl(`"${text}" is not a host: write an IPv6 address in brackets, [::1]:5432`);
  const host = parts['v6'] ?? decode(parts['host'] ?? '');
  return parts['port'] === undefined ? [host] : [host, parts['port']];
}

function tlsOf(get: (name: string) => string | undefined): PostgresUrl['tls'] {
  const [rootCert, cert, key] = [get('sslrootcert'), get('sslcert'), get('sslkey')];
  const system = rootCert === 'system';
  const mode = oneOf('sslmode', get('sslmode') ?? (system ? 'verify-full' : 'prefer'), TLS_MODES);
  if (mode.startsWith('verify-') && rootCert === undefined) {
    throw new InvalidUrl(`sslmode=${mode} needs sslrootcert: a file with the CA’s certificate, or system`);
  }
  if (system && mode !== 'verify-full') {
    throw new InvalidUrl(
      `sslrootcert=system needs sslmode=verify-full: any site of the Internet has a certificate of such a CA`,
    );
  }
  if ((cert === undefined) !== (key === undefined)) throw new InvalidUrl('sslcert and sslkey go together: give both');
  // As in libpq: with a CA at hand `require` checks the server's certificate, though not its name.
  return {
    mode: mode === 'require' && rootCert !== undefined ? 'verify-ca' : mode,
    ...optionalField('rootCert', rootCert),
    ...optionalField('cert', cert),
    ...optionalField('key', key),
  };
}

function oneOf<T extends string>(name: string, text: string, known: readonly T[]): T {
  const found = known.find((one) => one === text);
  if (found === undefined) throw new InvalidUrl(`${name}=${text} is not known: say ${known.join(', ')}`);
  return found;
}

function parseWhole(name: string, text: string, most: number): number {
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > most) throw new InvalidUrl(`${name} ${text} is not a number from 1 to ${most}`);
  return value;
}
