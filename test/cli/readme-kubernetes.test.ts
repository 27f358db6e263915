// The Kubernetes part of the README's tour, command by command, against the demonstration as "npm start" runs it: what it prints there is what is printed, but for
// times, ids and lines of progress.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { newFolder, run, start, type Started } from './muster.ts';
import { readTour } from './readme-steps.ts';

const ROOT = join(import.meta.dirname, '../..');
const TOUR = readTour('**Run Kubernetes workers.**', '**Give machines away whole.**');

/** How often there is time to look at what is under way is not promised. */
const PROGRESS =
  /^op-\w+ (?:running|succeeded)(?::? \d\/\d done.*)?$|^ {2}\S+ (?:waiting:|draining|drained|recovering)/;

function strip(text: string): string {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '' && !PROGRESS.test(line))
    .map((line) =>
      line
        .replaceAll(/op-\w+/g, 'OP')
        .replaceAll(/\b(?:now|\d+(?:s|m|h|min) ago)\b/g, 'AGO')
        .replaceAll(/\bshop-[a-z0-9]{8}\b/g, 'shop-ID')
        .replaceAll(/ +/g, ' '),
    )
    .join('\n');
}

const data = newFolder();
let demo: Started;
let flags: string;

function carryOut(command: string): Promise<string> {
  const words = command.replace('npx muster', `'${process.execPath}' '${join(ROOT, 'bin/muster.js')}' ${flags}`);
  return run([], { command: ['sh', '-c', `${words} 2>&1`] }).then(({ out }) => out);
}

beforeAll(async () => {
  demo = start(['demo', '--data', data, '--listen', '127.0.0.1:0']);
  const [, url = ''] = await demo.said(/Address +(\S+)/);
  flags = `--server ${url} --data ${data}`;
  const active = async (): Promise<boolean> =>
    (await carryOut('npx muster hosts list')).match(/ active /g)?.length === 12;
  await vi.waitUntil(active, { timeout: 60_000, interval: 300 });
}, 90_000);

afterAll(async () => {
  demo.child.kill('SIGINT');
  await demo.ended;
});

test('the tour adds a worker, drains two, and takes a host with a worker out', () => {
  const words = TOUR.map(({ command }) => command).join('\n');
  expect(words).toMatch(/workers add shop [^]*workers drain shop.node-1 shop.node-2 [^]*scale-in start north-1/);
});

test.each(TOUR)(
  '$command',
  async ({ command, printed }) => {
    const isRead = / (?:list|tenants|preview) ?/.test(command);
    if (!isRead) {
      expect(strip(await carryOut(command))).toBe(strip(printed));
      return;
    }
    // A host that is drained is so a moment before its worker is given back.
    await vi.waitFor(async () => expect(strip(await carryOut(command))).toBe(strip(printed)), {
      timeout: 30_000,
      interval: 300,
    });
  },
  90_000,
);
