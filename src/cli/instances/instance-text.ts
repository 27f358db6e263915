// An instance as the API shows it, and as people read it: its host, its ports, the attempts to build it, and, when
// no host was found, why each was ruled out.
import { amountsText } from '../output/amounts.ts';
import { relativeTime } from '../output/duration.ts';
import type { Paint } from '../output/paint.ts';
import { addressesText, bindingText } from '../network/port-text.ts';
import { listChangedFacts, listText, type ResourceSpec } from '../resource-commands.ts';
import type { LabelledFacts } from '../session.ts';
import { renderTable, type TableColumn } from '../output/table.ts';
import type { Instance, Placement, Port } from '../client/representations.ts';

type Attempt = Instance['attempts'][number];

type ReportStage = Report['stages'][number];

export type Report = NonNullable<Placement['report']>;

export const INSTANCES: ResourceSpec<Instance> = {
  command: 'instances',
  kind: 'instance',
  path: '/api/v1/instances',
  sample: 'web-1',
  columns: (nowMs) => [
    { title: 'name', of: (one) => one.name, colour: 'bold' },
    { title: 'state', of: stateText, colour: 'state' },
    { title: 'host', of: placeText },
    { title: 'flavor', of: (one) => one.flavor },
    { title: 'project', of: (one) => one.project },
    { title: 'group', of: (one) => one.place.group },
    { title: 'created', of: (one) => relativeTime(one.createdAtMs, nowMs) },
    { title: 'fault', of: (one) => degradedCauseText(one) ?? one.fault?.code },
  ],
  facts: instanceFacts,
};

function instanceFacts(one: Instance, nowMs: number): LabelledFacts {
  const { place, path, fault } = one;
  return [
    ['Name', one.name],
    ['State', stateText(one)],
    ['Degraded', degradedText(one, nowMs)],
    ['Ended by itself', endedText(one, nowMs)],
    ['Host', one.host],
    ['Node', one.node],
    ...nodeFacts(one),
    ['Project', one.project],
    ['Flavor', `${one.flavor}: ${amountsText(one.amounts)}`],
    ['Image', one.image],
    ['Image properties', pairsText(one.imageProperties)],
    ['Only in site', place.site],
    ['Only in zone', place.zone],
    ['Only in aggregates', listText(place.aggregates)],
    ['Needs traits', listText(place.requiredTraits)],
    ['Avoids traits', listText(place.forbiddenTraits)],
    ['Server group', place.group],
    ['Only on host', place.onlyHost],
    ['Ports', path.bind === 'conductor' ? undefined : `made by the ${portOwner(path.create)}, bound by the host`],
    ['Move', moveText(one)],
    ['Fault', fault === undefined ? undefined : `${fault.message} (${fault.code}, ${relativeTime(fault.atMs, nowMs)})`],
    ['Created', `${relativeTime(one.createdAtMs, nowMs)} by ${one.createdBy}`],
    ...listChangedFacts(one, nowMs),
  ];
}

/** Whoever acts on the node acts on the instance. */
function nodeFacts({ nodeStatus }: Instance): LabelledFacts {
  if (nodeStatus === undefined) return [];
  const { state, power, epoch, manager } = nodeStatus;
  return [
    ['Node state', `${state}, power ${power}`],
    ['Managed by', `${manager ?? 'no manager'} (epoch ${epoch})`],
  ];
}

/** Its host, or its bare-metal node. */
export function placeText({ host, node }: Instance): string | undefined {
  return host ?? (node === undefined ? undefined : `node ${node}`);
}

function pairsText(pairs: Readonly<Record<string, string>> = {}): string | undefined {
  return listText(Object.entries(pairs).map(([name, value]) => `${name}=${value}`));
}

/** An instance that is cut off is not plainly active. */
function stateText({ state, degraded }: Instance): string {
  return degraded === undefined ? state : 'degraded';
}

/** That it does not run, or the troubles of its ports, such as `port-not-plugged`, each once. */
const DEGRADED_CAUSES: ReadonlyMap<string, string> = new Map([
  ['instance-host-off', 'host forced down'],
  ['instance-ended', 'ended by itself'],
]);

function degradedCauseText({ degraded }: Instance): string | undefined {
  if (degraded === undefined) return undefined;
  const cause = DEGRADED_CAUSES.get(degraded.code);
  return [
    ...(cause === undefined ? [] : [cause]),
    ...new Set(degraded.ports.map(({ trouble }) => `port ${trouble}`)),
  ].join(', ');
}

/** `2 times on c1, last 3m ago; runs again`. */
function endedText({ ended, host }: Instance, nowMs: number): string | undefined {
  if (ended === undefined || ended.host !== host) return undefined;
  const times = ended.times === 1 ? 'once' : `${ended.times} times`;
  return `${times} on ${ended.host}, last ${relativeTime(ended.atMs, nowMs)}; ${ended.runsAgain ? 'runs again' : 'does not run'}`;
}

function degradedText({ degraded }: Instance, nowMs: number): string | undefined {
  if (degraded === undefined) return undefined;
  const { message, sinceMs, operation, lastTry } = degraded;
  const tried = lastTry === undefined ? '' : ` ${lastTry}`;
  const by = operation === undefined ? '' : `, ${operation}`;
  return `${message}${tried} (${relativeTime(sinceMs, nowMs)}${by})`;
}

/** `live from c1 to c2, in op-1`; one that is not under way any more has failed. */
function moveText({ move, state }: Instance): string | undefined {
  if (move === undefined) return undefined;
  const to = move.target ?? move.tries.at(-1)?.host;
  const way = `${move.kind} from ${move.from}${to === undefined ? '' : ` to ${to}`}, in ${move.operation}`;
  return state === 'moving' ? way : `${way}: failed`;
}

function portOwner(side: string): string {
  return side === 'conductor' ? 'control plane' : 'host';
}

const NIC_COLUMNS: readonly TableColumn<Port>[] = [
  { title: 'nic', of: (port) => port.nic, align: 'right' },
  { title: 'network', of: (port) => port.network },
  { title: 'addresses', of: addressesText },
  { title: 'mac', of: (port) => port.mac },
  { title: 'bound', of: bindingText },
  { title: 'made by', of: (port) => port.createdBy },
  { title: 'tag', of: (port) => port.tag },
  { title: 'port', of: (port) => port.id },
];

function attemptColumns(nowMs: number, of?: number): readonly TableColumn<Attempt>[] {
  return [
    { title: 'try', of: (attempt) => (of === undefined ? attempt.nth : `${attempt.nth} of ${of}`) },
    { title: 'host', of: triedPlaceText },
    { title: 'site', of: (attempt) => attempt.site },
    { title: 'pools', of: (attempt) => listText([...new Set(attempt.pools)]) },
    { title: 'when', of: (attempt) => relativeTime(attempt.atMs, nowMs) },
    { title: 'went wrong', of: faultText },
  ];
}

function triedPlaceText({ host, node, manager }: Attempt): string | undefined {
  if (host !== undefined || (node ?? manager) === undefined) return host;
  return [...(node === undefined ? [] : [`node ${node}`]), ...(manager === undefined ? [] : [`by ${manager}`])].join(
    ' ',
  );
}

function faultText({ fault, text, excludes, excludedPool }: Attempt): string | undefined {
  if (fault === undefined) return undefined;
  const ruledOut =
    excludes === 'pool' ? excludedPool : excludes === 'none' || !excludes ? undefined : `this ${excludes}`;
  const said = text === undefined ? fault : `${fault}: ${text}`;
  if (ruledOut === undefined) return said;
  return `${said}${/[.!?]$/.test(said) ? '' : '.'} Not tried again: ${ruledOut}.`;
}

const STAGE_COLUMNS: readonly TableColumn<ReportStage>[] = [
  { title: 'filter', of: (stage) => stage.filter },
  { title: 'before', of: (stage) => stage.before, align: 'right' },
  { title: 'after', of: (stage) => stage.after, align: 'right' },
  { title: 'why', of: (stage) => stage.sentence ?? stage.cause },
];

/** Why no host was found, filter by filter. */
export function reportText(report: Report, paint: Paint): string {
  const hosts = report.hosts === 1 ? 'one host' : `${report.hosts} hosts`;
  return `Of ${hosts}, filter by filter:\n${renderTable(report.stages, STAGE_COLUMNS, paint)}`;
}

type NodeStage = NonNullable<NonNullable<Instance['fault']>['nodes']>[number];

const NODE_STAGE_COLUMNS: readonly TableColumn<NodeStage>[] = [
  { title: 'stage', of: ({ stage }) => stage },
  { title: 'nodes left', of: ({ left }) => left, align: 'right' },
];

/** Why no bare-metal node was found, stage by stage. */
export function nodeStagesText(stages: readonly NodeStage[], paint: Paint): string {
  return `Of the bare-metal nodes, stage by stage:\n${renderTable(stages, NODE_STAGE_COLUMNS, paint)}`;
}

/** What does not fit into a line each: NICs, tries, and the filters that left no host. */
export function instanceTables(one: Instance, paint: Paint, nowMs: number): string {
  const { ports, attempts, attemptsMax, move, fault } = one;
  // A first try that went well says nothing that the host does not say.
  const tries = attempts.length > 1 || attempts.some((attempt) => attempt.fault !== undefined);
  const moves = move?.tries.filter((attempt) => attempt.fault !== undefined) ?? [];
  return [
    ...(ports.length === 0 ? [] : [renderTable(ports, NIC_COLUMNS, paint)]),
    ...(tries ? [renderTable(attempts, attemptColumns(nowMs, attemptsMax), paint)] : []),
    ...(moves.length === 0 ? [] : [`Tried for the move:\n${renderTable(moves, attemptColumns(nowMs), paint)}`]),
    ...(fault?.report === undefined ? [] : [reportText(fault.report, paint)]),
    ...(fault?.nodes === undefined ? [] : [nodeStagesText(fault.nodes, paint)]),
  ]
    .map((text) => `\n${text}`)
    .join('');
}
