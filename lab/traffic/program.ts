// The traffic program: runs in a namespace, carries out the lab's commands, and ends with it. One for all traffic of a namespace, as
// processes are dear on a small machine.
import { setTimeout } from 'node:timers/promises';
import type { TrafficAnswer, TrafficCall, ClientFlow, TrafficTask } from './messages.ts';
import { TcpConnection } from './tcp-client.ts';
import { TcpServer } from './tcp-server.ts';
import { BeginningUdpFlows, UdpFlow, type RunningFlow } from './udp-client.ts';
import { UdpServer } from './udp-server.ts';

/** What is on its way takes milliseconds, on a machine that is held up a few hundred. */
const ON_THE_WAY_MS = 500;

const udp = new UdpServer();
const tcp = new TcpServer();
let flows: readonly RunningFlow[] = [];

async function carryOut(task: TrafficTask): Promise<unknown> {
  switch (task.kind) {
    case 'serve':
      await udp.listen(task.port);
      await tcp.listen(task.port);
      return {};
    case 'quiet':
      udp.stopPushing();
      return {};
    case 'served':
      return [...udp.takeResults(), ...tcp.takeResults()];
    case 'prepare':
      flows = task.flows.map(flowOf);
      await Promise.all(flows.map((flow) => flow.prepare()));
      return {};
    case 'begin':
      for (const flow of flows) flow.begin();
      return {};
    case 'end': {
      const ending = flows;
      flows = [];
      await Promise.all(ending.map((flow) => flow.stop()));
      await setTimeout(ON_THE_WAY_MS);
      return ending.flatMap((flow) => flow.close());
    }
  }
}

function flowOf(flow: ClientFlow): RunningFlow {
  switch (flow.kind) {
    case 'echo':
    case 'push':
      return new UdpFlow(flow);
    case 'beginning':
      return new BeginningUdpFlows(flow);
    case 'upload':
    case 'download':
      return new TcpConnection(flow);
  }
}

function answer(message: TrafficAnswer): void {
  process.send?.(message);
}

process.on('message', ({ call, task }: TrafficCall) => {
  carryOut(task).then(
    (result) => answer({ call, result }),
    (error: unknown) => answer({ call, failed: error instanceof Error ? error.message : String(error) }),
  );
});
// The lab is gone, however it went.
process.on('disconnect', () => process.exit());
// Ctrl-C is for the lab, which ends this program when it needs it no more.
process.on('SIGINT', () => undefined);
