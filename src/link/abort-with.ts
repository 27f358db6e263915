// Aborts a controller together with a signal that lives longer, until it is unlinked. Not by `AbortSignal.any()` nor by a listener with
// a `signal` of its own: the runtime keeps both, with whatever waits for them, as long as they are not aborted. A wait that never ends,
// such as one of a program that was stopped in the middle, would be kept for ever.

export function abortWith(controller: AbortController, signal: AbortSignal): () => void {
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return () => signal.removeEventListener('abort', abort);
}
