// The numbers of OpenFlow 1.4 messages.

export const VERSION = 5;
export const HEADER_BYTES = 8;
export const MESSAGE_BYTES_MAX = 0xffff;

export const MESSAGE = {
  hello: 0,
  error: 1,
  echoRequest: 2,
  echoReply: 3,
  setConfig: 9,
  packetIn: 10,
  packetOut: 13,
  flowMod: 14,
  groupMod: 15,
  multipartRequest: 18,
  multipartReply: 19,
  barrierRequest: 20,
  barrierReply: 21,
  bundleControl: 33,
  bundleAdd: 34,
} as const;

export const MULTIPART = { flows: 1, groups: 7, ports: 13 } as const;

export const BUNDLE = { open: 0, opened: 1, close: 2, closed: 3, commit: 4, committed: 5, discard: 6 } as const;
