import type { Logger } from 'pino';
import { toPlanledgerError } from '../ledger/errors.ts';
import type { Ledger, ReceiptReserveRow } from '../ledger/generated.ts';
import { type Prompt, type Ready, type Sent, TransportError } from '../transports/transport.ts';
import { type Host, shown } from './host.ts';
import { attemptMs, interval, leaseMs } from './leases.ts';
import type { UntilWritten } from './until-written.ts';

/** @see createDelivery */
export interface DeliveryOptions {
  /** Calls as `planledger_worker`. */
  ledger: Ledger;
  holder: string;
  logger: Logger;
  untilWritten: UntilWritten;
}

/**
 * Delivers prompts: reserve, have the agent wait for it, mark, send, acknowledge. What goes wrong before the marker gives
 * the receipt back; after it, the prompt is never sent again.
 */
export function createDelivery({ ledger, holder, logger, untilWritten }: DeliveryOptions) {
  return async (host: Host, task_id: string, receipt_id: string): Promise<void> => {
    const reserved = await ledger.receiptReserve({ task_id, receipt_id, holder, lease: interval(leaseMs) });
    if (reserved.outcome !== 'reserved') return;
    const lease = { task_id, token: reserved.lease_token ?? '' };
    const log = logger.child({ task_id, receipt_id, session_id: reserved.session_id });

    let ready: Ready;
    let attachments: Prompt['attachments'];
    try {
      attachments = reserved.has_attachments ? await ledger.receiptAttachments(lease) : [];
      ready = await host.prepare(seatOf(task_id, reserved));
    } catch (error) {
      await giveBack(lease, error, log);
      await host.letGo(seatOf(task_id, reserved));
      return;
    }

    const elapsed = stopwatch();
    const marked = await ledger
      .receiptMarkAttempted({ ...lease, limit: interval(attemptMs) })
      .catch((error: unknown) => {
        ready.abandon?.();
        throw error;
      });
    if (marked.outcome !== 'attempted') return ready.abandon?.();
    const prompt: Prompt = {
      taskId: task_id,
      sessionId: reserved.session_id ?? '',
      id: marked.message_id ?? '',
      content: marked.content ?? '',
      planMode: marked.plan_mode ?? false,
      attachments,
    };
    // A process that was stopped meanwhile may not have the lease any more, nor the agent the turn.
    const late = elapsed() > attemptMs / 2;
    if (late) ready.abandon?.();
    const sent: Sent = late
      ? { outcome: 'unknown', failure: 'The worker was held up before it sent the prompt.' }
      : await ready.send(prompt);
    log.info({ outcome: sent.outcome }, 'sent');
    await settle(lease, sent, attemptMs - elapsed());
    if (sent.outcome === 'accepted' && sent.turn !== undefined && reserved.agent_token !== null) {
      void endTurn({ task_id, token: reserved.agent_token, turn_id: prompt.id }, sent.turn, log);
    }
  };

  async function giveBack(lease: Lease, error: unknown, log: Logger): Promise<void> {
    const isOurs = error instanceof TransportError;
    if (!isOurs) {
      log.warn({ code: toPlanledgerError(error, 'prepare', lease.task_id).code }, 'a prompt cannot be made ready');
    }
    const failure = isOurs ? shown(error.message) : 'The prompt could not be made ready.';
    const { receipt_release } = await untilWritten(() => ledger.receiptRelease({ ...lease, failure }), leaseMs);
    log.info({ state: receipt_release }, 'given back');
  }

  async function settle(lease: Lease, sent: Sent, left: number): Promise<void> {
    if (sent.outcome === 'accepted') {
      await untilWritten(() => ledger.receiptAcknowledge(lease), left);
      return;
    }
    const state = sent.outcome === 'refused' ? 'failed' : 'cleared';
    await untilWritten(() => ledger.receiptEndAttempt({ ...lease, state, failure: shown(sent.failure) }), left);
  }

  async function endTurn(of: Lease & { turn_id: string }, turn: Promise<string | undefined>, log: Logger) {
    try {
      const why = await turn;
      const failure = why === undefined ? undefined : shown(why);
      await untilWritten(() => ledger.agentTurnEnd({ ...of, failure }), Infinity);
    } catch (error) {
      const { code } = toPlanledgerError(error, 'end_turn', of.task_id);
      // The agent ended meanwhile, and with it the turn.
      if (code !== 'lease_lost') log.warn({ code }, 'the end of a turn cannot be written');
    }
  }
}

interface Lease {
  task_id: string;
  token: string;
}

function seatOf(taskId: string, { session_id, agent_name, transport, agent_token }: ReceiptReserveRow) {
  return {
    ...{ taskId, sessionId: session_id ?? '', agentName: agent_name ?? '' },
    ...{ transport: transport ?? '', agentToken: agent_token },
  };
}

/** How many milliseconds have passed, by the clock that goes on while a machine sleeps and the one nobody sets. */
function stopwatch(): () => number {
  const began = { date: Date.now(), performance: performance.now() };
  return () => Math.max(Date.now() - began.date, performance.now() - began.performance);
}
