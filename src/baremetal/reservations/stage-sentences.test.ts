// The sentences of every stage, with and without a requirement there.
import { expect, test } from 'vitest';
import { MATCH_STAGES } from '../model.ts';
import { reserveCommand, type BodyFields } from './reservations-fixture.ts';
import { demandOf, noMatch, stageSentences } from './stage-sentences.ts';

const STAGES = MATCH_STAGES.map((stage, nth) => ({ stage, left: 100 - 10 * nth }));
const sentences = (fields: BodyFields, project?: string): string[] =>
  stageSentences(STAGES, demandOf(reserveCommand(fields).request, project));

test('all-that-can-be-requested', () => {
  const fields: BodyFields = {
    memory_mb: 1024,
    vcpus: 8,
    root_gb: 20,
    extra_specs: {
      'resources:CUSTOM_GOLD': '1',
      'trait:HW_GPU': 'required',
      'trait:OLD': 'forbidden',
      capabilities: 'has_gpu,boot:uefi',
      'capabilities:a': '= 8',
      'capabilities:b': 's< x',
      'capabilities:c': '<in> y',
      'capabilities:d': '<all-in> p q',
      'capabilities:e': '<or> r <or> s',
    },
    image: { properties: { architecture: 'x86_64' } },
    physical_networks: ['p1', 'p2'],
    candidate_nodes: ['n1', 'n2'],
  };
  expect(sentences(fields, 'acme')).toMatchInlineSnapshot(`
    [
      "100 of 2 are enrolled.",
      "90 of 100 are free: available, with a known power state, in no maintenance, and nobody has or claims them.",
      "80 of 90 are of resource class CUSTOM_GOLD.",
      "70 of 80 have at least 1024 MiB of memory, 8 processors, 20 GiB of disk.",
      "60 of 70 have the traits HW_GPU and have none of OLD.",
      "50 of 60 have the capabilities has_gpu (or the trait CUSTOM_HAS_GPU), boot "uefi", a = 8, b s< x, c with "y" in it, d with all of p q, e one of r s.",
      "40 of 50 have the architecture x86_64.",
      "30 of 40 are open to project "acme".",
      "20 of 30 are wired to p1, p2.",
      "10 of 20 are left: the others were taken meanwhile, could not be connected, or a try on them has failed.",
    ]
  `);
});

test('nothing-requested', () => {
  expect(sentences({})).toMatchInlineSnapshot(`
    [
      "There are 100 nodes.",
      "90 of 100 are free: available, with a known power state, in no maintenance, and nobody has or claims them.",
      "80 of 90: nothing was asked for here.",
      "70 of 80: nothing was asked for here.",
      "60 of 70: nothing was asked for here.",
      "50 of 60: nothing was asked for here.",
      "40 of 50: nothing was asked for here.",
      "30 of 40 are set aside for no project.",
      "20 of 30: nothing was asked for here.",
      "10 of 20 are left: the others were taken meanwhile, could not be connected, or a try on them has failed.",
    ]
  `);
  expect(sentences({ build: 'op.i1' })[8]).toBe('20 of 30 are wired to where the instance is to be connected.');
});

test('the-refusal-says-where-the-last-were-lost', () => {
  const stages = [
    { stage: 'candidates', left: 3 },
    { stage: 'state', left: 0 },
  ] as const;
  expect(noMatch('i1', stages, demandOf(reserveCommand().request, undefined))).toMatchObject({
    code: 'no-match',
    facts: { stage: 'state' },
    message: expect.stringMatching(/^No node for instance "i1": 0 of 3 are free: .* Request less, or /) as string,
  });
});
