// Texts that have to fit into a document. They are cut between sentences or words, and what was left out is marked: a text that stops in the
// middle reads as if something were missing in it.

const OMISSION = ' …';

/** The text, with at most so many characters: as many whole sentences as fit, or as many words where one sentence is most of it. */
export function shortenText(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const kept = text.slice(0, lengthMax - OMISSION.length + 1);
  // Most of the room is used: one short sentence at the beginning does not stand for all of it.
  const enough = lengthMax / 2;
  const sentenceEnd = kept.lastIndexOf('. ') + 1;
  const wordEnd = kept.lastIndexOf(' ');
  const end = sentenceEnd > enough ? sentenceEnd : wordEnd > enough ? wordEnd : kept.length - 1;
  return `${trimHalfCharacter(kept.slice(0, end))}${OMISSION}`;
}

/** A character outside the basic plane is two code units, and half of one is none. */
function trimHalfCharacter(text: string): string {
  return /[\uD800-\uDBFF]$/.test(text) ? text.slice(0, -1) : text;
}

/** A text within a sentence's place: it ends as a sentence does. */
export function endSentence(text: string): string {
  return /[.…]$/.test(text) ? text : `${text}.`;
}
