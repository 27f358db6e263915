// The servers that a program dials, as its command line names them, and how they are known.
import { parseFingerprint, transportTo, type Fingerprint } from '../link/index.ts';
import { DEFAULT_SERVER } from '../cli/index.ts';
import { StartFailure } from './start-failure.ts';

/** `program`: as the sentence names it, such as "agent". */
export function parseServers(text: string, { insecure, program }: { insecure: boolean; program: string }): string[] {
  const servers = text.split(',').map((server) => server.trim());
  const wrong = servers.find((server) => !URL.canParse(server));
  if (wrong !== undefined)
    throw new StartFailure(`"${wrong}" is not the address of a server, such as ${DEFAULT_SERVER}.`);
  const plain = servers.find((server) => transportTo(server) === 'http');
  if (plain !== undefined && !insecure)
    throw new StartFailure(
      `This ${program} would send its token to ${plain} in clear text. Give the server a certificate and use https, or allow it with --insecure.`,
    );
  return servers;
}

/** A pinned server has a certificate: the secret must not go out by plain HTTP because of a mistyped address. */
export function parsePins(texts: readonly string[], servers: readonly string[]): Fingerprint[] {
  const plain = servers.find((server) => transportTo(server) !== 'https');
  if (texts.length > 0 && plain !== undefined)
    throw new StartFailure(
      `--server-fingerprint is for servers with a certificate, and ${plain} is not one: use https.`,
    );
  return texts.map((text) => {
    const pin = parseFingerprint(text);
    if (pin !== undefined) return pin;
    throw new StartFailure(
      `"${text}" is not a fingerprint. Write sha256: and 64 hexadecimal digits, as the log of the server and "muster keys show --tls-cert" do.`,
    );
  });
}
