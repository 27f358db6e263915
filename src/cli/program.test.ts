import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { COMMANDS } from './commands.ts';
import { runWords } from './output/terminal-fixture.ts';

const folder = mkdtempSync(join(tmpdir(), 'muster-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const GROUPS: Readonly<Record<string, readonly string[]>> = {
  hosts: [
    'list',
    'show',
    'tenants',
    'segments',
    'join',
    'join-token',
    'edit',
    'disable',
    'enable',
    'force-down',
    'clear-force-down',
    're-admit',
  ],
  'scale-in': ['preview', 'start', 'status', 'end', 'recover'],
  sites: ['list', 'show', 'create', 'describe', 'delete'],
  instances: ['list', 'show', 'create', 'preview', 'move', 'shelve', 'unshelve', 'rebuild', 'delete'],
  flavors: ['list', 'show', 'create', 'delete'],
  groups: ['list', 'show', 'create', 'delete'],
  networks: ['list', 'show', 'create', 'edit', 'stock', 'delete'],
  segments: ['list', 'show', 'create', 'stock', 'delete'],
  subnets: ['list', 'show', 'create', 'edit', 'delete'],
  ports: ['list', 'show', 'create', 'edit', 'delete'],
  quotas: ['list', 'show', 'set', 'delete'],
  dataplane: ['show', 'diff', 'trace'],
  operations: ['list', 'show', 'wait', 'cancel', 'retry'],
  settings: ['list', 'show', 'set', 'reset'],
  audit: ['export'],
  token: ['list', 'create', 'revoke'],
};
const SINGLE = ['serve', 'demo', 'agent', 'scale-out', 'gates', 'alarms', 'watch', 'history', 'completion'];

test('every-command-group-of-the-folder-is-in-the-program', () => {
  const files = globSync('src/cli/**/*.ts').filter((path) => !path.endsWith('.test.ts'));
  const groups = files.flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/^export function (\w+Command)\(cli: Cli\): Command\b/gm)].map(
      ([, name = '']) => name,
    ),
  );
  expect(groups.length).toBeGreaterThan(0);
  expect(COMMANDS.map(({ name }) => name).sort()).toEqual(groups.sort());
});

describe('help', () => {
  test.each(Object.entries(GROUPS))('%s names its commands', async (group, commands) => {
    const { out } = await runWords([group, '--help']);
    for (const command of commands) expect(out).toMatch(new RegExp(`^  ${command}[| ]`, 'm'));
  });

  const every = [
    ...SINGLE,
    ...Object.entries(GROUPS).flatMap(([group, parts]) => parts.map((part) => `${group} ${part}`)),
  ];
  test.each(every)('%s: usage, every option, an example', async (command) => {
    const { code, out, err } = await runWords([...command.split(' '), '--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(new RegExp(`^Usage: muster ${command.split(' ')[0]}`));
    expect(out).toMatch(/Examples?:\n {2}\S/);
    expect(out).toContain('--server <url>');
  });

  test('what must be said is marked', async () => {
    const { out } = await runWords(['subnets', 'create', '--help']);
    const required = [...out.matchAll(/^ {2}(--\S+).*\(required\)$/gm)].map(([, option]) => option);
    expect(required).toEqual(['--network', '--cidr']);
  });
});

describe('wrong usage is 2, with a sentence and nothing on standard output', () => {
  test.each<[why: string, args: string[], sentence: string]>([
    ['unknown command', ['host', 'list'], "unknown command 'host'\n(Did you mean hosts?)"],
    ['unknown part of a command', ['hosts', 'lst'], "unknown command 'lst'\n(Did you mean one of list, ls?)"],
    ['unknown option', ['hosts', 'list', '--zonee', 'a'], "unknown option '--zonee'\n(Did you mean --zone?)"],
    ['a name is missing', ['hosts', 'show'], "missing required argument 'name'"],
    ['a reason is missing', ['hosts', 'disable', 'c1'], "required option '--reason <text>' not specified"],
    ['too many words', ['sites', 'show', 'a', 'b'], 'too many arguments'],
    ['not a form of output', ['hosts', 'list', '-o', 'xml'], 'Allowed choices are table, json, yaml'],
    ['not a number', ['hosts', 'join', 'c1', '--vcpus', 'many'], '--vcpus: "many" is not a whole number.'],
    [
      'not a size',
      ['hosts', 'join', 'c1', '--memory', '64GB'],
      '--memory: "64GB" is not a size. Write it in MiB, GiB or TiB',
    ],
    [
      'not a span of time',
      ['hosts', 'list', '--request-timeout', 'soon'],
      '--request-timeout: "soon" is not a span of time.',
    ],
    [
      'not a time to wait',
      ['hosts', 'join', 'c1', '--wait', '--timeout', 'soon'],
      '--timeout: "soon" is not a span of time.',
    ],
    ['a time to wait, and no wait', ['hosts', 'join', 'c1', '--timeout', '5s'], 'Say --wait too.'],
    ['no hosts', ['hosts', 'join'], 'Name the hosts to join, or give a list of them with -f.'],
    ['no such file', ['hosts', 'join', '-f', '/nowhere/x'], 'There is no file /nowhere/x.'],
    ['not YAML', ['hosts', 'join', '-f', file('bad.yaml', 'a: [1,')], 'is neither YAML nor JSON'],
    ['no list in it', ['hosts', 'join', '-f', file('other.yaml', 'a: 1')], 'holds no list of hosts'],
    ['not a resource', ['history', 'compute-1'], '"compute-1" is not of the form kind/id'],
    ['not a server', ['hosts', 'list', '--server', 'ftp://x'], '"ftp://x" is not the address of a server.'],
    ['no token file', ['hosts', 'list', '--token-file', '/nowhere/t'], 'The token file /nowhere/t does not exist'],
    ['an empty token file', ['hosts', 'list', '--token-file', file('empty', '\n')], 'is empty'],
    ['not a shell', ['completion', 'csh'], 'Allowed choices are bash, zsh, fish'],
    ['not a role', ['token', 'create', 'x', '--role', 'king'], 'Allowed choices are viewer, operator, admin, join'],
    ['nothing to edit', ['hosts', 'edit', 'c1'], 'Say what to change, with --zone, --aggregate, --trait,'],
    [
      'not a deadline',
      ['services', 'move', 'nat:r1', '--deadline', 'soon'],
      '--deadline: "soon" is not a span of time.',
    ],
    [
      'not a drain time',
      ['scale-in', 'start', 'c1', '--deadline', 'soon'],
      '--deadline: "soon" is not a span of time.',
    ],
    ['not a quota', ['quotas', 'set', 'shop', '--vcpus', 'few'], '--vcpus: "few" is not a whole number.'],
    ['values and a file', ['settings', 'set', 'x', 'a=1', '-f', 'y'], 'Give values or a file, one of them.'],
    ['two whole values', ['settings', 'set', 'x', '1', '2'], 'One whole value, please, or several field=value.'],
    ['no flavor', ['instances', 'create', 'web'], "required option '--flavor <name>' not specified"],
    ['not a NIC', ['instances', 'create', '--flavor', 's', '--nic', 'net=lan'], '"net=lan" is nothing that a NIC has.'],
    [
      'half a NIC',
      ['instances', 'create', '--flavor', 's', '--nic', 'network'],
      '"network" is nothing that a NIC has.',
    ],
    [
      'not an address of a NIC',
      ['instances', 'create', '--flavor', 's', '--nic', 'network=lan,fixed-ip=10.0.0.300'],
      '"10.0.0.300" is not an IP address; 10.0.0.9 and 2001:db8::9 are.',
    ],
    [
      'two NICs in one',
      ['instances', 'create', '--flavor', 's', '--nic', 'network=a,network=b'],
      'One --nic is one NIC; repeat the option.',
    ],
    [
      'auto and more',
      ['instances', 'create', '--flavor', 's', '--network', 'auto', '--nic', 'network=lan'],
      '--network auto stands alone',
    ],
    ['not a policy', ['groups', 'create', 'g', '--policy', 'near'], 'Allowed choices are affinity, anti-affinity'],
    ['not a resource count', ['flavors', 'create', 'f', '--vcpus', '1', '--memory', '1', '--resource', 'gpu'], 'gpu=1'],
    ['not a pool', ['subnets', 'create', 's', '--network', 'n', '--cidr', 'c', '--pool', '10.0.0.1'], 'first-last'],
    [
      'not an address of a port',
      ['ports', 'create', '--network', 'n', '--fixed-ip', '10.0.0.1,10.0.0'],
      '"10.0.0" is not an IP address',
    ],
    ['not a gateway', ['subnets', 'edit', 's', '--gateway', 'first'], '--gateway: "first" is not an IP address'],
    ['not an end of a tunnel', ['hosts', 'edit', 'c1', '--tunnel-address', '::x'], '"::x" is not an IP address'],
    [
      'addresses and none',
      ['ports', 'create', '--network', 'n', '--no-address', '--fixed-ip', '10.0.0.1'],
      '--no-address excludes',
    ],
    ['nothing to limit', ['quotas', 'set', 'shop'], 'Say what to limit, with --instances, --vcpus, --memory, --ports.'],
    ['nothing to change', ['networks', 'edit', 'lan'], 'Say what to change, with --shared,'],
    ['no hosts to scale in', ['scale-in', 'start'], "missing required argument 'hosts'"],
    ['force without a reason', ['scale-in', 'end', 'c1', '--force'], '--force needs --reason'],
    [
      'one address for two',
      ['hosts', 'join', 'c1', 'c2', '--tunnel-address', '172.16.0.1'],
      '--tunnel-address is for one host: join it alone, or say "tunnelAddress" for each in a list with -f.',
    ],
    ['no hosts to scale out', ['scale-out'], 'Name the hosts to join, or give a list of them with -f.'],
    ['not a demo', ['demo', '--demo', 'huge'], 'Say none, small, or a number up to 10000.'],
    [
      'a time that ends before it begins',
      ['audit', 'export', '--since', '1h', '--until', '2h'],
      '--since has to be earlier than --until',
    ],
    ['not a version', ['agent', '--service-version', 'old'], 'Say a number from 1 up.'],
  ])('%s', async (_why, args, sentence) => {
    const ended = await runWords(args);
    expect(ended).toMatchObject({ code: 2, out: '' });
    expect(ended.err).toContain(sentence);
  });

  test('no command at all shows the help', async () => {
    const ended = await runWords([]);
    expect(ended).toMatchObject({ code: 2, out: '' });
    expect(ended.err).toContain('Usage: muster [options] [command]');
  });
});

describe('programs that run on', () => {
  test('serve and demo get their options, with numbers for names of demos', async () => {
    const received: object[] = [];
    const take = (code: number) => (options: object) => {
      received.push(options);
      return Promise.resolve(code);
    };
    const starters = { serve: take(1), demo: take(0), agent: take(0) };
    expect(
      (await runWords(['serve', '--data', 'd', '--listen', '0', '--store', 'postgres://x'], { starters })).code,
    ).toBe(1);
    expect((await runWords(['demo', '--demo', 'small'], { starters })).code).toBe(0);
    expect((await runWords(['demo', '--demo', 'none'], { starters })).code).toBe(0);
    expect(received).toMatchObject([
      { data: 'd', listen: '0', store: 'postgres://x', demo: 'none', logLevel: 'info' },
      { data: './data', listen: '127.0.0.1:7070', demo: '3', logLevel: 'warn' },
      { demo: '0' },
    ]);
  });
});

describe('completion', () => {
  test.each([
    ['bash', ['-n']],
    ['zsh', ['-n']],
    ['fish', ['--no-execute']],
  ] as const)('the script for %s is valid', async (shell, check) => {
    const { code, out } = await runWords(['completion', shell]);
    expect(code).toBe(0);
    for (const word of ['hosts', 'force-down', 'request-timeout']) expect(out).toContain(word);
    const checked = spawnSync(shell, [...check, file(`muster.${shell}`, out)], { encoding: 'utf8' });
    // A shell that is not installed cannot say anything about its script.
    if (checked.error === undefined) expect(checked).toMatchObject({ status: 0, stderr: '' });
  });

  test.each([
    ['muster ho', 'hosts'],
    ['muster hosts fo', 'force-down'],
    ['muster --server http://x hosts sh', 'show'],
    ['muster hosts list --si', '--site'],
    ['muster hosts list --output ', 'json table yaml'],
    ['muster hosts show list', ''],
    ['muster settings re', 'reset'],
    ['muster instances un', 'unshelve'],
    ['muster groups create web --policy anti', 'anti-affinity'],
    ['muster segments sto', 'stock'],
  ])('bash completes %j', async (line, wanted) => {
    const path = file('complete.bash', (await runWords(['completion', 'bash'])).out);
    const words = line.split(' ');
    const typed = words.map((word) => `'${word}'`).join(' ');
    const script = `source ${path}; COMP_WORDS=(${typed}); COMP_CWORD=${words.length - 1}; _muster; printf '%s\\n' "\${COMPREPLY[@]}" | sort`;
    const out = execFileSync('bash', ['-c', script], { encoding: 'utf8' });
    expect(out.trim().split('\n').join(' ')).toBe(wanted);
  });
});
