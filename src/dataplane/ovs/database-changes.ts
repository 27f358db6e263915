// Changes of tunnels and external ids as database operations: those that precede the flow changes, and those that follow them. Pure.
import type { Monitor } from './ovsdb/monitor.ts';
import type { OvsdbOperation } from './ovsdb/operation.ts';
import type { SwitchChange, Tunnel } from '../switch/switch.ts';
import { bfdPortOperations, externalIdOperation, tunnelOperation } from './bridge.ts';

export type ChangeStage = 'begin' | 'end';

export function externalIdOperations(
  bridge: string,
  changes: readonly SwitchChange[],
  turn: ChangeStage,
): OvsdbOperation[] {
  const isDue = turn === 'begin' ? isStarted : isEnded;
  return changes.filter(isDue).map((change) => operationOf(bridge, change));
}

/** The BFD ports: each in its final state. */
export function bfdOperations(
  tables: Pick<Monitor, 'table'>,
  bridge: string,
  changes: readonly SwitchChange[],
  turn: ChangeStage,
): OvsdbOperation[] {
  const tunnels = changes.flatMap((change): Tunnel[] => {
    if (change.kind === 'put-tunnel') return [change.tunnel];
    return change.kind === 'remove-tunnel' ? [{ peer: change.peer, address: '' }] : [];
  });
  const last = [...new Map(tunnels.map((tunnel) => [tunnel.peer, tunnel])).values()];
  const due = last.filter(({ bfdIntervalMs }) => (bfdIntervalMs === undefined) === (turn === 'end'));
  return due.flatMap((tunnel) => bfdPortOperations(tables, bridge, tunnel));
}

function isStarted(change: SwitchChange): boolean {
  return change.kind === 'put-tunnel' || (change.kind === 'set-external-id' && change.value !== null);
}

function isEnded(change: SwitchChange): boolean {
  return change.kind === 'remove-tunnel' || (change.kind === 'set-external-id' && change.value === null);
}

function operationOf(bridge: string, change: SwitchChange): OvsdbOperation {
  switch (change.kind) {
    case 'put-tunnel':
      return tunnelOperation(bridge, change.tunnel.peer, change.tunnel.address);
    case 'remove-tunnel':
      return tunnelOperation(bridge, change.peer, null);
    case 'set-external-id':
      return externalIdOperation(bridge, change.key, change.value);
    default:
      throw new Error(`${change.kind} is no database change`);
  }
}
