// Options of a request for instances, as its body. The server validates their meaning; only what cannot be parsed is refused here.
import type { Command } from 'commander';
import { parseDuration } from '../output/duration.ts';
import { usage } from '../exit-code.ts';
import { ipAddress, wholeNumber, parseWords } from '../input/input-file.ts';
import { namedValues } from '../input/pairs.ts';
import { omitUndefined } from '../input/defined-fields.ts';

export interface InstanceRequestOptions {
  readonly flavor: string;
  readonly nics?: readonly Nic[];
  readonly count?: number;
  readonly minCount?: number;
  readonly image?: string;
  readonly imageProperty?: Readonly<Record<string, string>>;
  readonly project?: string;
  readonly site?: string;
  readonly zone?: string;
  readonly aggregate?: readonly string[];
  readonly trait?: readonly string[];
  readonly forbiddenTrait?: readonly string[];
  readonly group?: string;
  readonly host?: string;
  readonly securityGroup?: readonly string[];
  readonly attempts?: number;
  readonly deadline?: number;
  readonly reason?: string;
}

type Nic = Readonly<Record<string, string>>;

/** Keywords in place of a network's name. */
const NETWORK_KEYWORDS = ['auto', 'none'];

/** The fields of a NIC by what they are called on the command line. */
const NIC_FIELDS: Readonly<Record<string, string>> = {
  network: 'network',
  'fixed-ip': 'fixedIp',
  port: 'port',
  tag: 'tag',
};

export function parseNic(text: string): Nic {
  const nic: Record<string, string> = {};
  for (const part of text.split(',')) {
    const [, key = '', value = ''] = /^([a-z-]+)=(.+)$/.exec(part) ?? [];
    const field = NIC_FIELDS[key];
    if (field === undefined) {
      throw usage(
        `"${part}" is nothing that a NIC has. Write network=NAME or port=ID, with fixed-ip=ADDRESS and tag=WORD if need be.`,
      );
    }
    if (nic[field] !== undefined) throw usage(`"${text}" says ${key} twice. One --nic is one NIC; repeat the option.`);
    nic[field] = field === 'fixedIp' ? ipAddress(value) : value;
  }
  return nic;
}

/** NICs are numbered in the order in which they are written, whichever of the two options they come from. */
export function withNics(command: Command): Command {
  const nics: Nic[] = [];
  const collect = (parse: (text: string) => Nic) => (text: string) => {
    nics.push(parse(text));
    command.setOptionValue('nics', nics);
    return text;
  };
  return command
    .option(
      '--network <name>',
      'a NIC on this network; may be repeated; auto: the one there is, none: no NIC (default: auto)',
      collect((network) => ({ network })),
    )
    .option('--nic <fields>', 'a NIC as network=NAME[,fixed-ip=ADDRESS] or port=ID, with tag=WORD', collect(parseNic));
}

/** The options of a request for instances, for real or as a question. */
export function withRequest(command: Command): Command {
  return withNics(command.requiredOption('--flavor <name>', 'how large each is; see muster flavors list'))
    .option('--count <number>', 'how many, 1 if not said; with more than one they are numbered', wholeNumber)
    .option('--min-count <number>', 'rather none than fewer than this; all of them unless said', wholeNumber)
    .option('--image <name>', 'what they boot from')
    .option(
      '--image-property <name=value>',
      'what the image needs of a bare-metal node, such as architecture=x86_64; may be repeated',
      namedValues,
    )
    .option('--project <name>', 'whose they are; else that of the token, or "default"')
    .option('--site <name>', 'only in this site')
    .option('--zone <name>', 'only in this availability zone')
    .option('--aggregate <names>', 'only on hosts in all of these; several with commas', parseWords)
    .option('--trait <names>', 'only on hosts with all of these; several with commas', parseWords)
    .option('--forbidden-trait <names>', 'only on hosts with none of these; several with commas', parseWords)
    .option('--group <name>', 'their server group')
    .option('--host <name>', 'only on this host: nothing else is tried')
    .option('--security-group <names>', 'of the ports that are made; several with commas', parseWords)
    .option('--attempts <number>', 'how many hosts are tried at most, 1 to 10; 3 if not said', wholeNumber)
    .option('--deadline <time>', 'how long it may take, such as 10m; 1h if not said', parseDuration)
    .option('--reason <text>', 'why, for the history');
}

export function requestBody(name: string | undefined, options: InstanceRequestOptions): object {
  const { flavor, count, minCount, image, project, site, zone, group, host, attempts, reason, nics } = options;
  return omitUndefined({
    name,
    flavor,
    count,
    minCount,
    image,
    imageProperties: options.imageProperty,
    project,
    networks: nics === undefined ? undefined : networksOf(nics),
    securityGroups: options.securityGroup,
    site,
    zone,
    aggregates: options.aggregate,
    requiredTraits: options.trait,
    forbiddenTraits: options.forbiddenTrait,
    group,
    host,
    attempts,
    deadlineMs: options.deadline,
    reason,
  });
}

function networksOf(nics: readonly Nic[]): string | readonly Nic[] {
  const whole = nics.map(({ network = '' }) => network).find((network) => NETWORK_KEYWORDS.includes(network));
  if (whole === undefined) return nics;
  if (nics.length > 1) throw usage(`--network ${whole} stands alone: it says what all NICs are.`);
  return whole;
}
