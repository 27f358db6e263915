import { describe, expect, test } from 'vitest';
import type { NodeTools, SwitchComparison, TracedLine } from '../command.ts';
import { EXIT, CommandFailure } from '../exit-code.ts';
import { NO_NODE, runWords } from '../output/terminal-fixture.ts';

const OWNER = { kind: 'peer', id: 'c2' };
const EQUAL: SwitchComparison = { host: 'c1', equal: true, flows: 77, findings: [], gaps: [] };
const DIFFERENT: SwitchComparison = {
  ...EQUAL,
  equal: false,
  findings: [
    { kind: 'port-missing', what: 'port', text: 'mp1' },
    { kind: 'missing', what: 'flow', text: 'table=0', owner: OWNER, sentence: 'It is a peer.' },
    { kind: 'different', what: 'tunnel', text: 'c3 at 172.16.0.3', found: 'c3 at 172.16.0.33' },
    { kind: 'unexpected', what: 'flow', text: 'table=5', owner: OWNER },
    { kind: 'conflict', what: 'flow', text: 'table=7', found: 'cookie=0x7' },
  ],
  gaps: [{ sentence: 'service nat:edge: It needs a tunnel to c9, and there is none.' }],
};
const LINES: readonly TracedLine[] = [
  { text: 'bridge("br-int")' },
  { text: ' 0. priority 50', tableName: 'classify', owner: OWNER, sentence: 'It is a peer.' },
  { text: ' 5. priority 1', tableName: 'arrivals', owner: OWNER },
  { text: '10. priority 1', tableName: 'ingress' },
];

function node(compared: SwitchComparison | CommandFailure, calls: object[] = []): NodeTools {
  return {
    ...NO_NODE,
    compareSwitch: (options) => {
      calls.push(options);
      return compared instanceof CommandFailure ? Promise.reject(compared) : Promise.resolve(compared);
    },
    tracePacket: (options) => {
      calls.push(options);
      return Promise.resolve(LINES);
    },
  };
}

const DIFF = ['dataplane', 'diff', '--ovs', 'unix:/run/db.sock'];
const TRACE = ['dataplane', 'trace', 'in_port=1,ip', '--ovs', 'unix:/run/db.sock'];

describe('muster dataplane diff', () => {
  test('of-a-switch-that-is-as-it-should-be-ends-with-0', async () => {
    expect(await runWords(DIFF, { node: node(EQUAL) })).toEqual({
      code: 0,
      out: 'The switch of c1 is as it should be: 77 flows.\n',
      err: '',
    });
  });

  test('tells-every-difference-and-ends-with-1', async () => {
    const { code, out } = await runWords(DIFF, { node: node(DIFFERENT) });
    expect(code).toBe(1);
    expect(out).toBe(`Missing
  flow table=0  # peer c2: It is a peer.

Other than it should be
  tunnel c3 at 172.16.0.3
    is c3 at 172.16.0.33

Too much
  flow table=5  # peer c2

In the way, and not owned by Muster: only its owner can remove it
  flow table=7
    is cookie=0x7

Ports that are not plugged in; what names them is left out until they are
  port mp1

Wanted, and not to be had
  service nat:edge: It needs a tunnel to c9, and there is none.

The switch of c1 is not as it should be: 5 differences, 77 flows wanted.
`);
  });

  test('for-programs-all-of-it-as-json', async () => {
    const { code, out } = await runWords([...DIFF, '--output', 'json'], { node: node(DIFFERENT) });
    expect(code).toBe(1);
    expect(JSON.parse(out)).toEqual(DIFFERENT);
  });

  test('takes-the-options-of-an-agent', async () => {
    const calls: object[] = [];
    const words = [
      ...DIFF,
      '--ovs-openflow',
      'tcp:h:1',
      '--ovs-control',
      'unix:/c',
      '--bridge',
      'br',
      '--external',
      'x',
    ];
    await runWords([...words, '--datapath', 'netdev', '--state', '/s'], { node: node(EQUAL, calls) });
    expect(calls).toMatchObject([
      {
        state: '/s',
        ovs: 'unix:/run/db.sock',
        ovsOpenflow: 'tcp:h:1',
        ovsControl: 'unix:/c',
        bridge: 'br',
        external: 'x',
        datapath: 'netdev',
      },
    ]);
  });

  test('what-cannot-be-read-is-a-sentence-and-a-code-of-its-own', async () => {
    const failed = node(new CommandFailure(EXIT.unreachable, 'There is no view yet.'));
    expect(await runWords(DIFF, { node: failed })).toEqual({ code: 3, out: '', err: 'There is no view yet.\n' });
    expect(await runWords(['dataplane', 'diff'])).toMatchObject({ code: 2 });
  });
});

describe('muster dataplane trace', () => {
  test('says-below-each-flow-of-ours-whose-it-is', async () => {
    const calls: object[] = [];
    const { code, out } = await runWords(TRACE, { node: node(EQUAL, calls) });
    expect(code).toBe(0);
    expect(calls).toMatchObject([{ flow: 'in_port=1,ip', ovs: 'unix:/run/db.sock', state: './agent-data' }]);
    expect(out).toBe(`bridge("br-int")
 0. priority 50
      # classify: peer c2: It is a peer.
 5. priority 1
      # arrivals: peer c2, and the last view does not want it
10. priority 1
      # ingress: of Muster, and the last view does not want it
`);
  });

  test('for-programs-line-by-line', async () => {
    const { out } = await runWords([...TRACE, '--output', 'json'], { node: node(EQUAL) });
    expect(JSON.parse(out)).toEqual(LINES);
  });
});
