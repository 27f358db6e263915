// muster demo: a server with a simulated fleet. It says where it is, how to log in and what to try, then tells of what
// happens until it is stopped.
import { relative } from 'node:path';
import { HOST } from '../hosts/index.ts';
import type { ControlPlane } from './control-plane.ts';
import { newsIn } from './demo-news.ts';
import { writeSentence } from './program-log.ts';
import { explain } from './rooms.ts';
import { runServer, type ServeOptions } from './serve.ts';

const DEFAULT_URL = 'http://127.0.0.1:7070';
const DEFAULT_DATA = './data';

export function demo(options: ServeOptions, version: string): Promise<number> {
  return runServer(options, version, (plane) => {
    writeSentence(process.stdout, banner(plane, options, version));
    plane.journal.onCommit((commit, applied) => {
      const when = new Date(commit.atMs).toLocaleTimeString('en-GB');
      for (const line of newsIn(applied, explain)) writeSentence(process.stdout, `${when}  ${line}\n`);
    });
  });
}

function banner(plane: ControlPlane, { data, demo: asked }: ServeOptions, version: string): string {
  const hosts = plane.journal.fleet.count(HOST);
  const empty = hosts === 0 && (asked === '0' || asked === 'none');
  const muster = `npx muster${flags(plane, data)}`;
  const near = relative('', plane.tokenFile);
  const tokenFile = near.startsWith('..') ? plane.tokenFile : near;
  return [
    `Muster ${version} runs with ${empty ? 'an empty fleet' : `a fleet of ${hosts} hosts`}.`,
    '',
    `  Address   ${plane.url}`,
    `  Log in    the command line finds the admin token by itself, here: ${tokenFile}`,
    `            other programs send it as "Authorization: Bearer <token>"`,
    '',
    'Try, in another terminal in this folder:',
    '',
    `  ${muster} hosts list`,
    empty
      ? `  ${muster} hosts join compute-99 --vcpus 16 --memory 64GiB --wait`
      : `  ${muster} instances create web --flavor small --network routed --count 3 --wait`,
    `  ${muster} watch`,
    '',
    'Ctrl-C stops it; the fleet is kept and is here at the next start.',
    '',
    '',
  ].join('\n');
}

/** What has to be said because it is not the default. */
function flags({ url }: ControlPlane, data: string): string {
  return `${url === DEFAULT_URL ? '' : ` --server ${url}`}${data === DEFAULT_DATA ? '' : ` --data ${data}`}`;
}
