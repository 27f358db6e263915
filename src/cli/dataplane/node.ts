// muster dataplane diff and trace: on a compute node, without a server.
import { Command } from 'commander';
import {
  withAction,
  addExamples,
  type Cli,
  type SwitchOptions,
  type SwitchComparison,
  type SwitchFinding,
  type TracedLine,
} from '../command.ts';
import { EXIT } from '../exit-code.ts';
import type { Paint } from '../output/paint.ts';
import { withSwitchOptions } from '../daemons.ts';
import { sanitizeLine } from '../output/text-width.ts';

function withNodeOptions(command: Command): Command {
  return withSwitchOptions(
    command
      .option('--state <folder>', 'where the agent keeps its last view', './agent-data')
      .requiredOption('--ovs <address>', 'where the database of the switch listens, as for muster agent'),
  );
}

const CODES = `
Exit codes of its own:
    0  the switch is as it should be
    1  there is a difference
    3  the switch does not answer, or the agent has no view yet`;

export function dataplaneDiff(cli: Cli): Command {
  const command = withNodeOptions(
    new Command('diff').description(
      "Compare the switch of this machine with what its agent's last view says, and change nothing",
    ),
  );
  addExamples(command, [
    'with the options of the agent',
    'muster dataplane diff --state /var/lib/muster-agent --ovs unix:/run/openvswitch/db.sock --external ext0',
  ]);
  command.addHelpText('after', CODES);
  return withAction<SwitchOptions>(cli, command, async (session, { options }) => {
    const compared = await cli.node.compareSwitch(options);
    if (session.output === 'table') session.terminal.out(comparisonText(compared, session.paint));
    else await session.writeValue(compared);
    return compared.equal ? EXIT.ok : EXIT.different;
  });
}

export function dataplaneTrace(cli: Cli): Command {
  const command = withNodeOptions(
    new Command('trace')
      .description('Trace in the switch of this machine what would become of a packet, with whose each flow is and why')
      .argument('<flow>', 'the packet in the words of ovs-ofctl; fields that it does not name are zero'),
  );
  addExamples(command, [
    'a reply from outside',
    'muster dataplane trace in_port=muster-ext,tcp,nw_dst=203.0.113.7 --ovs unix:/run/openvswitch/db.sock',
  ]);
  return withAction<SwitchOptions>(cli, command, async (session, { args: [flow = ''], options }) => {
    const lines = await cli.node.tracePacket({ ...options, flow });
    if (session.output !== 'table') {
      await session.writeValue(lines);
      return undefined;
    }
    session.terminal.out(lines.flatMap((line) => traceText(line, session.paint)).join(''));
    return undefined;
  });
}

const TITLES: readonly (readonly [kind: SwitchFinding['kind'], title: string])[] = [
  ['missing', 'Missing'],
  ['different', 'Other than it should be'],
  ['unexpected', 'Too much'],
  ['conflict', 'In the way, and not owned by Muster: only its owner can remove it'],
  ['stray', 'Strays: plugged in or used by others, and of nothing that the view knows. Muster does not touch them'],
  ['port-missing', 'Ports that are not plugged in; what names them is left out until they are'],
];

function comparisonText({ host, equal, flows, findings, gaps }: SwitchComparison, paint: Paint): string {
  const parts = TITLES.flatMap(([kind, title]) => {
    const those = findings.filter((finding) => finding.kind === kind);
    return those.length === 0 ? [] : [paint('bold', title), ...those.flatMap((one) => findingLines(one, paint)), ''];
  });
  const gapLines = gaps.map(({ sentence }) => `  ${sanitizeLine(sentence)}`);
  const unmet = gaps.length === 0 ? [] : [paint('bold', 'Wanted, and not to be had'), ...gapLines, ''];
  const differences = findings.length === 1 ? 'one difference' : `${findings.length} differences`;
  const last = equal
    ? `The switch of ${host} is as it should be: ${flows} flows.`
    : `The switch of ${host} is not as it should be: ${differences}, ${flows} flows wanted.`;
  return [...parts, ...unmet, last, ''].join('\n');
}

function findingLines({ what, text, found, owner, sentence }: SwitchFinding, paint: Paint): string[] {
  const why = owner === undefined ? '' : `  ${paint('dim', `# ${nameOf(owner)}${sentenceSuffix(sentence)}`)}`;
  return [`  ${what} ${sanitizeLine(text)}${why}`, ...(found === undefined ? [] : [`    is ${sanitizeLine(found)}`])];
}

function traceText({ text, tableName, owner, sentence }: TracedLine, paint: Paint): string[] {
  const line = `${sanitizeLine(text)}\n`;
  if (tableName === undefined) return [line];
  const whose = owner === undefined ? 'of Muster' : nameOf(owner);
  const why = sentence === undefined ? ', and the last view does not want it' : sentenceSuffix(sentence);
  return [line, `      ${paint('green', `# ${tableName}: ${whose}${why}`)}\n`];
}

function nameOf({ kind, id }: NonNullable<SwitchFinding['owner']>): string {
  return sanitizeLine(`${kind} ${id}`);
}

function sentenceSuffix(sentence: string | undefined): string {
  return sentence === undefined ? '' : `: ${sentence}`;
}
