import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Ledger } from '../../ledger/generated.ts';
import { authenticate, type Caller } from '../caller.ts';
import { type Allowed, requireKnownOrigin } from './origin.ts';
import { type Refusal, requestRefusal, requireToken } from './refusal.ts';
import { trackResponses, whenGone } from './responses.ts';
import { readUpload } from './upload.ts';

/** Files that are taken in or given out at the same time: each of them is in memory, several times over. */
const openMax = 8;
/** Of one caller. */
const callerMax = 2;
/** How long a transfer may stand still. */
const stillMs = 30_000;

/** `/attachments`: files for prompts, by the rules of `attachment_stage` and `attachment_get`. */
export function attachmentRoutes(app: FastifyInstance, ledger: Ledger, allowed: Allowed): { close(): Promise<void> } {
  const responses = trackResponses();
  const callers = new WeakMap<FastifyRequest, Caller>();
  const inHand = new Map<string, number>();
  const principalOf = (request: FastifyRequest) => (callers.get(request) as Caller).principal_id;

  app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    await scope.register(multipart);
    scope.addHook('onRequest', async (request, reply) => {
      requireKnownOrigin(request, allowed);
      allowPage(request, reply);
      if (request.method === 'OPTIONS') return;
      const caller = await authenticate(ledger, requireToken(request));
      callers.set(request, caller);
      if (responses.open() >= openMax) throw busy('The server has as many files in hand as it can.');
      if (countOf(caller) >= callerMax) throw busy('The server has as many files of this caller in hand as it may.');
      if (reply.raw.closed) return;
      responses.add(reply.raw);
      inHand.set(caller.principal_id, countOf(caller) + 1);
      reply.raw.once('close', () => left(caller));
      request.raw.socket.setTimeout(stillMs, () => request.raw.socket.destroy());
    });

    scope.options('/attachments', async (_request, reply) => reply.code(204).send());
    scope.options('/attachments/:task_id/:id', async (_request, reply) => reply.code(204).send());

    scope.post('/attachments', async (request, reply) => {
      const { attachment_max_bytes } = await ledger.attachmentMaxBytes({});
      const upload = await readUpload(request, attachment_max_bytes);
      const staged = await ledger.attachmentStage(
        { principal: principalOf(request), ...upload },
        { signal: whenGone(reply.raw) },
      );
      const { id, task_id, name, media_type, bytes } = staged;
      return reply.code(201).send({ id, task_id, name, media_type, bytes });
    });

    scope.get<{ Params: { task_id: string; id: string } }>('/attachments/:task_id/:id', async (request, reply) => {
      const { task_id, id } = request.params;
      const file = await ledger.attachmentGet({ principal: principalOf(request), task_id, attachment_id: id });
      return reply.headers(downloadHeaders(file.name)).send(Buffer.from(file.content));
    });
  });

  return { close: () => responses.callsFinished(5_000) };

  function countOf({ principal_id }: Caller): number {
    return inHand.get(principal_id) ?? 0;
  }

  function left(caller: Caller): void {
    const others = countOf(caller) - 1;
    if (others === 0) inHand.delete(caller.principal_id);
    else inHand.set(caller.principal_id, others);
  }
}

function busy(why: string): Refusal {
  return requestRefusal(503, 'request', why, { 'retry-after': '1' });
}

/** A page of another origin that may call, may also read the answer. */
function allowPage({ headers: { origin } }: FastifyRequest, reply: FastifyReply): void {
  if (origin === undefined) return;
  reply.headers({
    'access-control-allow-origin': origin,
    'access-control-allow-headers': 'authorization',
    vary: 'origin',
  });
}

/** Whatever the file is, and its sender says it is: a browser saves it, and shows and runs nothing of it. */
function downloadHeaders(name: string): Record<string, string> {
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);
  return {
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename*=UTF-8''${encoded}`,
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-store',
  };
}
