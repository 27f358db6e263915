// Sends requests to the server of the lab, with its first admin token, which is where the command line finds it too.

const PATIENCE_MS = 30_000;

class RequestRefused extends Error {
  readonly code = 'refused';
  readonly status: number;

  constructor(request: string, status: number, answer: string) {
    super(`${request}: ${status} ${answer}`);
    this.name = 'Refused';
    this.status = status;
  }
}

export class LabClient {
  readonly #url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.#url = url;
    this.#token = token;
  }

  get(path: string): Promise<unknown> {
    return this.#ask('GET', path);
  }

  /** `null` for what takes no body. */
  post(path: string, body: object | null = {}): Promise<unknown> {
    return this.#ask('POST', path, body ?? undefined);
  }

  patch(path: string, body: object): Promise<unknown> {
    return this.#ask('PATCH', path, body);
  }

  async #ask(method: string, path: string, body?: object): Promise<unknown> {
    const answer = await fetch(`${this.#url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await answer.text();
    if (!answer.ok) throw new RequestRefused(`${method} ${path}`, answer.status, text);
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  }
}
