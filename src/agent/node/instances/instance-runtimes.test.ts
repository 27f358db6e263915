// Every instance runtime by one contract.
import { expect, test } from 'vitest';
import { VirtualClock } from '../../../journal/virtual-clock-fixture.ts';
import { instanceRuntimeContract } from './instance-runtime-contract.ts';
import { callFor, type RuntimeMachine } from './runtime-bench-fixture.ts';
import { FakeNamespaceHost } from './namespace-host-fixture.ts';
import { SimulatedHypervisor, type SimulatedHypervisorOptions } from './simulated-hypervisor.ts';
import { SimulatedRuntime } from './simulated-runtime.ts';

function simulatedMachine(options: SimulatedHypervisorOptions = {}): RuntimeMachine {
  const clock = new VirtualClock();
  let hypervisor: SimulatedHypervisor;
  return {
    start: (disk) => {
      hypervisor = new SimulatedHypervisor({ disk, ...options });
      return new SimulatedRuntime({ hypervisor, clock });
    },
    running: () => undefined,
    end: (id) => hypervisor.end(id, clock.nowMs()),
  };
}

instanceRuntimeContract('simulated', () => simulatedMachine());

instanceRuntimeContract('simulated, with a line that migrate has to know of', () =>
  simulatedMachine({ handoverFor: (id) => ({ line: 'h1:7000', secret: `s-${id}` }) }),
);

instanceRuntimeContract('namespaces, on a host whose commands are not run', () => {
  const host = new FakeNamespaceHost();
  return {
    start: (disk) => host.start(disk),
    running: () => Promise.resolve([...host.namespaces].map((name) => name.slice('h1-'.length))),
    end: async (id) => void host.namespaces.delete(`h1-${id}`),
  };
});

test('a-simulated-instance-moves-only-to-whoever-gave-out-the-secret', async () => {
  const hypervisors = new Map<string, SimulatedHypervisor>();
  const runtimeAt = (host: string): SimulatedRuntime => {
    const peer = (name: string): SimulatedHypervisor | undefined => hypervisors.get(name);
    const hypervisor = new SimulatedHypervisor({ peer, handoverFor: (id) => ({ secret: `${host} ${id}` }) });
    hypervisors.set(host, hypervisor);
    return new SimulatedRuntime({ hypervisor, clock: new VirtualClock() });
  };
  const [source, target] = [runtimeAt('h1'), runtimeAt('h2')];
  const spec = { id: 'i1', vcpus: 1, memoryMiB: 64, diskGiB: 1, nics: [] };
  await source.build(spec, callFor('t1'));
  const prepared = await target.prepare(spec, callFor('t2'));
  const handover = prepared.kind === 'done' ? prepared.facts : undefined;
  const order = { id: 'i1', target: 'h2', move: 'live' as const };
  for (const wrong of [undefined, { secret: 'guessed' }])
    expect(await source.migrate({ ...order, handover: wrong }, callFor('t3'))).toMatchObject({
      fault: 'migration-failed',
    });
  expect([source.instance('i1')?.state, target.instance('i1')?.state]).toEqual(['running', 'prepared']);
  expect(await source.migrate({ ...order, handover }, callFor('t4'))).toEqual({ kind: 'done' });
  expect([source.instance('i1')?.state, target.instance('i1')?.state]).toEqual(['sent', 'received']);
});
