import { expect, test } from 'vitest';
import { hostCommands, sharedCommands } from './links-plan.ts';
import { hostNames, idOfFolder, idOfNamespace, labNames } from './names.ts';

const lab = labNames('a1b2');

test('a-lab-is-found-by-the-names-of-its-parts', () => {
  expect(idOfFolder(lab.folder.slice('/tmp/'.length))).toBe('a1b2');
  expect(idOfNamespace(hostNames(lab, 7).namespace)).toBe('a1b2');
  for (const other of ['mu-a1b2.txt', 'mu-a1b', 'xmu-a1b2', 'mu-A1B2']) expect(idOfFolder(other)).toBeUndefined();
  for (const other of ['mua1b2', 'mua1b2x-h1', 'h1', 'mo123-1']) expect(idOfNamespace(other)).toBeUndefined();
});

test.each([
  [1, '172.16.0.1', '02:bb:00:00:00:01'],
  [250, '172.16.0.250', '02:bb:00:00:00:fa'],
  [251, '172.16.1.1', '02:bb:00:00:01:01'],
  [62_500, '172.16.249.250', '02:bb:00:00:f9:fa'],
])('host-%i-has-an-address-of-its-own', (number, address, mac) => {
  expect(hostNames(lab, number)).toMatchObject({ tunnelAddress: address, tunnelMac: mac });
});

test('sockets-have-short-names-and-interfaces-too', () => {
  const host = hostNames(lab, 62_500);
  expect(`${host.folder}/br-int.mgmt`.length).toBeLessThan(107);
  expect(host.externalLink.length).toBeLessThan(16);
});

test('no-interface-is-ever-made-where-the-lab-was-started', () => {
  const commands = [...sharedCommands(lab), ...hostCommands(lab, hostNames(lab, 1))];
  const links = commands.filter((command) => command.includes('link') && command.includes('add'));
  expect(links).toHaveLength(4);
  for (const link of links)
    expect(link.includes('-n') || link.filter((word) => word === 'netns').length === 2).toBe(true);
});
