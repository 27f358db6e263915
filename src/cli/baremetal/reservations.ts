// muster baremetal reservations: which instance has which node, and why one has none.
import { Command } from 'commander';
import { addExamples, commandGroup, withAction, type Cli } from '../command.ts';
import { ApiRefusal } from '../client/problem.ts';
import type { ReleasedReservation, Reservation } from '../client/representations.ts';
import { usage } from '../exit-code.ts';
import { readInput } from '../input/input-file.ts';
import { relativeTime } from '../output/duration.ts';
import { sanitizeLine } from '../output/text-width.ts';
import {
  listChangedFacts,
  forEachName,
  listCommand,
  listText,
  resourcePath,
  showCommand,
  type ResourceSpec,
} from '../resource-commands.ts';
import type { LabelledFacts, Session } from '../session.ts';

const RESERVATIONS: ResourceSpec<Reservation> = {
  command: 'baremetal reservations',
  kind: 'reservation',
  by: 'id',
  path: '/api/v1/reservations',
  sample: 'db-1',
  columns: (nowMs) => [
    { title: 'instance', of: (one) => one.instance, colour: 'bold' },
    { title: 'state', of: (one) => one.state, colour: 'state' },
    { title: 'node', of: (one) => one.node },
    { title: 'manager', of: (one) => one.manager },
    { title: 'project', of: (one) => one.project },
    { title: 'requested', of: (one) => relativeTime(one.createdAtMs, nowMs) },
    { title: 'reason', of: (one) => one.reason?.message },
  ],
  facts,
};

function facts(one: Reservation, nowMs: number): LabelledFacts {
  const { node, nodeEpoch } = one;
  return [
    ['Instance', one.instance],
    ['State', one.state],
    ['Node', node && `${node}, under its epoch ${nodeEpoch}`],
    ['Manager', one.manager],
    ['Project', one.project],
    ['Site', one.site],
    ['Traits', listText(one.traits)],
    ['Ignored', listText(one.ignored)],
    ['Asked for', relativeTime(one.createdAtMs, nowMs)],
    ['Operation', one.operation],
    ['Reason', one.reason?.message],
    ...whyNot(one).map((sentence, nth): LabelledFacts[number] => [nth === 0 ? 'Nodes left' : '', sentence]),
    ['Request', JSON.stringify(one.request)],
    ...listChangedFacts(one, nowMs),
  ];
}

/** What was left after each stage, a sentence each, up to the one after which none was. */
function whyNot({ stages = [] }: Reservation): string[] {
  const last = stages.findIndex(({ left }) => left === 0);
  return stages.slice(0, last + 1).map(({ stage, sentence }) => `${stage}: ${sentence}`);
}

export function reservationCommands(cli: Cli): Command {
  return commandGroup(
    'reservations',
    'Which instance has which node, and why one has none',
    listCommand(cli, RESERVATIONS, {
      empty: 'No reservations. Each instance on bare metal has one.',
      filters: [
        ['--state <state>', 'only those that are allocating, active, releasing or error'],
        ['--manager <name>', 'only those that this manager requested'],
        ['--node <name>', 'the one of this node'],
        ['--project <name>', 'only those of this project'],
        ['--site <name>', 'only those on nodes of this site'],
      ],
      examples: [['those that found no node', 'muster baremetal reservations list --state error']],
    }),
    showCommand(cli, RESERVATIONS),
    createReservation(cli),
    releaseReservation(cli),
  );
}

function createReservation(cli: Cli): Command {
  const command = new Command('create')
    .description('Reserve a node for an instance; says after which stage none was left if there is none')
    .argument(
      '<file>',
      'YAML or JSON: instance_uuid, manager, and the fields of a flavor and an image; - for standard input',
    );
  addExamples(
    command,
    ['as a file says', 'muster baremetal reservations create request.yaml'],
    [
      'the smallest node that will do',
      `echo '{"instance_uuid":"db-1","manager":"m1","memory_mb":65536}' | muster baremetal reservations create -`,
    ],
  );
  return withAction(cli, command, async (session, { args: [path = ''] }) => {
    const body = await readInput(session.terminal, path);
    if (typeof body !== 'object' || body === null || Array.isArray(body))
      throw usage(`${path === '-' ? 'Standard input' : path} is not one request. Write the fields of one reservation.`);
    const one = await reserve(session, body);
    await session.reportDone(one, sentenceOf(one));
    return undefined;
  });
}

async function reserve(session: Session, body: object): Promise<Reservation> {
  try {
    return await session.client.write<Reservation>('POST', RESERVATIONS.path, { body });
  } catch (error) {
    const { instance_uuid: instance } = body as { readonly instance_uuid?: unknown };
    if (error instanceof ApiRefusal && error.body.code === 'no-match' && typeof instance === 'string')
      await noteWhyNot(session, instance);
    throw error;
  }
}

/** Kept for a day with its counts. */
async function noteWhyNot(session: Session, instance: string): Promise<void> {
  const failed = await session.client.get<Reservation>(resourcePath(RESERVATIONS, instance));
  for (const sentence of whyNot(failed)) session.note(sanitizeLine(sentence));
}

function sentenceOf({ id, state, node }: Reservation): string {
  const look = `"muster baremetal reservations show ${id}"`;
  return state === 'allocating'
    ? `The claim of a node for ${id} is in progress; ${look} shows the result.`
    : `Node ${node} is reserved for ${id}.`;
}

function releaseReservation(cli: Cli): Command {
  const command = new Command('release')
    .description('Release reservations, whatever their state; nodes to which something was deployed are cleaned first')
    .argument('<ids...>');
  addExamples(command, ['one', 'muster baremetal reservations release db-1']);
  return withAction(cli, command, (session, { args }) =>
    forEachName(session, args, async (id) => {
      const value = await session.client.write<ReleasedReservation>('DELETE', resourcePath(RESERVATIONS, id));
      return { value, sentence: releaseSentence(id, value) };
    }),
  );
}

function releaseSentence(instance: string, { state, operation }: ReleasedReservation): string {
  return state === 'released'
    ? `The reservation of ${instance} is released.`
    : `The reservation of ${instance} is released when its node is clean. Follow it with: muster operations wait ${operation}`;
}
