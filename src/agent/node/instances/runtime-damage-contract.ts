// What every instance runtime has to hold when its record is damaged or gone: it removes nothing, and says so.
import { expect, test } from 'vitest';
import { StateDamaged } from '../ports.ts';
import type { StateMemoryDisk } from '../state/memory-disk.ts';
import { build, destroy } from './instance-tasks-fixture.ts';
import { BrokenDisk, callFor, performTask, spec, withTwo, type RuntimeMachine } from './runtime-bench-fixture.ts';

/** What may become of a file, and of the one before it. */
const DAMAGES: readonly (readonly [string, (disk: StateMemoryDisk, text: string) => Promise<void>])[] = [
  ['cut-off', (disk, text) => disk.write('machine', text.slice(0, text.length / 2))],
  ['empty', (disk) => disk.write('machine', '')],
  ['changed-and-still-readable', (disk, text) => disk.write('machine', text.replace('"i1"', '"i7"'))],
  ['whole-but-for-its-checksum', (disk, text) => disk.write('machine', text.replace('"sha256"', '"sha257"'))],
  ['something-else', (disk) => disk.write('machine', '{"instances":[{"id":1}],"sent":[]}')],
  ['of-another-kind', (disk) => disk.write('machine', '[]')],
  ['gone', async (disk) => disk.remove('machine')],
  [
    'gone-with-the-version-before-it',
    async (disk) => {
      disk.remove('machine');
      disk.remove('machine-previous');
    },
  ],
];

export function damageContract(make: () => RuntimeMachine): void {
  test.each(DAMAGES)('removes-nothing-and-says-so-when-its-file-is-%s', async (_name, damage) => {
    const bench = await withTwo(make);
    const text = (await bench.disk.read('machine')) ?? '';
    const ran = await bench.machine.running();
    await damage(bench.disk, text);
    await expect(bench.restart()).rejects.toThrow(StateDamaged);
    expect(await bench.runtime.conditions()).toEqual([]);
    for (const kind of ['build', 'destroy', 'prepare']) {
      const performed = await performTask(bench.runtime, kind, kind === 'destroy' ? destroy('i1') : build('i1'));
      // Whether it runs is not known.
      expect(performed.facts).toEqual({ fault: 'state-damaged' });
    }
    expect(await bench.machine.running()).toEqual(ran);
    // The file is brought back by whoever has a copy.
    await bench.disk.write('machine', text);
    await bench.runtime.open();
    expect(await bench.running()).toEqual(['i1', 'i2']);
  });

  test('reads-a-file-of-before-checksums', async () => {
    const bench = await withTwo(make);
    const { sha256: _, ...older } = JSON.parse((await bench.disk.read('machine')) ?? '') as { sha256: string };
    const disk = new BrokenDisk();
    await disk.write('machine', JSON.stringify(older));
    const upgraded = bench.machine.start(disk);
    await upgraded.open();
    expect(upgraded.instances).toEqual(bench.runtime.instances);
    await upgraded.destroy('i1', callFor('t9'));
    expect(await disk.read('machine')).toContain('"sha256"');
  });

  test('takes-the-version-before-for-what-is-really-there-when-it-is-told-to-recover', async () => {
    const bench = await withTwo(make);
    // The version before does not know of this one.
    await bench.runtime.build(spec('i3'), callFor('t3'));
    const ran = await bench.machine.running();
    await bench.disk.write('machine', '{');
    bench.runtime = bench.machine.start(bench.disk);
    await bench.runtime.recover();
    expect(bench.states()).toEqual(['i1 running', 'i2 running']);
    expect(await bench.machine.running()).toEqual(ran);
    expect(await bench.runtime.findStrays()).toEqual(ran === undefined ? [] : ['i3']);
    await bench.restart();
    expect(bench.states()).toEqual(['i1 running', 'i2 running']);
  });

  test('changes-nothing-by-recovering-when-nothing-is-wrong', async () => {
    const bench = await withTwo(make);
    const before = [await bench.disk.read('machine'), bench.states()];
    bench.runtime = bench.machine.start(bench.disk);
    await bench.runtime.recover();
    expect([await bench.disk.read('machine'), bench.states()]).toEqual(before);
  });
}
