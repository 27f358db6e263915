// What was sealed as JSON text, once it is opened again.

/** Undefined when the text is not of this form: sealed by something else. */
export function parseSealedText(text: string, problemsOf: (content: unknown) => readonly object[]): unknown {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  return problemsOf(content).length === 0 ? content : undefined;
}
