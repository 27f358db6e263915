// Requests and flavors on bare metal: what is refused, by which code, and what a preview says.
import { describe, expect, test } from 'vitest';
import type { CreateInstances, Flavor } from '../../instances/index.ts';
import { flavor } from '../../instances/reference-fixture.ts';
import { put } from '../../fleet/index.ts';
import { network, subnet } from '../../network/network-fixture.ts';
import { fixtureN, metal, NodesWorld } from './nodes-world-fixture.ts';
import { flavorProblem } from './request-problem.ts';

const GROUP = put({ name: 'group', check: () => undefined }, 'g' as never, {
  ...{ name: 'g', project: 'default', policy: 'anti-affinity', changedBy: 'x', changedAtMs: 0 },
});
const LAN = [network('lan'), subnet('lan', 'lan', '192.168.7.0/24'), network('sim', { backEnd: 'simulated' })];
const SIM = subnet('sim', 'sim', '192.168.8.0/24');

describe('a request is refused', () => {
  test.each<[string, Partial<CreateInstances>, object]>([
    ['a-server-group', { place: { group: 'g' } }, { code: 'unsupported-on-bare-metal', field: '/group' }],
    ['a-host', { place: { onlyHost: 'h1' } }, { code: 'unsupported-on-bare-metal', field: '/host' }],
    ['a-zone', { place: { zone: 'a' } }, { code: 'unsupported-on-bare-metal', field: '/zone' }],
    ['aggregates', { place: { aggregates: ['x'] } }, { code: 'unsupported-on-bare-metal', field: '/aggregates' }],
    [
      'a-minimum',
      { count: 2, minCount: 1, isMinimumNamed: true },
      { code: 'unsupported-on-bare-metal', field: '/minCount' },
    ],
    ['a-plain-network', { networks: [{ network: 'lan' }] }, { code: 'network-not-wired', field: '/networks/0' }],
    ['another-back-end', { networks: [{ network: 'sim' }] }, { code: 'back-end-without-nodes', field: '/networks/0' }],
    [
      'an-image-that-forbids',
      { imageProperties: { 'trait:GPU': 'forbidden' } },
      { code: 'node-requirement-malformed', field: '/imageProperties/trait:GPU' },
    ],
    [
      'a-file-of-the-inventory',
      { image: 'file:///etc/ironic/ironic.conf' },
      { code: 'image-unsupported', field: '/image' },
    ],
    ['an-image-with-a-password', { image: 'http://a:b@images/x' }, { code: 'image-unsupported', field: '/image' }],
    [
      'a-kernel-that-is-a-file',
      { imageProperties: { kernel: 'file:///etc/shadow' } },
      { code: 'node-requirement-malformed', field: '/imageProperties/kernel' },
    ],
    [
      'a-trait-that-the-image-requires',
      { place: { forbiddenTraits: ['GPU'] }, imageProperties: { 'trait:GPU': 'required' } },
      { code: 'node-requirement-malformed' },
    ],
  ])('%s', async (_name, facts, refusal) => {
    const world = await NodesWorld.of([...fixtureN(), GROUP, ...LAN, SIM]);
    const { revision } = world.fleet;
    expect(await world.refuse(facts)).toMatchObject(refusal);
    expect(await world.preview(facts)).toMatchObject(refusal);
    expect(world.fleet.revision).toBe(revision);
  });

  test('and-its-sentence-says-what-to-do', async () => {
    const world = await NodesWorld.of([...fixtureN(), GROUP]);
    expect((await world.refuse({ place: { group: 'g' } })).message).toBe(
      'Instances on bare metal take no "group": a server group counts hosts, and each has a machine of its own. Leave it out, or choose a flavor that is built on hosts.',
    );
  });
});

describe('a flavor is refused', () => {
  const problem = (bareMetal: Flavor['bareMetal'], facts: Partial<Flavor> = {}) =>
    flavorProblem(flavor('f', { ...facts, bareMetal: bareMetal ?? {} }).doc as Flavor);

  test.each<[string, Record<string, string>, string, string]>([
    ['an-operator', { 'capabilities:disks': '> 2' }, '/bareMetal/extraSpecs/capabilities:disks', 'must'],
    ['a-value', { 'trait:GPU': 'maybe' }, '/bareMetal/extraSpecs/trait:GPU', 'must be "required" or "forbidden"'],
    ['an-amount', { 'resources:CUSTOM_GPU': '2' }, '/bareMetal/extraSpecs/resources:CUSTOM_GPU', 'must be "1"'],
  ])('malformed: %s', (_name, extraSpecs, field, words) => {
    const found = problem({ extraSpecs });
    expect(found).toMatchObject({ code: 'node-requirement-malformed', field });
    expect(found?.message).toContain(words);
  });

  test('counted-resources, which-no-node-has', () => {
    expect(problem({}, { resources: { gpu: 1 } })).toMatchObject({
      code: 'resources-unsupported',
      field: '/resources',
    });
  });

  test('and-taken-otherwise, with-keys-that-mean-nothing', () => {
    expect(problem({ extraSpecs: { 'resources:CUSTOM_GPU': '1', 'hw:cpu_policy': 'dedicated' } })).toBeUndefined();
  });
});

describe('a preview', () => {
  test('says-how-many-would-find-a-node, and-changes-nothing', async () => {
    const world = await NodesWorld.of(fixtureN(['seg0', 'seg2']), ['m1', 'm2']);
    const { revision } = world.fleet;
    expect(await world.preview({ count: 2 })).toEqual({
      placed: [
        { name: 'db-1', manager: 'm1', pools: [] },
        { name: 'db-2', manager: 'm2', pools: [] },
      ],
    });
    expect(world.fleet.revision).toBe(revision);
  });

  test('says-what-is-left-after-each-stage-when-not-all-would', async () => {
    const world = await NodesWorld.of([...fixtureN(['seg0']), metal('huge', { ephemeralGiB: 9000 })]);
    const preview = await world.preview({ flavor: 'huge' });
    expect(preview).toMatchObject({ placed: [] });
    expect('nodes' in preview && preview.nodes).toContainEqual({ stage: 'sizes', left: 0 });
    expect(await world.preview({ count: 2 })).toMatchObject({ placed: [{ name: 'db-1' }] });
  });

  test('finds-none-without-a-manager', async () => {
    const world = await NodesWorld.of(fixtureN(), []);
    expect(await world.preview({})).toMatchObject({ placed: [] });
  });
});
