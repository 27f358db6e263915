// SHA-256 as the stores use it: one call, no stream object.
import { hash } from 'node:crypto';

export const sha256 = (text: string): string => hash('sha256', text, 'hex');
