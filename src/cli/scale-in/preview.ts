// muster scale-in preview: what taking hosts out of service would do, before anybody does it.
import { Command } from 'commander';
import { withAction, addExamples, type Cli } from '../command.ts';
import { durationText } from '../output/duration.ts';
import { wholeNumber } from '../input/input-file.ts';
import { explainRefusal, SCALE_IN_PATH } from './submit.ts';
import { blockedLines, countText, straysLines, type Blocked, type Strays } from './scale-in-text.ts';
import type { Session } from '../session.ts';
import { renderTable, type Column } from '../output/table.ts';

interface Tenant {
  readonly kind: string;
  readonly id: string;
  readonly evacuation: {
    readonly kind: 'move' | 'rebuild' | 'ends' | 'wait';
    readonly how?: string;
    readonly to?: string;
    readonly sentence?: string;
  };
}

interface Load {
  readonly host: string;
  readonly before: Readonly<Record<string, number>>;
  readonly after: Readonly<Record<string, number>>;
}

interface Interrupted {
  readonly kind: string;
  readonly by: string;
  readonly how?: string;
  readonly count: number;
  readonly interruption: 'none' | 'brief' | 'restart' | 'ends';
}

interface Touches {
  readonly tunnels: number;
  readonly flows: number;
  readonly groups: number;
  readonly services: number;
}

interface MoveTime {
  readonly kind: string;
  readonly moves: number;
  readonly eachMs: number;
  readonly measuredOver?: number;
}

export interface Preview {
  readonly plan: string;
  readonly hosts: readonly {
    readonly host: string;
    readonly state: string;
    readonly connection: string;
    readonly strays?: Strays;
    readonly count: number;
    readonly tenants: readonly Tenant[];
    readonly touches: Touches;
  }[];
  readonly counts: { readonly tenants: number; readonly blocked: number; readonly ends: number };
  readonly blocked: readonly Blocked[];
  readonly loads: { readonly hosts: number; readonly busiest: readonly Load[] };
  readonly interruptions: readonly Interrupted[];
  readonly estimate: {
    readonly durationMs: number;
    readonly moves: number;
    readonly assuming: readonly MoveTime[];
    readonly budgets: { readonly movesAtOnce: number; readonly movesPerHostAtOnce: number };
  };
}

export function scaleInPreview(cli: Cli): Command {
  const command = new Command('preview')
    .description('Show what taking hosts out of service would do; nothing is changed')
    .argument('<hosts...>', 'names, or any other id of a host')
    .option('--limit <count>', 'at most so many tenants', wholeNumber, 100);
  addExamples(
    command,
    ['three hosts together', 'muster scale-in preview c1 c2 c3'],
    ['the plan alone, for a script', 'muster scale-in preview c1 --output json | jq -r .plan'],
  );
  return withAction<{ readonly limit: number }>(cli, command, async (session, { args, options: { limit } }) => {
    const preview = await explainRefusal(() =>
      session.client.write<Preview>('POST', `${SCALE_IN_PATH}/preview`, { body: { hosts: args, limit } }),
    );
    if (session.output === 'table') show(session, preview);
    else await session.writeValue(preview);
    return undefined;
  });
}

interface Row extends Tenant {
  readonly host: string;
}

const TENANTS: readonly Column<Row>[] = [
  { title: 'host', of: ({ host }) => host, colour: 'bold' },
  { title: 'kind', of: ({ kind }) => kind },
  { title: 'name', of: ({ id }) => id },
  { title: 'would', of: ({ evacuation }) => evacuationText(evacuation) },
];

function evacuationText({ kind, how, to, sentence }: Tenant['evacuation']): string {
  const where = to === undefined ? '' : ` to ${to}`;
  switch (kind) {
    case 'move':
      return how === 'handover' ? `be handed over${where}` : `move${how === undefined ? '' : ` ${how}`}${where}`;
    case 'rebuild':
      return `be rebuilt${to === undefined ? ' elsewhere' : ` on ${to}`}`;
    case 'ends':
      return 'stay, degraded, and end with the host: nobody else has presence';
    case 'wait':
      return `wait${sentence === undefined ? '' : `: ${sentence}`}`;
  }
}

/** Nothing of it is cut off: each part has its own heading, and those without content are left out. */
function show(session: Session, preview: Preview): void {
  const { terminal, paint } = session;
  const rows = preview.hosts.flatMap(({ host, tenants }) => tenants.map((tenant) => ({ ...tenant, host })));
  const { counts, hosts, blocked } = preview;
  const empty = hosts.filter(({ count, strays }) => count === 0 && strays === undefined).map(({ host }) => host);
  const strays = straysLines(hosts);
  if (rows.length > 0) terminal.out(renderTable(rows, TENANTS, paint));
  if (empty.length > 0) terminal.out(`Nothing lives on ${empty.join(', ')}.\n`);
  if (rows.length < counts.tenants) terminal.out(`These are the first ${rows.length} of ${counts.tenants}.\n`);
  if (strays.length > 0) terminal.out(`\n${strays.join('\n')}\n`);
  if (blocked.length > 0) terminal.out(`\n${blockedLines(blocked, counts.blocked).join('\n')}\n`);
  terminal.out(loadsText(preview, paint));
  terminal.out(touchesText(preview, paint));
  terminal.out(`\n${[interruptionText(preview), estimateText(preview)].filter((text) => text !== '').join('\n')}\n`);
  terminal.out(`Plan ${preview.plan}\n`);
  session.note(`Start exactly this with: ${startText(preview)}`);
}

function loadsText({ loads: { busiest, hosts } }: Preview, paint: Session['paint']): string {
  const [first] = busiest;
  if (first === undefined) return '';
  const kinds = Object.keys(first.after);
  const columns: Column<Load>[] = [
    { title: 'takes over', of: ({ host }) => host, colour: 'bold' },
    ...kinds.map((kind) => ({
      title: kind,
      of: ({ before, after }: Load) => `${before[kind] ?? 0} to ${after[kind] ?? 0}`,
    })),
  ];
  const more = hosts - busiest.length;
  return `\n${renderTable(busiest, columns, paint)}${more > 0 ? `and ${more} more hosts, with less each\n` : ''}`;
}

const TOUCHES: readonly Column<Touches & { readonly host: string }>[] = [
  { title: 'on others, of', of: ({ host }) => host, colour: 'bold' },
  { title: 'tunnels go', of: ({ tunnels }) => tunnels, align: 'right' },
  { title: 'flows go', of: ({ flows }) => flows, align: 'right' },
  { title: 'groups turned', of: ({ groups }) => groups, align: 'right' },
  { title: 'services', of: ({ services }) => services, align: 'right' },
];
/** As many as anybody reads. */
const TOUCHES_MAX = 20;

/** What is touched on the hosts that stay. */
function touchesText({ hosts }: Preview, paint: Session['paint']): string {
  const some = hosts.map(({ host, touches }) => ({ host, ...touches })).filter(({ tunnels }) => tunnels > 0);
  if (some.length === 0) return '';
  const more = some.length - TOUCHES_MAX;
  const rest = more > 0 ? `and of ${more} more hosts\n` : '';
  return `\n${renderTable(some.slice(0, TOUCHES_MAX), TOUCHES, paint)}${rest}`;
}

const INTERRUPTIONS: Readonly<Record<Interrupted['interruption'], string>> = {
  none: 'each built elsewhere before it is taken from here',
  brief: 'with a short interruption',
  restart: 'with a restart',
  ends: 'for good',
};

function wayText({ by, how }: Interrupted): string {
  if (by === 'rebuild') return 'rebuilt';
  if (by === 'ends') return 'end with the host';
  return how === 'handover' ? 'handed over' : `moved${how === undefined ? '' : ` ${how}`}`;
}

function interruptionText({ interruptions }: Preview): string {
  const moving = interruptions.filter(({ by }) => by !== 'wait');
  return moving
    .map((one) => `${countText(one.count, `${one.kind}s`)}: ${wayText(one)}, ${INTERRUPTIONS[one.interruption]}.`)
    .join('\n');
}

function estimateText({ estimate, counts }: Preview): string {
  const { durationMs, moves, assuming, budgets } = estimate;
  if (moves === 0) return counts.tenants === 0 ? 'Nothing has to move.' : 'Nothing can move now.';
  const atOnce = `${budgets.movesAtOnce} at once and ${budgets.movesPerHostAtOnce} a host`;
  return `It should take about ${durationText(durationMs)}: ${assuming.map(timeText).join(', ')}, ${atOnce}.`;
}

function timeText({ kind, moves, eachMs, measuredOver }: MoveTime): string {
  const basis = measuredOver === undefined ? 'assumed' : `measured over ${countText(measuredOver, 'moves')}`;
  return `${countText(moves, kind)} of ${Math.round(eachMs / 100) / 10} s each (${basis})`;
}

function startText({ hosts, plan }: Preview): string {
  return `muster scale-in start ${hosts.map(({ host }) => host).join(' ')} --plan ${plan}`;
}
