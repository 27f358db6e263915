// The command line of the lab.
import { parseArgs } from 'node:util';
import { HOSTS_MAX } from './underlay/names.ts';

export const HELP = `npm run lab -- [options]

Brings up hosts on this machine, each a network namespace with an Open vSwitch of its own, a network between them and one
outside, a Muster server and an agent for each host. It is there until Ctrl-C, and gone afterwards.

  --hosts N         how many (default: 3)
  --no-muster       no server and no agents: flows written by hand, and an instance on each host
  --output FORM     table, or json: one object when everything is up; progress goes to standard error
  --clean           only clear away what labs left behind whose process was killed
  --help            this text

Needs root, openvswitch-switch (its own service is not used), iproute2 and ethtool.
Exit codes: 0 done, 1 the lab does not come up, 2 wrong usage.
`;

export type LabOptions =
  | { readonly kind: 'help' }
  | { readonly kind: 'clean' }
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'up'; readonly hosts: number; readonly muster: boolean; readonly output: 'table' | 'json' };

export function readOptions(args: readonly string[]): LabOptions {
  const values = parse(args);
  if (typeof values === 'string') return { kind: 'refused', why: values };
  const { help, clean, hosts: request, output } = values;
  if (help) return { kind: 'help' };
  if (clean) return { kind: 'clean' };
  const hosts = Number(request);
  if (!Number.isInteger(hosts) || hosts < 1 || hosts > HOSTS_MAX) {
    return { kind: 'refused', why: `--hosts ${request}: say a number from 1 to ${HOSTS_MAX}` };
  }
  if (output !== 'table' && output !== 'json') return { kind: 'refused', why: `--output ${output}: table or json` };
  return { kind: 'up', hosts, muster: values.muster, output };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowNegative: true,
      options: {
        hosts: { type: 'string', default: '3' },
        muster: { type: 'boolean', default: true },
        output: { type: 'string', short: 'o', default: 'table' },
        clean: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    // parseArgs throws for what the user typed, and its messages are made for the user.
    if (error instanceof TypeError) return error.message;
    throw error;
  }
}
