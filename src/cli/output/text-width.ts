// The width of a text on a terminal, and removal of characters that a terminal would obey instead of showing.
import { escapeControls } from './escape.ts';

/** Made when a text needs it: that takes as long as a tenth of a command, and most texts are plain. */
let segmenter: Intl.Segmenter | undefined;

function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return segmenter.segment(text);
}

/** East Asian wide and fullwidth letters, and emoji, take two columns. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F|[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F200}-\u{1F2FF}\u{20000}-\u{3FFFD}])/u;
/** Marks that stand on the letter before them, or are not seen at all. */
const NARROWEST = /^(?:\p{Mark}|\p{Default_Ignorable_Code_Point})+$/u;
const PLAIN = /^[\u0020-\u007E]*$/;

export function textWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemesOf(text)) width += NARROWEST.test(segment) ? 0 : WIDE.test(segment) ? 2 : 1;
  return width;
}

/** At most `width` columns; what is cut off leaves an ellipsis. */
export function truncate(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const { segment } of graphemesOf(text)) {
    used += textWidth(segment);
    if (used > width - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** One line of text that can do nothing to the terminal. */
export function sanitizeLine(text: string): string {
  return escapeControls(text.replaceAll(/[\n\t]/g, ' '));
}
