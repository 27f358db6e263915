// A store that is slow for as long as a test says: what is decided meanwhile is decided behind what waits for it.
import type { ApiTestServer } from '../api/api-test-server.ts';

/** Nothing becomes durable until it is released; `submitted` resolves when the next request is past the door. */
export function holdWrites({ journal }: ApiTestServer): {
  readonly submitted: Promise<unknown>;
  readonly release: () => void;
} {
  const write = journal.store.write.bind(journal.store);
  const released = Promise.withResolvers<undefined>();
  journal.store.write = async (group) => {
    await released.promise;
    return write(group);
  };
  const submit = journal.submit.bind(journal);
  const submitted = Promise.withResolvers<undefined>();
  journal.submit = (request) => {
    submitted.resolve(undefined);
    return submit(request);
  };
  return { submitted: submitted.promise, release: () => released.resolve(undefined) };
}
