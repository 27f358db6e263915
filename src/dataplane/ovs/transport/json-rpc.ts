// JSON-RPC 1.0 as the daemons of Open vSwitch speak it: what a message means, and how one is written.
import { MalformedMessage } from './failures.ts';

export type JsonRpcMessage =
  | { readonly kind: 'request'; readonly method: string; readonly params: readonly unknown[]; readonly id: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params: readonly unknown[] }
  | { readonly kind: 'answer'; readonly id: unknown; readonly result: unknown }
  | { readonly kind: 'refusal'; readonly id: unknown; readonly error: unknown };

export function readMessage(message: object): JsonRpcMessage {
  const { method, params, id, result, error } = message as Readonly<Record<string, unknown>>;
  if (method !== undefined) {
    if (typeof method !== 'string' || !Array.isArray(params)) {
      throw new MalformedMessage(`a request without method or parameters: ${brief(message)}`);
    }
    const call = { method, params: params as unknown[] };
    return id === null || id === undefined ? { kind: 'notification', ...call } : { kind: 'request', ...call, id };
  }
  if (id === null || id === undefined) throw new MalformedMessage(`an answer to nothing: ${brief(message)}`);
  // A daemon leaves out what it has nothing to say of: an error comes without a result.
  if (error !== null && error !== undefined) return { kind: 'refusal', id, error };
  if (result === undefined) throw new MalformedMessage(`an answer without a result: ${brief(message)}`);
  return { kind: 'answer', id, result };
}

export function writeRequest(id: number, method: string, params: readonly unknown[]): string {
  return JSON.stringify({ id, method, params });
}

export function writeNotification(method: string, params: readonly unknown[]): string {
  return JSON.stringify({ id: null, method, params });
}

export function writeResult(id: unknown, result: unknown): string {
  return JSON.stringify({ id, result, error: null });
}

export function writeError(id: unknown, error: string): string {
  return JSON.stringify({ id, result: null, error });
}

function brief(message: object): string {
  return JSON.stringify(message).slice(0, 200);
}
