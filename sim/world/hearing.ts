// When each server really heard each host, and when each last stood still: by the world's clock, not by their own.

export class Hearing {
  readonly #heard = new Map<string, number>();
  readonly #pauses = new Map<string, number>();

  heard(server: string, host: string, atMs: number): void {
    this.#heard.set(`${server} ${host}`, atMs);
  }

  heardAt(server: string, host: string): number {
    return this.#heard.get(`${server} ${host}`) ?? 0;
  }

  paused(server: string, untilMs: number): void {
    this.#pauses.set(server, untilMs);
  }

  pauseEndedAt(server: string): number {
    return this.#pauses.get(server) ?? 0;
  }
}
