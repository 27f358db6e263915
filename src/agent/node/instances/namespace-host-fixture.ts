// A host whose commands are not run: what `ip netns` would have made is written down.
import { VirtualClock } from '../../../journal/virtual-clock-fixture.ts';
import { StateMemoryDisk } from '../state/memory-disk.ts';
import type { NamespaceCommand } from './namespace-commands.ts';
import { NamespaceRuntime } from './namespace-runtime.ts';

export class FakeNamespaceHost {
  readonly clock = new VirtualClock();
  readonly disk = new StateMemoryDisk();
  /** Every command that changes something, in that order. */
  readonly commands: string[] = [];
  readonly plugged: string[] = [];
  /** As `ip` lists them on the host. */
  links = '';
  /** What there is, by name. */
  readonly namespaces = new Set<string>();
  /** Commands that begin so fail. */
  refuses = 'nothing';
  readonly runtime = this.start();

  /** Another process, on the same host. */
  start(disk = this.disk): NamespaceRuntime {
    return new NamespaceRuntime({
      hostNamespace: 'h1',
      run: (command) => this.#run(command),
      clock: this.clock,
      disk,
      plugs: {
        plug: async (port) => void this.plugged.push(`plug ${port}`),
        unplug: async (port) => void this.plugged.push(`unplug ${port}`),
      },
    });
  }

  async #run(command: NamespaceCommand): Promise<string> {
    const [, ...words] = command;
    const text = words.join(' ');
    if (text === 'netns list') return [...this.namespaces].map((name) => `${name} (id: 1)\n`).join('');
    if (text === '-n h1 -o link show type veth') return this.links;
    if (text.startsWith(this.refuses)) throw new Error(`"${text}" is refused`);
    if (words[0] === 'netns' && words[1] === 'add') this.namespaces.add(words[2] ?? '');
    if (words[0] === 'netns' && words[1] === 'del') this.namespaces.delete(words[2] ?? '');
    this.commands.push(text);
    return '';
  }
}
