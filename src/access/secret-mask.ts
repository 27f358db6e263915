// Takes secrets out of texts that others wrote: a peer may repeat a credential in an error, and the error becomes a reason, a line of the log, an answer.

/** Shorter ones would take parts of ordinary words out. */
const LENGTH_MIN = 8;
/** Part of a secret of several lines, such as a key in PEM form: errors quote single lines. */
const LINE_MIN = 16;
/** Each costs a search in every text. Those that were added first are forgotten first. */
const FORMS_MAX = 20_000;
const IN_ITS_PLACE = '[secret]';

export class SecretMask {
  readonly #forms = new Set<string>();
  #longestFirst: readonly string[] | undefined;

  get isEmpty(): boolean {
    return this.#forms.size === 0;
  }

  /** Text that is cut shorter than this may have lost the beginning of a secret. */
  get longestForm(): number {
    return this.#sorted()[0]?.length ?? 0;
  }

  add(secret: string): void {
    for (const form of formsOf(secret)) {
      if (this.#forms.has(form)) continue;
      this.#forms.add(form);
      this.#longestFirst = undefined;
    }
    for (const form of this.#forms) {
      if (this.#forms.size <= FORMS_MAX) break;
      this.#forms.delete(form);
    }
  }

  mask(text: string): string {
    let masked = text;
    for (const form of this.#sorted()) if (masked.includes(form)) masked = masked.replaceAll(form, IN_ITS_PLACE);
    return masked;
  }

  /** Every text of a value, at any depth; the value itself when there is nothing to take out. */
  maskDeep<T>(value: T): T {
    return this.isEmpty ? value : (this.#maskIn(value) as T);
  }

  #sorted(): readonly string[] {
    this.#longestFirst ??= [...this.#forms].sort((one, other) => other.length - one.length);
    return this.#longestFirst;
  }

  #maskIn(value: unknown): unknown {
    if (typeof value === 'string') return this.mask(value);
    if (Array.isArray(value)) return value.map((item) => this.#maskIn(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [this.mask(name), this.#maskIn(inner)]));
  }
}

/** As it is, and as it is written in JSON, in addresses and in headers. */
function formsOf(secret: string): Set<string> {
  const lines = secret.split(/\r?\n/).filter((line) => line.length >= LINE_MIN && !line.startsWith('-----'));
  const parts = [secret, ...(lines.length > 1 ? lines : [])].filter(({ length }) => length >= LENGTH_MIN);
  return new Set(
    parts.flatMap((part) => [
      part,
      JSON.stringify(part).slice(1, -1),
      encodeURIComponent(part.toWellFormed()),
      ...base64Forms(part),
    ]),
  );
}

/** Base64 of a text that the secret is in, such as `user:password`: its place decides which of three forms it has. */
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8');
  return [0, 1, 2].flatMap((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // Without the characters that hold bits of what is before and after it.
    const form = whole.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')];
  });
}
