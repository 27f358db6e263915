export { ReplyClient } from './reply-client.ts';
export { FileDisk } from './state/file-disk.ts';
