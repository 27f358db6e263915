// The bare-metal part of the README's tour, command by command, against the demonstration as "npm start" runs it: what it prints there is what is printed,
// but for times, revisions, ids, and which manager is the quicker one.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { newFolder, run, start, type Started } from './muster.ts';
import { readTour } from './readme-steps.ts';

const ROOT = join(import.meta.dirname, '../..');
const TOUR = readTour('**Give machines away whole.**', '**Ask what happened**');

/** Whether there is time for a line of progress is not promised, nor which of the others takes a node over. */
function strip(text: string): string {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^op-\w+ (?:running|succeeded|failed): \d/.test(line))
    .map((line) =>
      line
        .replaceAll(/op-\w+/g, 'OP')
        .replaceAll(/\b(?:now|\d+(?:s|m|h|min) ago)\b/g, 'AGO')
        .replace(/^\d+ +AGO/, 'N AGO')
        .replaceAll(/:(\d+)$/g, ':N')
        .replaceAll(/manager m[23]|→ m[23]/g, 'OTHER')
        // Of two that would have the same node, the first request gets it.
        .replace(/^(db-[2-6] +active +node) .*/, '$1')
        .replaceAll(/\b10\.21\.0\.\d+/g, '10.21.0.N')
        .replaceAll(/ +/g, ' '),
    )
    .join('\n');
}

const data = newFolder();
let demo: Started;
let flags: string;

async function startDemo(): Promise<void> {
  demo = start(['demo', '--data', data, '--listen', '127.0.0.1:0']);
  const [, url = ''] = await demo.said(/Address +(\S+)/);
  flags = `--server ${url} --data ${data}`;
}

function carryOut(command: string): Promise<string> {
  const words = command.replace('npx muster', `'${process.execPath}' '${join(ROOT, 'bin/muster.js')}' ${flags}`);
  return run([], { command: ['sh', '-c', `${words} 2>&1`] }).then(({ out }) => out);
}

beforeAll(async () => {
  await startDemo();
  // The loss of a manager takes a third of the time, and a deploy a tenth.
  await carryOut(`npx muster settings set baremetal.managers '{"leaseMs": 5000, "renewMs": 1500}'`);
  const quick = '{"claims": "inline", "checksEpochs": true, "deployMs": 200, "cleanMs": 100, "powerMs": 50}';
  await carryOut(`npx muster settings set baremetal.simulated '${quick}'`);
  await vi.waitUntil(
    async () => (await carryOut('npx muster baremetal managers list')).match(/ live /g)?.length === 3,
    {
      timeout: 20_000,
    },
  );
});

afterAll(async () => {
  demo.child.kill('SIGINT');
  await demo.ended;
});

test('the tour reserves, reads why not and loses a manager', () => {
  const words = TOUR.map(({ command }) => command).join('\n');
  expect(words).toMatch(/--flavor metal [^]*reservations create -[^]*managers pause m1[^]*managers resume m1/);
});

test.each(TOUR)(
  '$command',
  async ({ command, printed }) => {
    // What is only read is read until it is so: a manager is lost when its lease has run out.
    const isRead = / (?:list|history) ?/.test(command);
    if (!isRead) {
      expect(strip(await carryOut(command))).toBe(strip(printed));
      return;
    }
    await vi.waitFor(async () => expect(strip(await carryOut(command))).toBe(strip(printed)), {
      timeout: 30_000,
      interval: 300,
    });
  },
  60_000,
);

test('killed and started again on its folder, instances and nodes are as they were, and the manager that was paused is back', async () => {
  demo.child.kill('SIGKILL');
  await demo.ended;
  await startDemo();
  expect(demo.out()).toContain('runs with a fleet of 12 hosts and 24 bare-metal nodes.');
  const live = async (): Promise<boolean> =>
    (await carryOut('npx muster baremetal managers list --state live')).match(/^m\d/gm)?.length === 3;
  await vi.waitUntil(live, { timeout: 30_000, interval: 300 });
  const nodes = await carryOut('npx muster baremetal nodes list --state active');
  expect(nodes.match(/ db-\d /g)).toHaveLength(6);
  const rebooted = await carryOut('npx muster instances power reboot db-2 --wait');
  expect(rebooted).toMatch(/succeeded: reboot instance db-2, 1\/1 done\.\n$/);
}, 60_000);
