// docs/dataplane-tables.md, made from the code: the tables of the pipeline, and what each of them holds on the hosts of a small world,
// whatever a host has to do with the services there.
import { compile } from '../compile/compile.ts';
import { C2, nat, subnetService, view } from '../compile/dataplane-view-fixture.ts';
import { explainFlows, NEXT_HOPS_BY_NAME, tableName, type ExplainedFlow } from './explain.ts';
import type { FlowReason } from '../compile/flow-fragment.ts';
import { FLOW_REASON_SENTENCES } from './flow-reasons.ts';
import type { ServiceView } from '../view/dataplane-view.ts';
import { TABLE, TABLE_PURPOSES } from '../switch/tables.ts';

interface Situation {
  /** The head of its column. */
  readonly name: string;
  readonly about: string;
  readonly facts: Partial<ServiceView>;
}

type Phase = NonNullable<ServiceView['handover']>['phase'];

const HERE = { host: 'c1' };

function handover(phase: Phase): Partial<ServiceView> {
  return { handover: { phase, other: C2.host, tunnelAddress: C2.tunnelAddress } };
}

/** A handover in the order in which it goes. */
const SITUATIONS: readonly Situation[] = [
  { name: 'other', about: 'has presence, and another host is designated', facts: {} },
  {
    name: 'standby',
    about: 'would take the services over were the designated host lost, and takes what is sent to it; DHCP has none',
    facts: { role: 'standby', standby: HERE.host },
  },
  {
    name: 'designated',
    about: 'does the services, with a standby, and nothing is under way',
    facts: { role: 'designated', designated: HERE, standby: C2.host },
  },
  {
    name: 'old: preparing',
    about: 'does the services while another host is built to take them',
    facts: { role: 'designated', designated: HERE, ...handover('preparing') },
  },
  {
    name: 'new: preparing',
    about: 'is built to take them, and takes what is sent to it',
    facts: { role: 'preparing', ...handover('preparing') },
  },
  {
    name: 'old: switched',
    about: 'provided the service until now, and still serves what reaches it while the others change to the new one',
    facts: { role: 'retiring', ...handover('switched') },
  },
  {
    name: 'new: switched',
    about: 'does what it knows, and leaves to the old host what begins',
    facts: { role: 'designated', designated: HERE, ...handover('switched') },
  },
  {
    name: 'old: retiring',
    about: 'does what it knows, and leaves to the new host what begins; untranslated, sends everything to it',
    facts: { role: 'retiring', ...handover('retiring') },
  },
  {
    name: 'new: retiring',
    about: 'does them, and begins only what the old host does not know either',
    facts: { role: 'designated', designated: HERE, ...handover('retiring') },
  },
  {
    name: 'old: draining',
    about: 'sends everything to the new host, and translates replies of old connections back',
    facts: { role: 'retiring', ...handover('draining') },
  },
  {
    name: 'new: draining',
    about: 'does them, and sends replies that it does not know to the old host',
    facts: { role: 'designated', designated: HERE, ...handover('draining') },
  },
];

const FLOATING = [{ outside: '198.51.100.20', inside: '10.0.0.11' }];

function flowsIn({ facts }: Situation): ExplainedFlow[] {
  const services = [
    nat({ ...facts, floating: FLOATING }),
    subnetService('subnet-route', facts),
    subnetService('dhcp', facts.role === 'standby' ? {} : facts),
  ];
  return explainFlows(compile(view({ services }), NEXT_HOPS_BY_NAME));
}

/** How many flows there are of each reason, in a table. */
type HitCounts = ReadonlyMap<string, number>;

function countsOf(flows: readonly ExplainedFlow[]): HitCounts {
  const counts = new Map<string, number>();
  for (const { table, reason } of flows) counts.set(`${table} ${reason}`, (counts.get(`${table} ${reason}`) ?? 0) + 1);
  return counts;
}

/** In Markdown; its form is prettier's to make. */
export function tablesDocument(): string {
  const flows = SITUATIONS.map(flowsIn);
  const counts = flows.map(countsOf);
  return [
    INTRODUCTION,
    tablesPart(flows),
    situationsPart(),
    ...Object.values(TABLE).map((table) => tablePart(table, { flows, counts })),
  ].join('\n\n');
}

const INTRODUCTION = `# The tables of the pipeline

Made by \`npm run tables\` from the compiler: this page is not edited. A test fails when it is not up to date. What the words mean is in
[the data plane](dataplane.md).

The world is the one that the tests of the compiler are about. The host is \`c1\`, with one port in the network \`blue\` (IPv4 and IPv6);
its peers are \`c2\`, with a port in \`blue\`, and \`c3\`, with one in \`red\`. Both networks are behind the router \`edge\`, which has source NAT, a
route for the IPv6 subnet of \`blue\`, DHCP in its IPv4 subnet, and a floating address for the port here.`;

function tablesPart(flows: readonly (readonly ExplainedFlow[])[]): string {
  const rows = Object.entries(TABLE).map(([name, table]) => {
    const here = flows.map((those) => those.filter((flow) => flow.table === table).length);
    return row([String(table), `\`${name}\``, TABLE_PURPOSES[name as keyof typeof TABLE], ...here.map(String)]);
  });
  return [
    '## The tables, and how many flows each holds',
    '',
    row(['table', 'name', 'what it is for', ...SITUATIONS.map(({ name }) => name)]),
    row(['---', '---', '---', ...SITUATIONS.map(() => '--:')]),
    ...rows,
    row(['', '', 'all', ...flows.map((those) => String(those.length))]),
  ].join('\n');
}

function situationsPart(): string {
  return [
    'What a host has to do with the services:',
    '',
    ...SITUATIONS.map(({ name, about }) => `- **${name}**: ${about}`),
  ].join('\n');
}

interface Held {
  readonly flows: readonly (readonly ExplainedFlow[])[];
  readonly counts: readonly HitCounts[];
}

function tablePart(table: number, { flows, counts }: Held): string {
  const those = flows.flat().filter((flow) => flow.table === table);
  const reasons = [...Map.groupBy(those, ({ reason }) => reason)].sort(([, [one]], [, [other]]) => {
    return (other?.priority ?? 0) - (one?.priority ?? 0);
  });
  return [
    `## ${table} ${tableName(table)}`,
    '',
    `${capital(TABLE_PURPOSES[tableName(table) as keyof typeof TABLE])}.`,
    '',
    row(['priority', 'why', ...SITUATIONS.map(({ name }) => name)]),
    row(['--:', '---', ...SITUATIONS.map(() => '--:')]),
    ...reasons.map(([why, alike]) => reasonRow(`${table} ${why}`, { why, alike, counts })),
    '',
    '```',
    ...reasons.flatMap(([, alike]) => exampleLines(alike)),
    '```',
  ].join('\n');
}

function reasonRow(
  key: string,
  {
    why,
    alike,
    counts,
  }: { readonly why: FlowReason; readonly alike: readonly ExplainedFlow[]; readonly counts: readonly HitCounts[] },
): string {
  const priorities = [...new Set(alike.map(({ priority }) => priority))].join(', ');
  const cells = counts.map((count) => String(count.get(key) ?? ''));
  return row([priorities, `\`${why}\`: ${FLOW_REASON_SENTENCES[why]}`, ...cells]);
}

/** One flow of each reason, of each way in which it is done. */
function exampleLines(alike: readonly ExplainedFlow[]): string[] {
  const ways = [...Map.groupBy(alike, wayOf).values()].flatMap(([first]) => first ?? []);
  return ways.flatMap(({ priority, match, actions, reason }) => [
    `# ${reason}`,
    `priority=${priority}${match === '' ? '' : `,${match}`}`,
    `  actions=${actions}`,
  ]);
}

/** Two flows that do the same to other addresses are done in one way. */
function wayOf({ priority, actions }: ExplainedFlow): string {
  return [priority, ...actions.split(',').map((step) => step.split(/[:(]/)[0])].join(' ');
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
