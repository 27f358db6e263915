// How long requests take, by route and status, as a Prometheus histogram. The library's own costs half a microsecond for
// each observation, as much as finding the resource: this one adds to a cell that it finds by the route itself.
import type { Route } from '../access/index.ts';

const NAME = 'muster_http_request_seconds';
const BOUNDS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000];

interface Cell {
  /** One more than the bounds: the last counts what is beyond them all. */
  readonly counts: Float64Array;
  sumMs: number;
}

type Cells = Map<number, Cell>;

export class RequestHistogram {
  /** What no route takes is under undefined. */
  readonly #routes = new Map<Route | undefined, Cells>();

  observe(route: Route | undefined, status: number, ms: number): void {
    let cells = this.#routes.get(route);
    if (cells === undefined) this.#routes.set(route, (cells = new Map()));
    let cell = cells.get(status);
    if (cell === undefined) {
      cell = { counts: new Float64Array(BOUNDS_MS.length + 1), sumMs: 0 };
      cells.set(status, cell);
    }
    let at = 0;
    while (at < BOUNDS_MS.length && ms > (BOUNDS_MS[at] as number)) at += 1;
    cell.counts[at] = (cell.counts[at] as number) + 1;
    cell.sumMs += ms;
  }

  text(): string {
    const lines = [`# HELP ${NAME} Time to answer, by route and status`, `# TYPE ${NAME} histogram`];
    for (const [route, cells] of this.#routes) {
      for (const [status, cell] of cells) {
        const labels = `method="${route?.method ?? 'any'}",route="${route?.path ?? 'none'}",status="${status}"`;
        lines.push(...linesOf(cell, labels));
      }
    }
    return `${lines.join('\n')}\n`;
  }
}

function linesOf({ counts, sumMs }: Cell, labels: string): string[] {
  let below = 0;
  const buckets = [...counts].map((count, at) => {
    below += count;
    const bound = BOUNDS_MS[at];
    return `${NAME}_bucket{le="${bound === undefined ? '+Inf' : bound / 1000}",${labels}} ${below}`;
  });
  return [...buckets, `${NAME}_sum{${labels}} ${sumMs / 1000}`, `${NAME}_count{${labels}} ${below}`];
}
