export { ReplyClient } from './reply-client.ts';
