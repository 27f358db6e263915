// The progress of an operation as text: a bar, the counts, and why items wait. Pure: the time is a parameter. The sentences of reasons
// are the server's.
import { relativeTime, durationText } from '../output/duration.ts';
import { stateColour, type Paint } from '../output/paint.ts';
import { truncate, sanitizeLine } from '../output/text-width.ts';
import type { Item, Operation } from '../client/representations.ts';

type Counts = Operation['counts'];

export function isFinished({ state }: Operation): boolean {
  return state !== 'running' && state !== 'cancelling';
}

function total(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** `2/3 done, 1 waiting`. */
export function countsText(counts: Counts): string {
  const { done, failed, cancelled, waiting, running } = counts;
  const rest = [
    [running, 'running'],
    [waiting, 'waiting'],
    [failed, 'failed'],
    [cancelled, 'cancelled'],
  ] as const;
  return [`${done}/${total(counts)} done`, ...rest.filter(([n]) => n > 0).map(([n, word]) => `${n} ${word}`)].join(
    ', ',
  );
}

/** The server's sentence for why something waits, failed or was stopped. */
export function sentenceOf({ sentence, reason }: Pick<Operation, 'sentence' | 'reason'>): string | undefined {
  const text = sentence ?? reason?.code;
  return text === undefined ? undefined : sanitizeLine(text);
}

const BAR_WIDTH = 24;
/** Reasons shown at once: more would scroll, and they mostly say the same. */
const REASONS_MAX = 5;

export function renderBar(counts: Counts, paint: Paint, width = BAR_WIDTH): string {
  const all = Math.max(1, total(counts));
  const closed = counts.done + counts.failed + counts.cancelled;
  const [done, ended] = [Math.round((counts.done / all) * width), Math.round((closed / all) * width)];
  const parts = [paint('green', '█'.repeat(done)), paint('red', '█'.repeat(ended - done)), '░'.repeat(width - ended)];
  return parts.join('');
}

export interface OperationProgress {
  readonly operation: Operation;
  /** Items that wait or failed. */
  readonly stuckItems: readonly Item[];
}

/** The picture for a terminal: drawn again and again at the same place. */
export function progressLines(
  { operation, stuckItems }: OperationProgress,
  { paint, nowMs, columns }: { readonly paint: Paint; readonly nowMs: number; readonly columns: number },
): string[] {
  const { title, counts, state, createdAtMs, finishedAtMs } = operation;
  const tookMs = (finishedAtMs ?? nowMs) - createdAtMs;
  const head = `${sanitizeLine(title)}: ${countsText(counts)}, ${durationText(tookMs)}`;
  const text = paint(stateColour(state), state);
  const lines = [
    `${renderBar(counts, paint)} ${truncate(head, Math.max(10, columns - BAR_WIDTH - state.length - 4))} ${text}`,
  ];
  const stop = sentenceOf(operation);
  if (stop !== undefined) lines.push(truncate(`  ${stop}`, columns - 1));
  for (const item of stuckItems.slice(0, REASONS_MAX))
    lines.push(paint('dim', truncate(`  ${itemText(item, nowMs)}`, columns - 1)));
  const more = stuckItems.length - REASONS_MAX;
  if (more > 0) lines.push(paint('dim', `  and ${more} more`));
  return lines;
}

function itemText(item: Item, nowMs: number): string {
  const again =
    item.retryAtMs === undefined || item.retryAtMs <= nowMs ? '' : ` Next try ${relativeTime(item.retryAtMs, nowMs)}.`;
  return `${sanitizeLine(item.target.id)} ${item.state}: ${sentenceOf(item) ?? item.step}${again}`;
}

/** For pipes and logs: a line whenever something changed since the last one. */
export class PlainProgress {
  #lastSummary = '';
  readonly #reasons = new Map<string, string>();

  lines({ operation, stuckItems }: OperationProgress): string[] {
    const lines: string[] = [];
    const summary = `${operation.id} ${operation.state}: ${countsText(operation.counts)}`;
    if (summary !== this.#lastSummary) lines.push(summary);
    this.#lastSummary = summary;
    for (const item of stuckItems) {
      const reason = `${item.state}: ${sentenceOf(item) ?? item.step}`;
      if (this.#reasons.get(item.id) === reason) continue;
      this.#reasons.set(item.id, reason);
      lines.push(`  ${sanitizeLine(item.target.id)} ${reason}`);
    }
    return lines;
  }
}
