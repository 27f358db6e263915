// The limit of lists and watches: the same bytes, from memory, over plain HTTP.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [port, file] = process.argv.slice(2);
const page = readFileSync(file ?? '');
const PIECE_BYTES = 64 * 1024;
const piece = Buffer.alloc(PIECE_BYTES, 'x');

const server = createServer((request, response) => {
  const url = new URL(request.url ?? '/', 'http://peer');
  if (url.pathname !== '/bytes') {
    response.end(url.pathname === '/page' ? page : 'ok');
    return;
  }
  let left = Number(url.searchParams.get('count'));
  const send = (): void => {
    while (left > 0) {
      const bytes = piece.subarray(0, Math.min(left, PIECE_BYTES));
      left -= bytes.length;
      if (!response.write(bytes)) {
        response.once('drain', send);
        return;
      }
    }
    response.end();
  };
  send();
});
// The benchmark comes back to a connection after a while.
server.keepAliveTimeout = 72_000;
server.listen(Number(port), '127.0.0.1');
