import type { IncomingMessage } from 'node:http';
import {
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import { requestRefusal } from './refusal.ts';

/** Which names a request may use for this server, and which pages may send one. */
export interface Allowed {
  /** Host names without port, IPv6 in brackets; localhost under its three names when absent. */
  allowedHosts?: string[] | undefined;
  /** Origins: a whole one (`https://plans.example.com`) or a host name for any scheme and port; localhost when absent. */
  allowedOrigins?: string[] | undefined;
}

/**
 * Refuses what a web page could send through a visitor's browser to a server on the visitor's machine (DNS rebinding).
 * Programs send no Origin, and pass.
 */
export function requireKnownOrigin({ headers }: Pick<IncomingMessage, 'headers'>, allowed: Allowed): void {
  const { host, origin } = headers;
  if (!validateHostHeader(host, allowed.allowedHosts ?? localhostAllowedHostnames()).ok) {
    throw requestRefusal(403, 'Host', 'This server does not answer under the host name of the request.');
  }
  const origins = allowed.allowedOrigins ?? localhostAllowedOrigins();
  if (origin !== undefined && !origins.includes(origin) && !validateOriginHeader(origin, origins).ok) {
    throw requestRefusal(403, 'Origin', 'This server does not take requests from pages of this origin.');
  }
}
