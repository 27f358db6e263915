// The instance runtime of the lab, on real network namespaces.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { instanceRuntimeContract } from '../../src/agent/node/instances/instance-runtime-contract.ts';
import { NamespaceRuntime } from '../../src/agent/runtime.ts';
import { realClock } from '../../src/main/clock.ts';
import { ovsSuite } from '../../test/ovs/suite.ts';

const run = promisify(execFile);

ovsSuite('instances in namespaces', () => {
  instanceRuntimeContract('namespaces', () => {
    const hostNamespace = `mur${randomBytes(3).toString('hex')}`;
    const ownNamespaces = async (): Promise<string[]> =>
      (await readdir('/run/netns')).filter((name) => name.startsWith(`${hostNamespace}-`));
    return {
      start: (disk) =>
        new NamespaceRuntime({
          hostNamespace,
          disk,
          clock: realClock,
          run: async ([program = '', ...args]) => (await run(program, args)).stdout,
          plugs: { plug: () => Promise.resolve(), unplug: () => Promise.resolve() },
        }),
      running: async () => (await ownNamespaces()).map((name) => name.slice(hostNamespace.length + 1)),
      end: async (id) => void (await run('ip', ['netns', 'delete', `${hostNamespace}-${id}`])),
      close: async () => {
        for (const name of await ownNamespaces()) await run('ip', ['netns', 'delete', name]);
      },
    };
  });
});
