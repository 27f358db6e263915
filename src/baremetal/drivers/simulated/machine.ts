// What a simulated machine makes of a call. It refuses an older epoch and another instance without effect, and a call that it carried out already does
// nothing. Work that takes time is over by the clock: nothing has to run for it.
import type { Reason } from '../../../fleet/index.ts';
import type { MachineAction, MachineCall, MachineOutcome, MachineStatus } from '../inventory.ts';
import { PORTS_MAX, type Machine, type MachineFault } from './model.ts';
import type { SimulatedInventorySettings } from './settings.ts';

/** One that was not called yet. */
export const NEW_MACHINE: Machine = { epoch: 0, state: 'empty', power: 'off', ports: [] };

/** The machine as it is by now. */
export function settleMachine(machine: Machine, nowMs: number): Machine {
  const { state, doneAtMs, fails } = machine;
  if ((state !== 'deploying' && state !== 'cleaning') || doneAtMs === undefined || nowMs < doneAtMs) return machine;
  const { doneAtMs: _, fails: __, ...rest } = machine;
  if (fails === true) return { ...rest, state: 'failed' };
  if (state === 'deploying') return { ...rest, state: 'deployed', power: 'on' };
  return { epoch: machine.epoch, state: 'empty', power: 'off', ports: [] };
}

export function statusOfMachine(machine: Machine, nowMs: number): MachineStatus {
  const { state, power, instance } = settleMachine(machine, nowMs);
  return { state, power, ...(instance !== undefined && { instance }) };
}

export interface CallConditions {
  readonly settings: SimulatedInventorySettings;
  readonly nowMs: number;
  /** The fault that is armed for it. */
  readonly fault?: Pick<MachineFault, 'outcome' | 'delayMs'> | undefined;
}

export interface MachineEffect {
  /** The same object when nothing has changed. */
  readonly machine: Machine;
  readonly outcome: MachineOutcome;
}

export type MachineRequest = Pick<MachineCall, 'node' | 'nodeEpoch' | 'instance' | 'action' | 'args'>;

export function callMachine(before: Machine, call: MachineRequest, conditions: CallConditions): MachineEffect {
  const machine = settleMachine(before, conditions.nowMs);
  const { settings, fault } = conditions;
  const isOld = settings.checksEpochs && call.nodeEpoch < machine.epoch;
  const isForeign = machine.instance !== undefined && machine.instance !== call.instance;
  if (isOld || isForeign) return { machine: before, outcome: { kind: 'stale' } };
  if (fault?.outcome === 'unavailable') return failWith(before, { code: 'machine-unavailable', node: call.node });
  const epoch = Math.max(machine.epoch, call.nodeEpoch);
  const { machine: after, outcome } = carryOut({ ...machine, epoch }, call, conditions);
  return { machine: outcome.kind === 'stale' ? before : after, outcome };
}

function carryOut(machine: Machine, call: MachineRequest, conditions: CallConditions): MachineEffect {
  switch (call.action) {
    case 'deploy':
      return deploy(machine, call, conditions);
    case 'clean':
      return clean(machine, conditions);
    case 'power-on':
    case 'power-off':
    case 'reboot':
      return switchPower(machine, { ...call, action: call.action }, conditions);
    case 'connect':
    case 'disconnect':
      return connect(machine, { ...call, action: call.action }, conditions);
  }
}

/** A deploy that is under way or done is not begun again. One that failed has to be cleaned first. */
function deploy(machine: Machine, { node, instance, args }: MachineRequest, conditions: CallConditions): MachineEffect {
  switch (machine.state) {
    case 'deploying':
    case 'deployed':
      return { machine, outcome: { kind: 'already' } };
    case 'cleaning':
      return failWith(machine, { code: 'machine-busy', node, state: machine.state });
    case 'failed':
      return failWith(machine, { code: 'deploy-failed', node });
    case 'empty': {
      const { image } = args;
      const begun = { ...machine, instance, ...(typeof image === 'string' && { image }) };
      return apply(begin(begun, 'deploying', conditions.settings.deployMs, conditions));
    }
  }
}

/** Also what is being deployed: whoever cleans has waited for that, or has given it up. */
function clean(machine: Machine, conditions: CallConditions): MachineEffect {
  switch (machine.state) {
    case 'cleaning':
      return { machine, outcome: { kind: 'already' } };
    case 'empty':
      return machine.instance === undefined
        ? { machine, outcome: { kind: 'already' } }
        : apply({ epoch: machine.epoch, state: 'empty', power: 'off', ports: [] });
    default:
      return apply(begin(machine, 'cleaning', conditions.settings.cleanMs, conditions));
  }
}

function begin(
  { doneAtMs: _, fails: __, ...machine }: Machine,
  state: 'deploying' | 'cleaning',
  takesMs: number,
  { nowMs, fault }: CallConditions,
): Machine {
  const doneAtMs = nowMs + takesMs + (fault?.delayMs ?? 0);
  if (fault?.outcome === 'hang') return { ...machine, state };
  return { ...machine, state, doneAtMs, ...(fault?.outcome === 'failed' && { fails: true }) };
}

type MachinePowerAction = Extract<MachineAction, 'power-on' | 'power-off' | 'reboot'>;

function switchPower(
  machine: Machine,
  { node, action, args }: MachineRequest & { readonly action: MachinePowerAction },
  { settings, fault }: CallConditions,
): MachineEffect {
  const takesMs = settings.powerMs + (fault?.delayMs ?? 0);
  if (fault?.outcome === 'failed') return failWith(machine, { code: 'power-failed', node, action });
  const power = action === 'power-off' ? 'off' : 'on';
  const task = typeof args['task'] === 'string' ? args['task'] : undefined;
  const isDone = action === 'reboot' ? task !== undefined && machine.rebootedFor === task : machine.power === power;
  if (isDone) return { machine, outcome: { kind: 'already' } };
  return apply({ ...machine, power, ...(task !== undefined && action === 'reboot' && { rebootedFor: task }) }, takesMs);
}

function connect(
  machine: Machine,
  { node, action, args }: MachineRequest & { readonly action: 'connect' | 'disconnect' },
  { fault }: CallConditions,
): MachineEffect {
  if (fault?.outcome === 'failed') return failWith(machine, { code: 'connect-failed', node });
  const ports = action === 'connect' ? portsOf(args['ports']) : [];
  if (ports === undefined) return failWith(machine, { code: 'connect-failed', node });
  if (ports.join() === machine.ports.join()) return { machine, outcome: { kind: 'already' } };
  return apply({ ...machine, ports }, fault?.delayMs ?? 0);
}

/** `port-1:3`: the port, and the serial of its binding; undefined for what names no ports, or more than a machine has. */
function portsOf(ports: unknown): string[] | undefined {
  if (ports === undefined) return [];
  if (!Array.isArray(ports) || ports.length > PORTS_MAX || !ports.every(isPort)) return undefined;
  return ports.map(({ port, serial }) => `${port}:${String(serial)}`);
}

function isPort(value: unknown): value is { readonly port: string; readonly serial?: unknown } {
  return typeof value === 'object' && value !== null && 'port' in value && typeof value.port === 'string';
}

function apply(machine: Machine, takesMs?: number): MachineEffect {
  return { machine, outcome: { kind: 'applied', ...(takesMs !== undefined && takesMs > 0 && { facts: { takesMs } }) } };
}

function failWith(machine: Machine, reason: Reason): MachineEffect {
  return { machine, outcome: { kind: 'failed', reason } };
}
