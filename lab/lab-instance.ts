// Instances of the lab that no agent made: namespaces plugged into a host. Their ports are put on the switch by other files.
import {
  instanceNamespace,
  plugCommands,
  unplugCommands,
  type NamespaceInstance,
} from '../src/agent/node/instances/namespace-commands.ts';
import { run, runAll } from './command.ts';
import type { LabHost } from './underlay/host.ts';

export interface LabInstanceSpec {
  readonly name: string;
  /** The end that the host's switch gets. */
  readonly port: string;
  readonly mac: string;
  readonly addresses: readonly string[];
  readonly gateways: readonly string[];
}

export interface LabInstance extends NamespaceInstance {
  readonly name: string;
  readonly port: string;
  readonly mac: string;
}

export async function plug(
  host: LabHost,
  { name, port, mac, addresses, gateways }: LabInstanceSpec,
): Promise<LabInstance> {
  const machine = {
    name,
    port,
    mac,
    namespace: instanceNamespace(host.names.namespace, name),
    hostNamespace: host.names.namespace,
    nics: [{ hostSide: port, name: 'eth0', mac, addresses, gateways }],
  };
  await runAll(plugCommands(machine));
  return machine;
}

/** Everything that runs in it has to be ended before: a namespace lives as long as a process does. */
export async function unplug(machine: LabInstance): Promise<void> {
  for (const command of unplugCommands(machine)) await run(command);
}
