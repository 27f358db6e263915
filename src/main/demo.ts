// muster demo: a server with a simulated fleet. It prints its address, how to log in and what to try, then reports events until it is
// stopped.
import { relative } from 'node:path';
import { NODE } from '../baremetal/index.ts';
import { HOST } from '../hosts/index.ts';
import type { ControlPlane } from './control-plane.ts';
import { newsIn } from './demo-news.ts';
import { writeSentence } from './program-log.ts';
import { PROGRAM } from './modules.ts';
import { isEmptyDemo, runServer, type ServeOptions } from './serve.ts';

const DEFAULT_URL = 'http://127.0.0.1:7070';
const DEFAULT_DATA = './data';

export function runDemo(options: ServeOptions, version: string): Promise<number> {
  return runServer(options, version, (plane) => {
    writeSentence(process.stdout, banner(plane, options, version));
    plane.journal.onCommit(({ commit, applied }) => {
      const when = new Date(commit.atMs).toLocaleTimeString('en-GB');
      for (const line of newsIn(applied, PROGRAM.explain)) writeSentence(process.stdout, `${when}  ${line}\n`);
    });
  });
}

function banner(plane: ControlPlane, options: ServeOptions, version: string): string {
  const { data, demo: demoName, simulatedAgents = false } = options;
  const hosts = plane.journal.fleet.count(HOST);
  const nodes = plane.journal.fleet.count(NODE);
  const empty = hosts === 0 && isEmptyDemo(demoName);
  const muster = `npx muster${flags(plane, data)}`;
  const near = relative('', plane.tokenFile);
  const tokenFile = near.startsWith('..') ? plane.tokenFile : near;
  return [
    `Muster ${version} runs with ${empty ? 'an empty fleet' : `a fleet of ${hosts} hosts and ${nodes} bare-metal nodes`}.`,
    '',
    `  Address   ${plane.url}`,
    `  Log in    the command line finds the admin token by itself, here: ${tokenFile}`,
    `            other programs send it as "Authorization: Bearer <token>"`,
    '',
    'Try, in another terminal in this folder:',
    '',
    `  ${muster} hosts list`,
    ...(empty
      ? firstHost(plane, muster, simulatedAgents)
      : [
          `  ${muster} instances create web --flavor small --network routed --count 3 --wait`,
          `  ${muster} instances create db --flavor metal --network routed --wait`,
        ]),
    `  ${muster} watch`,
    '',
    ...(empty && !simulatedAgents
      ? ['Hosts get simulated agents by themselves with: muster demo --demo none --simulated-agents', '']
      : []),
    'Ctrl-C stops it; the fleet is kept for the next start.',
    '',
    '',
  ].join('\n');
}

/** A host needs an agent: one in this process where that was requested, else one that is started beside it. */
function firstHost({ url }: ControlPlane, muster: string, simulatedAgents: boolean): readonly string[] {
  const join = `  ${muster} hosts join compute-99 --vcpus 16 --memory 64GiB`;
  if (simulatedAgents) return [`${join} --wait`];
  const server = url === DEFAULT_URL ? '' : ` --server ${url}`;
  return [
    join,
    `  MUSTER_JOIN_TOKEN=$(${muster} hosts join-token compute-99) npx muster agent --simulate${server} --state ./agent-compute-99`,
  ];
}

/** The options that differ from the default. */
function flags({ url }: ControlPlane, data: string): string {
  return `${url === DEFAULT_URL ? '' : ` --server ${url}`}${data === DEFAULT_DATA ? '' : ` --data ${data}`}`;
}
