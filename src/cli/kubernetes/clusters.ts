// muster clusters: the Kubernetes clusters whose workers Muster manages.
import { Command, Option } from 'commander';
import type { Cluster } from '../client/representations.ts';
import { addExamples, commandGroup, withAction, type Cli } from '../command.ts';
import { omitUndefined } from '../input/defined-fields.ts';
import { wholeNumber } from '../input/input-file.ts';
import { durationText, relativeTime } from '../output/duration.ts';
import {
  listChangedFacts,
  createOne,
  deleteCommand,
  listCommand,
  showCommand,
  type ResourceSpec,
} from '../resource-commands.ts';
import type { LabelledFacts } from '../session.ts';
import { setCluster } from './set-cluster.ts';

const CLUSTERS: ResourceSpec<Cluster> = {
  command: 'clusters',
  kind: 'cluster',
  path: '/api/v1/clusters',
  sample: 'edge',
  columns: (nowMs) => [
    { title: 'name', of: (one) => one.name, colour: 'bold' },
    { title: 'kind', of: (one) => one.kind },
    { title: 'state', of: (one) => one.state },
    { title: 'since', of: (one) => relativeTime(one.sinceMs, nowMs) },
    { title: 'version', of: (one) => one.version },
    { title: 'site', of: (one) => one.site },
    { title: 'reach', of: (one) => one.reach },
  ],
  facts,
};

function facts(one: Cluster, nowMs: number): LabelledFacts {
  const { deadlineMs, evictBare, keepEmptyDir } = one.drainPolicy;
  return [
    ['Name', one.name],
    ['Kind', one.kind],
    ['State', `${one.state}, since ${relativeTime(one.sinceMs, nowMs)}`],
    ['Endpoint', one.endpoint],
    ['Version', one.version],
    ['Site', one.site],
    ['Reach', `${one.reach} (how Muster gets to the machines of new workers)`],
    ['SSH', one.ssh && describeSsh(one.ssh)],
    ['Script', one.workerScript && `its own, SHA-256 ${one.workerScript}`],
    ['Join endpoint', one.joinEndpoint ?? one.publishedEndpoint],
    [
      'Drain',
      `deadline ${durationText(deadlineMs)}${evictBare ? ', evicts bare pods' : ''}${keepEmptyDir ? ', keeps emptyDir pods' : ''}`,
    ],
    ['When a host leaves', `${one.whenHostLeaves}, ${one.drainsAtOnce} at once`],
    ['Muster may not', describeMissing(one)],
    ...listChangedFacts(one, nowMs),
  ];
}

function describeSsh({ user, port, address, sudo, proof, hostKeys, knownHosts }: NonNullable<Cluster['ssh']>): string {
  const keys = hostKeys === 'pinned' ? `${knownHosts.length} pinned host keys` : 'the first host key of each machine';
  return `${user}@${address ?? 'the first NIC'}:${port} by ${proof}${sudo === true ? ', with sudo' : ''}; takes ${keys}`;
}

function describeMissing({ kind, missingPermissions }: Cluster): string | undefined {
  if (kind === 'simulated') return undefined;
  if (missingPermissions === undefined) return '(the cluster does not say)';
  const missing = missingPermissions.map(({ verb, resource }) => `${verb} ${resource}`);
  return missing.length === 0 ? '(it may do all that it needs)' : missing.join(', ');
}

export function clustersCommand(cli: Cli): Command {
  return commandGroup(
    'clusters',
    'Kubernetes clusters whose workers are brought in and taken out',
    listCommand(cli, CLUSTERS, {
      empty: 'No clusters. Register one with: muster clusters add edge --kubeconfig edge.conf',
      filters: [
        ['--state <state>', 'only those that are reachable, silent or unknown'],
        ['--site <name>', 'only clusters of this site'],
      ],
      examples: [['those whose API does not answer', 'muster clusters list --state silent']],
    }),
    showCommand(cli, CLUSTERS),
    addCluster(cli),
    setCluster(cli, CLUSTERS),
    deleteCommand(cli, CLUSTERS, 'Forget clusters that have no workers; nothing is done there'),
  );
}

interface AddOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly simulated?: true;
  readonly site?: string;
  readonly project?: string;
  readonly whenHostLeaves?: 'drain' | 'move';
  readonly drainsAtOnce?: number;
}

function addCluster(cli: Cli): Command {
  const command = new Command('add')
    .description('Register a cluster that exists; nothing is changed there')
    .argument('<name>')
    .option('--kubeconfig <file>', 'how it is reached; - for standard input. Files that it names are put inside')
    .option('--context <name>', 'of the kubeconfig; its current one if not said')
    .option('--simulated', 'one that the control plane simulates, with three nodes and a web service')
    .option('--site <name>', 'where it is')
    .option('--project <name>', 'whose it is')
    .addOption(
      new Option(
        '--when-host-leaves <what>',
        'drain: pods leave its workers before their instances move; drain if not said',
      ).choices(['drain', 'move']),
    )
    .option(
      '--drains-at-once <n>',
      'how many of its workers may be out of service for hosts that leave; 1 if not said',
      wholeNumber,
    );
  addExamples(
    command,
    ['one that is there', 'muster clusters add edge --kubeconfig edge.conf'],
    ['a simulated one, to try things out', 'muster clusters add lab --simulated'],
  );
  return withAction<AddOptions>(cli, command, async (session, { args: [name], options }) => {
    const { kubeconfig: path, simulated, context, site, project, whenHostLeaves, drainsAtOnce } = options;
    // Its parser is loaded by this command alone.
    const { readKubeconfig } = await import('./kubeconfig-file.ts');
    const kubeconfig = path === undefined ? undefined : await readKubeconfig(session.terminal, path, context);
    const content = simulated && { kind: 'simulated', simulated: SIMULATED_CONTENTS };
    const place = { context, site, project, whenHostLeaves, drainsAtOnce };
    const body = omitUndefined({ name, ...content, kubeconfig, ...place });
    await createOne(session, CLUSTERS, {
      body,
      sentence: describeRegistered,
    });
    return undefined;
  });
}

/** What a drain or a join would fail for is said at once. */
export function describeRegistered({ name, kind, state, version, missingPermissions }: Cluster): string {
  const registered = `Cluster ${name} is registered.`;
  if (kind === 'simulated') return registered;
  if (state !== 'reachable')
    return `${registered} Its API has not answered yet: "muster clusters show ${name}" says when it does, and what Muster may not do there.`;
  const answers = `${registered} Its API answers${version === undefined ? '' : ` (${version})`}.`;
  if (missingPermissions === undefined) return `${answers} It does not say what Muster may do there.`;
  if (missingPermissions.length === 0) return `${answers} Muster may do there all that it needs.`;
  const missing = missingPermissions.map(({ verb, resource }) => `${verb} ${resource}`).join(', ');
  return `${answers} Muster may not: ${missing}. What needs that fails until it may.`;
}

const SIMULATED_CONTENTS = { nodes: 3, workloads: [{ name: 'web', replicas: 6, minAvailable: 4 }] };
