// Names that keep a retired word are needed, and the glossary has every retired word.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { KEPT_NAMES } from '../../scripts/lint/kept-names.ts';
import { RETIRED_WORDS, wordsOf } from '../../scripts/lint/vocabulary.ts';
import { ROOT } from './scratch.ts';

const files = ['src', 'sim', 'test', 'bench', 'lab', 'scripts']
  .flatMap((area) => globSync(`${area}/**/*.{ts,js}`, { cwd: ROOT }))
  .filter((path) => !path.startsWith('scripts/lint/'));

/** Rules about names do not hold for prose. */
const COMMENT_OR_STRING = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'/g;

test('every-kept-name-is-still-there: take the others out of scripts/lint/kept-names.ts', () => {
  const texts = files.map((path) => {
    return { path, text: readFileSync(join(ROOT, path), 'utf8').replaceAll(COMMENT_OR_STRING, ' ') };
  });
  const stale = KEPT_NAMES.flatMap(({ name, paths }) => {
    const used = new RegExp(`\\b${name}\\b`);
    const isUsed = (prefix: string): boolean =>
      texts.some(({ path, text }) => path.startsWith(prefix) && used.test(text));
    return paths.filter((prefix) => !isUsed(prefix)).map((prefix) => `${name} in ${prefix}`);
  });
  expect(stale).toEqual([]);
});

test('every-kept-name-has-a-retired-word', () => {
  const retired = RETIRED_WORDS.map(({ words }) => ` ${words} `);
  const fine = KEPT_NAMES.filter(
    ({ name }) => !retired.some((words) => ` ${wordsOf(name).join(' ')} `.includes(words)),
  );
  expect(fine.map(({ name }) => name)).toEqual([]);
});

test('every-retired-word-is-in-the-glossary', () => {
  const glossary = readFileSync(join(ROOT, 'docs/glossary.md'), 'utf8').toLowerCase();
  expect(RETIRED_WORDS.filter(({ words }) => !glossary.includes(words)).map(({ words }) => words)).toEqual([]);
});

/** Phrases that have no other meaning in this program, so that comments, titles and sentences can be held to them, too. */
const RETIRED_PHRASES =
  /\b(?:(?:un)?heard|hears?|hearing|deaf(?:ness)?|errands?|outcast|hand-overs?|in line with|vouch(?:es|ed|ing)?|decree|(?:giv(?:e|es|en|ing)|gave)[ -]up|(?:lets?|letting)[ -]go of|(?:nobody|somebody|everybody)[ -](?:does|decides|else|knows|waits)|told[ -]of|told to leave)\b/i;
/** Words of version 0.1.0 in stores and on the wire, ids made of them, and cases of the rules themselves. */
const FORMER =
  /\.hand-overs|operation:hand-over|hand-over-\$|'hand-over'|'unheard'|unheardPeers|vouched-off|target-unheard|(?:held-while|not)-heard|given-up'|leave-given-up|{ heard: /;

test('comments-and-strings-have-no-retired-phrase', () => {
  const exempt =
    /migrations?[.-]|lint-(?:name-)?cases|former-store|wire-words|test\/fixtures|vocabulary\.test|retired-prose|docs\/(?:glossary|upgrading)\.md/;
  const found = [...files, ...globSync(['README.md', 'docs/**/*.md'], { cwd: ROOT })]
    .filter((path) => !exempt.test(path))
    .flatMap((path) =>
      readFileSync(join(ROOT, path), 'utf8')
        .split('\n')
        .flatMap((line, at) =>
          RETIRED_PHRASES.test(line) && !FORMER.test(line) ? [`${path}:${at + 1} ${line.trim()}`] : [],
        ),
    );
  expect(found).toEqual([]);
});

/** In comments, where the field says request, report, notify, continue, detect, know, require, and names who does it. */
const EVERYDAY_WORDS =
  /\b(?:ask(?:s|ed|ing)?|tell(?:s|ing)?|told|(?:no|some|any|every)body|(?:go(?:es|ing)?|went) on|hears?|heard|knows of|knew|want(?:s|ed)?)\b/i;
const COMMENT = /(?<=^|[\s;{,(])(?:\/\/ [^\n]*|\/\*[\s\S]*?\*\/)/g;
/** Code, and what others said. */
const QUOTED = /`[^`]*`|"[^"]*"/g;

test('comments-have-the-words-of-the-field', () => {
  const found = files
    .filter((path) => !path.includes('vocabulary.test'))
    .flatMap((path) =>
      (readFileSync(join(ROOT, path), 'utf8').match(COMMENT) ?? [])
        .map((comment) => comment.replaceAll(QUOTED, ''))
        .filter((comment) => EVERYDAY_WORDS.test(comment))
        .map((comment) => `${path} ${comment.replaceAll(/\s+/g, ' ')}`),
    );
  expect(found).toEqual([]);
});
