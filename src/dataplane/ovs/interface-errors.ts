// Interfaces that the switch could not open: it says so in a column of the database, and forwards nothing through them. Pure.
import { TUNNEL_PORT } from '../switch/tables.ts';
import type { BfdPortError } from '../switch/switch.ts';
import { bfdInterfaceName, externalPortName, readBridgeIds, type BridgePlan } from './bridge.ts';
import type { Monitor } from './ovsdb/monitor.ts';
import { textColumn } from './ovsdb/read-column.ts';

export interface InterfaceError {
  readonly name: string;
  readonly error: string;
}

/** All of them, whoever added them, sorted by name. */
export function readInterfaceErrors(tables: Pick<Monitor, 'table'>): InterfaceError[] {
  const failed = [...tables.table('Interface').values()].flatMap((row) => {
    const error = textColumn(row, 'error');
    return error === undefined ? [] : [{ name: textColumn(row, 'name') ?? '', error }];
  });
  return failed.sort((one, other) => (one.name < other.name ? -1 : 1));
}

/**
 * Those that the whole host depends on: the tunnel port and the external port. The interface of an instance or of a stranger, or the BFD
 * port of one peer, says nothing about the switch.
 */
export function findUplinkErrors(tables: Pick<Monitor, 'table'>, plan: BridgePlan): InterfaceError[] {
  const uplinks = [TUNNEL_PORT.slice(1, -1), externalPortName(tables, plan)];
  return readInterfaceErrors(tables).filter(({ name }) => uplinks.includes(name));
}

/** Those of BFD, each of which concerns one peer. */
export function findBfdPortErrors(
  tables: Pick<Monitor, 'table'>,
  { bridge }: Pick<BridgePlan, 'bridge'>,
): BfdPortError[] {
  const errors = new Map(readInterfaceErrors(tables).map(({ name, error }) => [name, error]));
  if (errors.size === 0) return [];
  return readBridgeIds(tables, bridge).tunnels.flatMap(({ peer }) => {
    const name = bfdInterfaceName(peer);
    const error = errors.get(name);
    return error === undefined ? [] : [{ peer, name, error }];
  });
}
