// muster workers: the Nodes of Kubernetes clusters that Muster brings in and takes out, and what drains of them are doing.
import { Command } from 'commander';
import type { DrainReport, Worker, WorkerPreview } from '../client/representations.ts';
import { addExamples, commandGroup, withAction, type Cli } from '../command.ts';
import { omitUndefined } from '../input/defined-fields.ts';
import { wholeNumber } from '../input/input-file.ts';
import { withWait, type WaitOptions } from '../operations/wait.ts';
import { parseDuration, relativeTime } from '../output/duration.ts';
import { listChangedFacts, listCommand, showCommand, type ResourceSpec } from '../resource-commands.ts';
import { addWorkers } from './add-workers.ts';
import { clusterOf } from './cluster-of-workers.ts';
import { showMachineLog } from './machine-log.ts';
import { startWork } from './start-work.ts';
import type { TableColumn } from '../output/table.ts';
import type { LabelledFacts } from '../session.ts';

const WORKERS: ResourceSpec<Worker> = {
  command: 'workers',
  kind: 'worker',
  path: '/api/v1/workers',
  sample: 'edge.worker-1',
  columns: (nowMs) => [
    { title: 'name', of: (one) => one.id, colour: 'bold' },
    { title: 'cluster', of: (one) => one.cluster },
    { title: 'state', of: (one) => one.state },
    { title: 'since', of: (one) => relativeTime(one.stateSinceMs, nowMs) },
    { title: 'node', of: (one) => one.readiness },
    { title: 'instance', of: (one) => one.instance },
    { title: 'operation', of: (one) => one.work?.operation },
  ],
  facts,
};

function facts(one: Worker, nowMs: number): LabelledFacts {
  const { cordon, work } = one;
  return [
    ['Name', one.id],
    ['Cluster', one.cluster],
    ['Node', `${one.node} (${one.readiness}, since ${relativeTime(one.readinessSinceMs, nowMs)})`],
    ['State', `${one.state}, since ${relativeTime(one.stateSinceMs, nowMs)}`],
    ['Instance', one.instance],
    ['Provider id', one.providerId],
    [
      'Host key',
      one.machineKey && `${one.machineKey.fingerprint}, remembered ${relativeTime(one.machineKey.atMs, nowMs)}`,
    ],
    [
      'Cordon',
      cordon &&
        `by operation ${cordon.operation}${cordon.wasUnschedulable ? '; an operator had cordoned it before' : ''}`,
    ],
    ['Operation', work?.operation],
    ...listChangedFacts(one, nowMs),
  ];
}

const REPORTS: ResourceSpec<DrainReport> = {
  command: 'workers drains',
  kind: 'drain-report',
  path: '/api/v1/drain-reports',
  sample: 'edge.worker-1',
  columns: (nowMs) => [
    { title: 'worker', of: (one) => one.id, colour: 'bold' },
    { title: 'left', of: (one) => one.left, align: 'right' },
    { title: 'terminating', of: (one) => one.terminating, align: 'right' },
    { title: 'blocked by', of: blockersOf },
    { title: 'seen', of: (one) => relativeTime(one.atMs, nowMs) },
  ],
  facts: (one, nowMs) => [
    ['Worker', one.id],
    ['Operation', one.operation],
    ['Pods left', `${one.left}, of which ${one.terminating} ${one.terminating === 1 ? 'is' : 'are'} terminating`],
    ['Blocked by', blockersOf(one)],
    ['Seen', relativeTime(one.atMs, nowMs)],
  ],
};

function blockersOf({ blockers, moreBlockers }: DrainReport): string | undefined {
  if (blockers.length === 0) return undefined;
  const named = blockers.map(({ namespace, pod, reason, budget }) => `${namespace}/${pod} (${budget ?? reason})`);
  return [...named, ...(moreBlockers > 0 ? [`and ${moreBlockers} more`] : [])].join(', ');
}

export function workersCommand(cli: Cli): Command {
  return commandGroup(
    'workers',
    'Kubernetes workers: add them, drain them within budgets, take them out, give them back',
    listCommand(cli, WORKERS, {
      empty: 'No workers.',
      filters: [
        ['--cluster <name>', 'only workers of this cluster'],
        ['--state <state>', 'only those in this state, such as drained'],
        ['--readiness <readiness>', 'only those whose Node is ready, not-ready, unknown, missing or replaced'],
        ['--instance <name>', 'only the one on this instance'],
      ],
      examples: [['those whose Node is not Ready', 'muster workers list --cluster edge --readiness not-ready']],
    }),
    showCommand(cli, WORKERS),
    addWorkers(cli),
    showMachineLog(cli),
    listDrains(cli),
    adoptWorkers(cli),
    forgetWorkers(cli),
    previewWorkers(cli),
    drainWorkers(cli, 'drain'),
    drainWorkers(cli, 'remove'),
    returnWorkers(cli),
  );
}

function listDrains(cli: Cli): Command {
  return commandGroup(
    'drains',
    'How far drains are, and which pods block them',
    listCommand(cli, REPORTS, {
      empty: 'No worker is being drained.',
      filters: [['--cluster <name>', 'only workers of this cluster']],
    }),
    showCommand(cli, REPORTS),
  );
}

interface AdoptOptions {
  readonly cluster: string;
  readonly instance?: string;
}

function adoptWorkers(cli: Cli): Command {
  const command = new Command('adopt')
    .description('Take Nodes that are in a cluster already as workers; nothing is changed there')
    .argument('<nodes...>', 'the names of the Nodes')
    .requiredOption('--cluster <name>', 'the cluster that they are of')
    .option('--instance <name>', 'the instance that the Node runs on, where there is one; for one Node');
  addExamples(command, ['two Nodes', 'muster workers adopt node-1 node-2 --cluster edge']);
  return withAction<AdoptOptions>(cli, command, async (session, { args, options: { cluster, instance } }) => {
    const nodes = args.map((node) => omitUndefined({ node, instance }));
    const path = `/api/v1/clusters/${encodeURIComponent(cluster)}/workers/adopt`;
    const adopted = await session.client.write<{ readonly workers: readonly string[] }>('POST', path, {
      body: { nodes },
    });
    await session.reportDone(adopted, `Adopted as workers: ${adopted.workers.join(', ')}.`);
    return undefined;
  });
}

function forgetWorkers(cli: Cli): Command {
  const command = new Command('forget')
    .description('Have adopted Nodes be workers no more; nothing is changed in the cluster')
    .argument('<workers...>', NAMES_HELP)
    .option('--cluster <name>', CLUSTER_HELP);
  addExamples(command, ['one that others look after from now on', 'muster workers forget edge.node-1']);
  return withAction<{ readonly cluster?: string }>(cli, command, async (session, { args, options }) => {
    const path = `/api/v1/clusters/${encodeURIComponent(clusterOf(args, options))}/workers/forget`;
    const forgotten = await session.client.write<{ readonly workers: readonly string[] }>('POST', path, {
      body: { workers: args },
    });
    await session.reportDone(
      forgotten,
      `Not workers any more: ${forgotten.workers.join(', ')}. Their Nodes stay as they are.`,
    );
    return undefined;
  });
}

interface DrainOptions extends WaitOptions {
  readonly cluster?: string;
  readonly count?: number;
  readonly deadline?: number;
  readonly evictBare?: true;
  readonly keepEmptyDir?: true;
  readonly keepInstances?: true;
  readonly reason?: string;
}

const NAMES_HELP = 'their names, as muster workers list shows them, or those of their Nodes';
const CLUSTER_HELP = 'the cluster that they are of, where their names do not say it';

const DESCRIPTIONS = {
  drain: 'Bring all pods off workers within their budgets, and leave them cordoned',
  remove: 'Drain workers, then take their Nodes and their instances away',
};

interface PreviewRow {
  readonly preview: WorkerPreview;
  readonly pod?: WorkerPreview['pods'][number];
}

function previewWorkers(cli: Cli): Command {
  const command = new Command('preview')
    .description('Show what a drain would do with every pod; nothing is changed')
    .argument('[workers...]', NAMES_HELP);
  addDrainOptions(command);
  addExamples(command, ['before a drain', 'muster workers preview edge.worker-1']);
  return withAction<DrainOptions>(cli, command, async (session, { args, options }) => {
    const path = `/api/v1/clusters/${encodeURIComponent(clusterOf(args, options))}/workers/preview`;
    const previews = await session.client.write<{ readonly items: readonly WorkerPreview[] }>('POST', path, {
      body: drainBody(args, options),
    });
    const rows = previews.items.flatMap((preview): PreviewRow[] =>
      preview.pods.length === 0 ? [{ preview }] : preview.pods.map((pod) => ({ preview, pod })),
    );
    if (session.output === 'table') await session.writeList(rows, PREVIEW_COLUMNS, 'No workers.');
    else await session.writeValue(previews.items);
    return undefined;
  });
}

const FATES: Readonly<Record<WorkerPreview['pods'][number]['fate'], string>> = {
  evict: 'evicted',
  terminating: 'terminating already',
  stays: 'stays',
  later: 'evicted when its budget allows it',
  never: 'BLOCKS the drain',
};

const PREVIEW_COLUMNS: readonly TableColumn<PreviewRow>[] = [
  { title: 'worker', of: ({ preview }) => preview.worker, colour: 'bold' },
  { title: 'pod', of: ({ pod }) => (pod === undefined ? '(none)' : `${pod.namespace}/${pod.pod}`) },
  { title: 'what becomes of it', of: ({ pod }) => pod && FATES[pod.fate] },
  { title: 'why', of: ({ pod }) => [pod?.why, pod?.budget].filter((one) => one !== undefined).join(', ') || undefined },
  { title: 'note', of: ({ pod }) => (pod?.losesEmptyDir === true ? 'its emptyDir is lost' : undefined) },
];

function drainWorkers(cli: Cli, verb: 'drain' | 'remove'): Command {
  const command = new Command(verb).description(DESCRIPTIONS[verb]).argument('[workers...]', NAMES_HELP);
  addDrainOptions(command).option('--reason <text>', 'why, for the history');
  if (verb === 'remove')
    command.option('--keep-instances', 'have their machines leave the cluster, and keep their instances');
  withWait(command);
  addExamples(command, [`two of them, and wait`, `muster workers ${verb} edge.worker-1 edge.worker-2 --wait`]);
  return withAction<DrainOptions>(cli, command, async (session, { args, options }) => {
    const body = {
      ...drainBody(args, options),
      ...omitUndefined({ keepInstances: options.keepInstances, reason: options.reason }),
    };
    return startWork(session, { cluster: clusterOf(args, options), verb, body }, options);
  });
}

function addDrainOptions(command: Command): Command {
  return command
    .option('--cluster <name>', CLUSTER_HELP)
    .option('--count <n>', 'in place of names: unhealthy ones first, then the newest', wholeNumber)
    .option(
      '--deadline <time>',
      'for how long pods are evicted, such as 10m; as the cluster has it if not said',
      parseDuration,
    )
    .option('--evict-bare', 'evict pods that nothing makes again: they are lost')
    .option('--keep-empty-dir', 'let pods with data in an emptyDir block the drain');
}

function drainBody(args: readonly string[], options: DrainOptions): object {
  const { count, deadline, evictBare, keepEmptyDir } = options;
  const workers = args.length > 0 ? args : undefined;
  return omitUndefined({ workers, count, deadlineMs: deadline, evictBare, keepEmptyDir });
}

function returnWorkers(cli: Cli): Command {
  const command = new Command('return')
    .description('Take the cordons of drained workers back and put them in service again')
    .argument('<workers...>', NAMES_HELP)
    .option('--cluster <name>', CLUSTER_HELP)
    .option('--reason <text>', 'why, for the history');
  withWait(command);
  addExamples(command, ['after its machine was upgraded', 'muster workers return edge.worker-1 --wait']);
  return withAction<DrainOptions>(cli, command, async (session, { args, options }) => {
    const body = omitUndefined({ workers: args, reason: options.reason });
    return startWork(session, { cluster: clusterOf(args, options), verb: 'return', body }, options);
  });
}
