// The peer of the API: a bare Fastify route that answers the bytes it was given, and one that reads a JSON body first.
import { readFileSync } from 'node:fs';
import fastify from 'fastify';

const [port, file] = process.argv.slice(2);
const text = readFileSync(file ?? '', 'utf8');
const app = fastify();
const TYPE = 'application/json; charset=utf-8';

app.get('/readyz', (_, reply) => reply.send('ok'));
app.get('/api/v1/hosts/:id', (_, reply) => reply.header('content-type', TYPE).send(text));
app.post('/api/v1/hosts/:id', (_, reply) => reply.header('content-type', TYPE).send(text));
app.post('/api/v1/instances', (_, reply) => reply.code(202).header('content-type', TYPE).send(text));
app.post('/api/v1/reservations', (_, reply) => reply.code(201).header('content-type', TYPE).send(text));
await app.listen({ host: '127.0.0.1', port: Number(port) });
