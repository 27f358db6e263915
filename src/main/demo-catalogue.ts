// The demonstration's objects beside hosts, so that instances can be created at once: three flavors, a plain network with a router to an
// external one, and a routed one with a segment in each site. Pure: returns every document that is missing.
import { idOf, runTrial, put, type Change, type FleetReader } from '../fleet/index.ts';
import { FLAVOR, type Flavor } from '../instances/index.ts';
import { createRouter, NETWORK, SEGMENT, SUBNET, type Network, type Segment, type Subnet } from '../network/index.ts';
import { FIRST_SITE } from '../sites/index.ts';
import { DEMO_SITE } from './demo-hosts.ts';

const FLAVORS: readonly Pick<Flavor, 'name' | 'vcpus' | 'memoryMiB' | 'diskGiB'>[] = [
  { name: 'small', vcpus: 2, memoryMiB: 4096, diskGiB: 20 },
  { name: 'medium', vcpus: 4, memoryMiB: 16_384, diskGiB: 50 },
  { name: 'large', vcpus: 16, memoryMiB: 65_536, diskGiB: 200 },
];

/** The external network. */
const EXTERNAL = 'external';

const NETWORKS = ['lan', 'routed', EXTERNAL];

/** What the router of the demonstration has in front of it. */
const ROUTER = { name: 'edge', subnets: ['lan'], externalNetwork: EXTERNAL };

/** Of the routed network: one per site, on the physical network that its hosts report. */
const SEGMENTS = [FIRST_SITE, DEMO_SITE.name].map((site, at) => ({ name: `routed-${site}`, site, octet: 20 + at }));

interface ChangeAuthor {
  readonly changedBy: string;
  readonly changedAtMs: number;
}

export function demoCatalogue(fleet: FleetReader, changed: ChangeAuthor): Change[] {
  const wanted = [...flavors(changed), ...networks(changed), ...segments(changed), ...subnets(changed)];
  const missing = wanted.filter(
    ({ kind, id }) => fleet.get({ name: kind, check: () => undefined }, id as never) === undefined,
  );
  return [...missing, ...router(fleet, missing, changed)];
}

/** A way out for the plain network: so there are services to look at as soon as something runs on it. */
function router(
  fleet: FleetReader,
  missing: readonly Change[],
  { changedBy: by, changedAtMs: nowMs }: ChangeAuthor,
): readonly Change[] {
  return runTrial(fleet, (trial) => {
    trial.add(missing);
    const made = createRouter(trial, { ...ROUTER, portId: 'port-demo-edge', admin: true, by, nowMs });
    // There is one with that name already.
    return made.kind === 'accept' ? made.changes : [];
  });
}

function flavors(changed: ChangeAuthor): Change[] {
  return FLAVORS.map((size) => {
    const flavor: Flavor = { ...size, requiredTraits: [], forbiddenTraits: [], ...changed };
    return put(FLAVOR, idOf(FLAVOR, size.name), flavor);
  });
}

function networks(changed: ChangeAuthor): Change[] {
  return NETWORKS.map((name) => {
    const external = name === EXTERNAL;
    const facts = { backEnd: 'embedded', shared: !external, external, portSecurity: true } as const;
    const network: Network = { name, project: 'default', ...facts, ...changed };
    return put(NETWORK, idOf(NETWORK, name), network);
  });
}

function segments(changed: ChangeAuthor): Change[] {
  return SEGMENTS.map(({ name, site }) => {
    const segment: Segment = {
      name,
      network: 'routed',
      type: 'flat',
      physicalNetwork: site,
      dynamic: false,
      ...changed,
    };
    return put(SEGMENT, idOf(SEGMENT, name), segment);
  });
}

function subnets(changed: ChangeAuthor): Change[] {
  const routed = SEGMENTS.map(({ name, octet }) =>
    subnet(name, `10.${octet}`, { network: 'routed', segment: name }, changed),
  );
  return [
    subnet('lan', '10.10', { network: 'lan', dhcp: true }, changed),
    subnet(EXTERNAL, '198.18', { network: EXTERNAL }, changed),
    ...routed,
  ];
}

function subnet(
  name: string,
  prefix: string,
  on: Pick<Subnet, 'network' | 'segment' | 'dhcp'>,
  changed: ChangeAuthor,
): Change {
  const pools = [{ first: `${prefix}.0.2`, last: `${prefix}.255.254` }];
  const form = { cidr: `${prefix}.0.0/16`, version: 4 as const, gateway: `${prefix}.0.1`, pools };
  return put(SUBNET, idOf(SUBNET, name), { name, ...on, ...form, ...changed });
}
