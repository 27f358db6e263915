// OVN in the lab, by its own daemons: the peer that a loss is measured beside. The same hosts and the same network outside; a router
// with source NAT whose gateway is the first host, and the second when that one is lost.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { run, type ProgramCommand } from '../command.ts';
import { plug, type LabInstance, type LabInstanceSpec } from '../lab-instance.ts';
import { Endpoint } from '../traffic/endpoint.ts';
import { reach } from '../traffic/ping.ts';
import type { LabHost } from '../underlay/host.ts';
import { inNamespace } from '../underlay/links-plan.ts';
import { EXTERNAL_INTERFACE, OUTSIDE } from '../underlay/names.ts';
import { killAll } from '../underlay/processes.ts';
import type { Underlay } from '../underlay/underlay.ts';

const SCHEMAS = '/usr/share/ovn';
/** As the switches have it: none of the two is in front of the other. */
const NICE = ['nice', '-n', '-15'];
const DAEMON = ['--no-chdir', '-vconsole:off', '-vsyslog:off', '--detach'];
const PATIENCE_MS = 60_000;
const LOOK_MS = 100;
const HEARTBEAT = ['options:bfd-min-rx=100', 'options:bfd-min-tx=100', 'options:bfd-mult=3'];
/** The one that is lost, and the one that takes over. */
const GATEWAYS = [1, 2];

export class Ovn {
  readonly underlay: Underlay;
  readonly #folder: string;
  readonly #machines: LabInstance[] = [];
  #server: Endpoint | undefined;
  #sources: readonly Endpoint[] = [];

  private constructor(underlay: Underlay) {
    this.underlay = underlay;
    this.#folder = join(underlay.names.folder, 'ovn');
  }

  /** Resolves when every instance reaches the outside and the gateway is watched. */
  static async start(underlay: Underlay): Promise<Ovn> {
    const ovn = new Ovn(underlay);
    await ovn.#centre();
    for (const host of underlay.hosts) await ovn.#chassis(host);
    await ovn.#network();
    await ovn.#untilReady();
    return ovn;
  }

  /** The ends of a load: the outside, and the instances on hosts that are not lost. */
  async endpoints(port: number): Promise<{ readonly server: Endpoint; readonly sources: readonly Endpoint[] }> {
    if (this.#server === undefined) {
      this.#server = new Endpoint(this.underlay.names.external);
      await this.#server.serve(port);
      this.#sources = this.#machines.slice(1).map(({ namespace }) => new Endpoint(namespace));
    }
    return { server: this.#server, sources: this.#sources };
  }

  /** The gateway is gone: its switch, or with it whoever drives the switch. */
  async lose(what: 'switch' | 'host'): Promise<void> {
    const host = this.underlay.host(1);
    const pids = [await host.pid('ovs-vswitchd')];
    if (what === 'host') pids.push(Number(await run(['cat', this.#file(`${host.names.name}.pid`)])));
    await killAll(pids);
  }

  /** Starts what was lost; resolves when the first host is the gateway again and is watched. */
  async mend(what: 'switch' | 'host'): Promise<void> {
    const host = this.underlay.host(1);
    await host.start('ovs-vswitchd');
    if (what === 'host') await this.#controller(host);
    await this.#until('the first host is not the gateway again', async () => {
      const find = ['--bare', '--columns=_uuid', 'find', 'Chassis', `name=${host.names.name}`];
      const chassis = await this.#sbctl(...find);
      const binding = ['--bare', '--columns=chassis', 'find', 'Port_Binding', 'logical_port=cr-edge-outer'];
      return (await this.#sbctl(...binding)).trim() === chassis.trim() && chassis.trim() !== '';
    });
    await this.#untilReady();
  }

  async close(): Promise<void> {
    for (const endpoint of this.#sources) await endpoint.close();
    await this.#server?.close();
  }

  #file(name: string): string {
    return join(this.#folder, name);
  }

  async #centre(): Promise<void> {
    await mkdir(this.#folder);
    for (const name of ['nb', 'sb']) {
      await run(['ovsdb-tool', 'create', this.#file(`${name}.db`), `${SCHEMAS}/ovn-${name}.ovsschema`]);
      const args = [this.#file(`${name}.db`), `--remote=punix:${this.#file(`${name}.sock`)}`];
      await this.#daemon(this.underlay.names.underlay, name, ['ovsdb-server', ...args]);
    }
    const ends = [`--ovnnb-db=unix:${this.#file('nb.sock')}`, `--ovnsb-db=unix:${this.#file('sb.sock')}`];
    await this.#daemon(this.underlay.names.underlay, 'northd', ['ovn-northd', ...ends]);
    await this.#nbctl('init', '--', 'set', 'NB_Global', '.', ...HEARTBEAT);
  }

  async #chassis(host: LabHost): Promise<void> {
    const { names } = host;
    const ids = {
      'ovn-remote': `unix:${this.#file('sb.sock')}`,
      'ovn-encap-type': 'geneve',
      'ovn-encap-ip': names.tunnelAddress,
      'ovn-bridge-datapath-type': 'netdev',
      'ovn-bridge-mappings': 'outside:br-ex',
    };
    const settings = Object.entries(ids).map(([key, value]) => `external_ids:${key}=${value}`);
    await host.vsctl('set', 'Open_vSwitch', '.', ...settings);
    const bridge = ['add-br', 'br-ex', '--', 'set', 'bridge', 'br-ex', 'datapath_type=netdev', 'fail-mode=standalone'];
    await host.vsctl(...bridge, '--', 'add-port', 'br-ex', EXTERNAL_INTERFACE);
    await this.#controller(host);
    const machine = await plug(host, specFor(names.number));
    this.#machines.push(machine);
    await this.#until(`${names.name} has no bridge`, async () =>
      (await host.vsctl('list-br')).split('\n').includes('br-int'),
    );
    const interfaceId = `external_ids:iface-id=${machine.name}`;
    await host.vsctl('add-port', 'br-int', machine.port, '--', 'set', 'interface', machine.port, interfaceId);
  }

  /** It finds the bridge's socket in the folder of the switch. */
  async #controller({ names }: LabHost): Promise<void> {
    const where = ['env', `OVS_RUNDIR=${names.folder}`];
    await this.#daemon(names.namespace, names.name, [...where, 'ovn-controller', names.database]);
  }

  async #network(): Promise<void> {
    const [inner, outer] = [
      { name: 'inner', mac: '02:aa:00:00:00:01', address: '10.0.0.1/24' },
      { name: 'outer', mac: '02:aa:00:00:00:10', address: '198.51.100.10/24' },
    ];
    await this.#nbctl('lr-add', 'edge');
    for (const { name, mac, address } of [inner, outer]) {
      await this.#nbctl('ls-add', name, '--', 'lrp-add', 'edge', `edge-${name}`, mac, address);
      const port = `${name}-edge`;
      await this.#nbctl(
        ...['lsp-add', name, port, '--', 'lsp-set-type', port, 'router', '--', 'lsp-set-addresses', port, 'router'],
        ...['--', 'lsp-set-options', port, `router-port=edge-${name}`],
      );
    }
    for (const { name, mac } of this.#machines) {
      const { addresses } = specFor(Number(name.slice(2)));
      const [address = ''] = (addresses[0] ?? '').split('/');
      await this.#nbctl('lsp-add', 'inner', name, '--', 'lsp-set-addresses', name, `${mac} ${address}`);
    }
    await this.#nbctl(
      ...['lsp-add', 'outer', 'wire', '--', 'lsp-set-type', 'wire', 'localnet'],
      ...['--', 'lsp-set-addresses', 'wire', 'unknown', '--', 'lsp-set-options', 'wire', 'network_name=outside'],
    );
    for (const [nth, number] of GATEWAYS.entries()) {
      await this.#nbctl('lrp-set-gateway-chassis', 'edge-outer', `h${number}`, String(20 - 10 * nth));
    }
    await this.#nbctl('lr-route-add', 'edge', '0.0.0.0/0', OUTSIDE.address);
    await this.#nbctl('lr-nat-add', 'edge', 'snat', '198.51.100.10', '10.0.0.0/24');
    await this.#nbctl('--wait=hv', 'sync');
  }

  async #untilReady(): Promise<void> {
    for (const { namespace } of this.#machines) {
      await this.#until(`${namespace} does not reach the outside`, async () => {
        const answers = await reach(namespace, [OUTSIDE.address], 1000);
        return answers[OUTSIDE.address] !== null;
      });
    }
    for (const host of this.underlay.hosts.slice(1)) {
      await this.#until(`${host.names.name} has BFD to the gateway down`, async () => {
        const columns = ['--bare', '--columns=bfd,bfd_status', 'find', 'interface', 'options:remote_ip=172.16.0.1'];
        const shown = await host.vsctl(...columns);
        return shown.includes('min_rx=100') && shown.includes('forwarding=true') && shown.includes('state=up');
      });
    }
  }

  #nbctl(...args: ProgramCommand): Promise<string> {
    return run(['ovn-nbctl', '--no-syslog', '--timeout=50', `--db=unix:${this.#file('nb.sock')}`, ...args]);
  }

  #sbctl(...args: ProgramCommand): Promise<string> {
    return run(['ovn-sbctl', '--no-syslog', '--timeout=50', `--db=unix:${this.#file('sb.sock')}`, ...args]);
  }

  async #daemon(namespace: string, name: string, command: ProgramCommand): Promise<void> {
    const files = [`--pidfile=${this.#file(`${name}.pid`)}`, `--log-file=${this.#file(`${name}.log`)}`];
    const where = ['env', ...['OVN_RUNDIR', 'OVN_LOGDIR', 'OVS_RUNDIR'].map((one) => `${one}=${this.#folder}`)];
    await run(inNamespace(namespace, ...NICE, ...where, ...command, ...files, ...DAEMON));
  }

  async #until(complaint: string, holds: () => Promise<boolean>): Promise<void> {
    const deadlineMs = performance.now() + PATIENCE_MS;
    while (!(await holds())) {
      if (performance.now() > deadlineMs) throw new Error(`OVN: ${complaint} after ${PATIENCE_MS} ms`);
      await setTimeout(LOOK_MS);
    }
  }
}

function specFor(number: number): LabInstanceSpec {
  return {
    name: `vm${number}`,
    port: `mp${number}`,
    mac: `02:00:00:00:00:${String(10 + number)}`,
    addresses: [`10.0.0.${10 + number}/24`],
    gateways: ['10.0.0.1'],
  };
}
