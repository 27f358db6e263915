// muster scale-in preview: the effects of taking hosts out of service, without starting anything.
import { Command } from 'commander';
import { withAction, addExamples, type Cli } from '../command.ts';
import { durationText } from '../output/duration.ts';
import { wholeNumber } from '../input/input-file.ts';
import { explainRefusal, SCALE_IN_PATH } from './submit.ts';
import { blockedLines, countText, straysLines } from './scale-in-text.ts';
import type { Session } from '../session.ts';
import { renderTable, type TableColumn } from '../output/table.ts';
import type { ScaleInPreview } from '../client/representations.ts';

type Tenant = ScaleInPreview['hosts'][number]['tenants'][number];

type Load = ScaleInPreview['loads']['busiest'][number];

type Interruption = ScaleInPreview['interruptions'][number];

type Touches = ScaleInPreview['hosts'][number]['touches'];

type MoveTime = ScaleInPreview['estimate']['assuming'][number];

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
      session.client.write<ScaleInPreview>('POST', `${SCALE_IN_PATH}/preview`, { body: { hosts: args, limit } }),
    );
    if (session.output === 'table') show(session, preview);
    else await session.writeValue(preview);
    return undefined;
  });
}

interface Row extends Tenant {
  readonly host: string;
}

const TENANTS: readonly TableColumn<Row>[] = [
  { title: 'host', of: ({ host }) => host, colour: 'bold' },
  { title: 'kind', of: ({ kind }) => kind },
  { title: 'name', of: ({ id }) => id },
  { title: 'would', of: ({ evacuation }) => evacuationText(evacuation) },
];

function evacuationText({ kind, how, to, sentence }: Tenant['evacuation']): string {
  const where = to === undefined ? '' : ` to ${to}`;
  switch (kind) {
    case 'move':
      if (how === 'drain') return `give its nodes away${where}`;
      return how === 'handover' ? `move by a handover${where}` : `move${how === undefined ? '' : ` ${how}`}${where}`;
    case 'drain':
      return 'be drained: what lives in it leaves';
    case 'rebuild':
      return `be rebuilt${to === undefined ? ' elsewhere' : ` on ${to}`}`;
    case 'ends':
      return 'stay, degraded, and end with the host: no other host has presence';
    case 'wait':
      return `wait${sentence === undefined ? '' : `: ${sentence}`}`;
  }
}

/** Nothing of it is cut off: each part has its own heading, and those without content are left out. */
function show(session: Session, preview: ScaleInPreview): void {
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

function loadsText({ loads: { busiest, hosts } }: ScaleInPreview, paint: Session['paint']): string {
  const [first] = busiest;
  if (first === undefined) return '';
  const kinds = Object.keys(first.after);
  const columns: TableColumn<Load>[] = [
    { title: 'takes over', of: ({ host }) => host, colour: 'bold' },
    ...kinds.map((kind) => ({
      title: kind,
      of: ({ before, after }: Load) => `${before[kind] ?? 0} to ${after[kind] ?? 0}`,
    })),
  ];
  const more = hosts - busiest.length;
  return `\n${renderTable(busiest, columns, paint)}${more > 0 ? `and ${more} more hosts, with less each\n` : ''}`;
}

const TOUCHES: readonly TableColumn<Touches & { readonly host: string }>[] = [
  { title: 'on others, of', of: ({ host }) => host, colour: 'bold' },
  { title: 'tunnels go', of: ({ tunnels }) => tunnels, align: 'right' },
  { title: 'flows go', of: ({ flows }) => flows, align: 'right' },
  { title: 'groups turned', of: ({ groups }) => groups, align: 'right' },
  { title: 'services', of: ({ services }) => services, align: 'right' },
];
/** More rows than this are not read. */
const TOUCHES_MAX = 20;

/** What is touched on the hosts that stay. */
function touchesText({ hosts }: ScaleInPreview, paint: Session['paint']): string {
  const some = hosts.map(({ host, touches }) => ({ host, ...touches })).filter(({ tunnels }) => tunnels > 0);
  if (some.length === 0) return '';
  const more = some.length - TOUCHES_MAX;
  const rest = more > 0 ? `and of ${more} more hosts\n` : '';
  return `\n${renderTable(some.slice(0, TOUCHES_MAX), TOUCHES, paint)}${rest}`;
}

const INTERRUPTIONS: Readonly<Record<Interruption['interruption'], string>> = {
  none: 'each built elsewhere before it is taken from here',
  brief: 'with a short interruption',
  restart: 'with a restart',
  ends: 'for good',
};

function wayText({ by, how }: Interruption): string {
  if (by === 'rebuild') return 'rebuilt';
  if (by === 'drain') return 'drained';
  if (by === 'ends') return 'end with the host';
  if (how === 'drain') return 'drained';
  return how === 'handover' ? 'moved by a handover' : `moved${how === undefined ? '' : ` ${how}`}`;
}

function consequenceText({ by, how, interruption }: Interruption): string {
  if (how === 'drain') return 'its nodes go to others, and nothing is done to a machine';
  return by === 'drain' ? 'what lives inside is started elsewhere' : INTERRUPTIONS[interruption];
}

function interruptionText({ interruptions }: ScaleInPreview): string {
  const moving = interruptions.filter(({ by }) => by !== 'wait');
  return moving
    .map((one) => `${countText(one.count, `${one.kind}s`)}: ${wayText(one)}, ${consequenceText(one)}.`)
    .join('\n');
}

function estimateText({ estimate, counts }: ScaleInPreview): string {
  const { durationMs, moves, drains, assuming, budgets } = estimate;
  if (moves + drains === 0) return counts.tenants === 0 ? 'Nothing has to move.' : 'Nothing can move now.';
  const atOnce = `${budgets.movesAtOnce} at once and ${budgets.movesPerHostAtOnce} a host`;
  const limits = moves === 0 ? '' : `, ${atOnce}`;
  return `It should take about ${durationText(durationMs)}: ${assuming.map(timeText).join(', ')}${limits}.`;
}

function timeText({ kind, moves, drains = 0, eachMs, measuredOver }: MoveTime): string {
  const basis = measuredOver === undefined ? 'assumed' : `measured over ${countText(measuredOver, 'moves')}`;
  const each = `${Math.round(eachMs / 100) / 10} s each (${basis})`;
  return drains > 0
    ? `${countText(drains, kind)} drained one after the other, ${each}`
    : `${countText(moves, kind)} of ${each}`;
}

function startText({ hosts, plan }: ScaleInPreview): string {
  return `muster scale-in start ${hosts.map(({ host }) => host).join(' ')} --plan ${plan}`;
}
