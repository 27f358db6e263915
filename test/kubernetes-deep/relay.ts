// Carries connections between network namespaces over sockets in the file system: `relay.ts tcp:PORT=unix:PATH unix:PATH=tcp:PORT`, each from where it listens to where
// it connects.
import { rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';

type Place = { readonly port: number; readonly host: string } | { readonly path: string };

export function relay(from: string, to: string): Server {
  const [listening, connecting] = [placeOf(from), placeOf(to)];
  if ('path' in listening) rmSync(listening.path, { force: true });
  return createServer((socket) => {
    const behind = connect(connecting);
    socket.on('error', () => behind.destroy()).on('close', () => behind.destroy());
    behind.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.pipe(behind).pipe(socket);
  }).listen(listening);
}

function placeOf(text: string): Place {
  const [kind, ...rest] = text.split(':');
  const value = rest.join(':');
  return kind === 'tcp' ? { port: Number(value), host: '127.0.0.1' } : { path: value };
}

if (process.argv[1] === import.meta.filename) {
  for (const pair of process.argv.slice(2)) {
    const [from = '', to = ''] = pair.split('=');
    relay(from, to);
  }
}
