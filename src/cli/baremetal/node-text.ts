// A node as people read it.
import { relativeTime } from '../output/duration.ts';
import { gib } from '../output/size.ts';
import type { TableColumn } from '../output/table.ts';
import { listChangedFacts, listText, type ResourceSpec } from '../resource-commands.ts';
import type { LabelledFacts } from '../session.ts';
import type { Node } from '../client/representations.ts';

export const NODES: ResourceSpec<Node> = {
  command: 'baremetal nodes',
  kind: 'node',
  path: '/api/v1/nodes',
  sample: 'rack1-u07',
  columns,
  facts: nodeFacts,
};

function columns(nowMs: number): readonly TableColumn<Node>[] {
  return [
    { title: 'node', of: (node) => node.id, colour: 'bold' },
    { title: 'site', of: (node) => node.site },
    { title: 'class', of: (node) => node.resourceClass },
    { title: 'cpus', of: (node) => node.cpus, align: 'right' },
    { title: 'memory', of: (node) => gib(node.memoryMiB / 1024), align: 'right' },
    { title: 'disk', of: (node) => gib(node.localGiB), align: 'right' },
    { title: 'state', of: (node) => node.state, colour: 'state' },
    { title: 'power', of: (node) => node.power },
    { title: 'instance', of: (node) => node.instance },
    { title: 'manager', of: (node) => node.manager },
    { title: 'last seen', of: (node) => lastSeen(node, nowMs) },
    { title: 'note', of: noteOf },
  ];
}

function lastSeen({ lastSeenAtMs }: Node, nowMs: number): string | undefined {
  return lastSeenAtMs === undefined ? undefined : relativeTime(lastSeenAtMs, nowMs);
}

function noteOf({ maintenance, fault, absent, warnings = [] }: Node): string {
  const notes = [
    ...(absent === undefined ? [] : ['its inventory does not know it any more']),
    ...(maintenance === undefined ? [] : [`maintenance: ${maintenance.reason}`]),
    ...(fault === undefined ? [] : [fault.message]),
    ...warnings,
  ];
  return notes.join('; ');
}

function nodeFacts(node: Node, nowMs: number): LabelledFacts {
  const { id, name, maintenance, fault, manager, managerEpoch } = node;
  return [
    ['Node', id],
    ['Name', name === id ? undefined : name],
    ['Inventory', node.inventory],
    ['Site', node.site],
    ['State', node.state],
    ['Last seen', lastSeen(node, nowMs)],
    [
      'Absent',
      node.absent &&
        `its inventory says so since ${relativeTime(node.absent.sinceMs, nowMs)}; it stays for its instance`,
    ],
    ['Counts as', node.bucket],
    ['Power', node.power],
    [
      'Maintenance',
      maintenance && `${maintenance.reason} (${maintenance.by}, ${relativeTime(maintenance.atMs, nowMs)})`,
    ],
    ['Fault', fault && `${fault.message} (${relativeTime(fault.atMs, nowMs)})`],
    ['Data', node.dirty === true ? 'of an instance is on it, until it is clean' : undefined],
    ['Instance', node.instance],
    ['Manager', manager && `${manager}, under epoch ${managerEpoch} of its lease`],
    ['Epoch', String(node.epoch)],
    ['Class', node.resourceClass],
    ['Hardware', `${node.cpus} cpus, ${gib(node.memoryMiB / 1024)} memory, ${gib(node.localGiB)} disk`],
    ['Architecture', node.cpuArch],
    ['Traits', listText(node.traits)],
    ['Capabilities', node.capabilities],
    ['Physical networks', listText(node.physicalNetworks)],
    ['Owner', node.owner],
    ['Lessee', node.lessee],
    ...(node.warnings ?? []).map((warning): LabelledFacts[number] => ['Warning', warning]),
    ...listChangedFacts(node, nowMs),
  ];
}
