import { Command } from 'commander';
import { expect, test } from 'vitest';
import { parseNic, requestBody, withRequest, type InstanceRequestOptions } from './request.ts';

async function bodyOf(...words: string[]): Promise<object> {
  const command = withRequest(new Command('create').argument('[name]').exitOverride()).action(() => undefined);
  await command.parseAsync(['--flavor', 'small', ...words], { from: 'user' });
  return requestBody(command.args[0], command.opts<InstanceRequestOptions>());
}

test.each([
  ['network=lan', { network: 'lan' }],
  ['network=lan,fixed-ip=10.0.0.9,tag=mgmt', { network: 'lan', fixedIp: '10.0.0.9', tag: 'mgmt' }],
  ['fixed-ip=fd00::9,network=lan', { network: 'lan', fixedIp: 'fd00::9' }],
  ['port=port-1,tag=a=b', { port: 'port-1', tag: 'a=b' }],
])('a nic as %s', (text, nic) => expect(parseNic(text)).toEqual(nic));

test('what-is-not-said-is-the-servers-to-say', async () => {
  expect(await bodyOf()).toEqual({ flavor: 'small' });
  expect(await bodyOf('web')).toEqual({ name: 'web', flavor: 'small' });
});

test.each([
  ['auto', 'auto'],
  ['none', 'none'],
  ['lan', [{ network: 'lan' }]],
])('--network %s', async (word, networks) => {
  expect(await bodyOf('--network', word)).toMatchObject({ networks });
});

test('nics-are-in-the-order-in-which-they-are-written', async () => {
  const words = ['--nic', 'port=p', '--network', 'lan', '--nic', 'network=wan,tag=x', '--network', 'lan'];
  expect(await bodyOf(...words)).toMatchObject({
    networks: [{ port: 'p' }, { network: 'lan' }, { network: 'wan', tag: 'x' }, { network: 'lan' }],
  });
});

test('every-option-is-a-field', async () => {
  const where = ['--site', 'north', '--zone', 'a', '--aggregate', 'x,y', '--trait', 't', '--forbidden-trait', 'u'];
  const how = ['--count', '3', '--min-count', '2', '--image', 'i', '--project', 'shop', '--attempts', '5'];
  const more = ['--group', 'g', '--host', 'c1', '--security-group', 'sg', '--deadline', '10m', '--reason', 'sale'];
  expect(await bodyOf('web', ...where, ...how, ...more)).toEqual({
    name: 'web',
    flavor: 'small',
    count: 3,
    minCount: 2,
    image: 'i',
    project: 'shop',
    site: 'north',
    zone: 'a',
    aggregates: ['x', 'y'],
    requiredTraits: ['t'],
    forbiddenTraits: ['u'],
    group: 'g',
    host: 'c1',
    securityGroups: ['sg'],
    attempts: 5,
    deadlineMs: 600_000,
    reason: 'sale',
  });
});
