// The reasons of bare metal in words: each says what is wrong and what to do.
import type { ReasonSentences } from '../operations/index.ts';

export const baremetalSentences: ReasonSentences = {};
