// Small fleets for the tests of this module: hosts, claims, segments with addresses, and requests, in compact form.
import { Fleet, idOf, put, Registry, SETTING, type Change, type Id } from '../fleet/index.ts';
import { HOST, hostsModel, type Host } from '../hosts/index.ts';
import {
  CLAIM,
  claimId,
  networkModel,
  SEGMENT,
  SUBNET,
  type Claim,
  type NicRequirements,
  type PoolChoice,
} from '../network/index.ts';
import { sitesModel } from '../sites/index.ts';
import { schedulerModel } from './model.ts';
import type { Amounts, ScheduleRequest } from './request.ts';
import { SCHEDULER, SPREADING, type SchedulerSettings, type Weights } from './settings.ts';

const BY = { changedBy: 'test', changedAtMs: 0 };

export function newFleet(...changes: readonly Change[]): Fleet {
  const fleet = new Fleet(new Registry([{ kinds: [SETTING] }, sitesModel, hostsModel, networkModel, schedulerModel]));
  if (changes.length > 0) fleet.apply(1, changes);
  return fleet;
}

export function commit(fleet: Fleet, ...changes: readonly Change[]): void {
  fleet.apply(fleet.revision + 1, changes);
}

export interface HostShape extends Partial<Omit<Host, 'capacity'>> {
  readonly vcpus?: number;
  readonly memoryMiB?: number;
  readonly diskGiB?: number;
  readonly ratios?: Host['capacity']['ratios'];
}

export function host(id: string, shape: HostShape = {}): Change {
  const { vcpus = 16, memoryMiB = 16_384, diskGiB = 100, ratios = { vcpus: 1, memory: 1, disk: 1 }, ...facts } = shape;
  const doc: Host = {
    name: id,
    site: 'central',
    zone: 'z1',
    aggregates: [],
    traits: [],
    physicalNetworks: [],
    baseWeight: 0,
    state: 'active',
    connection: { state: 'up', sinceMs: 0 },
    serviceVersion: 3,
    ...BY,
    ...facts,
    capacity: { vcpus, memoryMiB, diskGiB, ratios },
  };
  return put(HOST, idOf(HOST, id), doc);
}

export function claim(instance: string, at: string, shape: Partial<Claim> = {}): Change {
  const role = shape.role ?? 'home';
  const doc: Claim = {
    instance,
    role,
    host: at,
    vcpus: 1,
    memoryMiB: 1024,
    diskGiB: 1,
    addresses: [],
    sinceMs: 0,
    ...shape,
  };
  return put(CLAIM, claimId(instance, role), doc);
}

/** A segment with a subnet of this many free addresses, on a physical network that has its name. */
export function segment(id: string, network: string, free: number, nth = 0): Change[] {
  const last = `10.${nth}.0.${free}`;
  const pools = free === 0 ? [] : [{ first: `10.${nth}.0.1`, last }];
  const facts = { name: id, network, ...BY };
  return [
    put(SEGMENT, id as Id<'segment'>, { ...facts, type: 'vlan', physicalNetwork: `p-${id}`, dynamic: false }),
    put(SUBNET, `${id}-v4` as Id<'subnet'>, { ...facts, segment: id, cidr: `10.${nth}.0.0/24`, version: 4, pools }),
  ];
}

/** A choice of a NIC: an address of this segment. */
export function choice(segmentId: string, shape: Partial<PoolChoice> = {}): PoolChoice {
  return { pool: `segment:${segmentId}`, physicalNetwork: `p-${segmentId}`, takes: [4], ...shape };
}

export function nic(network: string, ...choices: readonly PoolChoice[]): NicRequirements {
  return { network, choices };
}

const SMALL: Amounts = { vcpus: 1, memoryMiB: 1024, diskGiB: 1 };

export function request(shape: Partial<ScheduleRequest> = {}): ScheduleRequest {
  return { amounts: SMALL, nics: [], ...shape };
}

export function settings(weights: Partial<Weights>, shape: Partial<SchedulerSettings> = {}): Change {
  const value = { ...SCHEDULER.defaultValue, ...shape, weights: { ...SPREADING, ...weights } };
  return put(SETTING, SCHEDULER.name, { value, ...BY });
}
