// Instances of the lab that no agent made: namespaces plugged into a host. What puts their ports on the switch is somebody else's.
import { machineNamespace, plugCommands, unplugCommands, type NamespaceMachine } from '../src/agent/namespace-plan.ts';
import { run, runAll } from './command.ts';
import type { LabHost } from './underlay/host.ts';

export interface MachineSpec {
  readonly name: string;
  /** The end that the host's switch gets. */
  readonly port: string;
  readonly mac: string;
  readonly addresses: readonly string[];
  readonly gateways: readonly string[];
}

export interface Machine extends NamespaceMachine {
  readonly name: string;
  readonly port: string;
  readonly mac: string;
}

export async function plug(host: LabHost, { name, port, mac, addresses, gateways }: MachineSpec): Promise<Machine> {
  const machine = {
    name,
    port,
    mac,
    namespace: machineNamespace(host.names.namespace, name),
    hostNamespace: host.names.namespace,
    nics: [{ hostSide: port, name: 'eth0', mac, addresses, gateways }],
  };
  await runAll(plugCommands(machine));
  return machine;
}

/** Everything that runs in it has to be ended before: a namespace lives as long as a process does. */
export async function unplug(machine: Machine): Promise<void> {
  for (const command of unplugCommands(machine)) await run(command);
}
