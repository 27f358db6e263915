// Node's HTTP, as CommonJS gets it. An import of `node:http` reads all that it exports, and so loads Node's WebSocket and fetch too: a
// twentieth of the time in which a server or an agent starts.

export const http = process.getBuiltinModule('node:http');
