import type { Logger } from 'pino';
import { toPlanledgerError } from '../ledger/errors.ts';
import type { Ledger, ReceiptReserveRow } from '../ledger/generated.ts';
import { type Prompt, type Ready, type Sent, TransportError } from '../transports/transport.ts';
import { type Host, shown } from './host.ts';
import type { UntilWritten } from './until-written.ts';

/** @see createDelivery */
export interface DeliveryOptions {
  /** Calls as `planledger_worker`. */
  ledger: Ledger;
  holder: string;
  logger: Logger;
  untilWritten: UntilWritten;
}

const leaseMs = 60_000; // of a reservation
const limitMs = 120_000; // from the marker to the acknowledgement

/**
 * Delivers prompts: reserve, have the agent wait for it, mark, send, acknowledge. What goes wrong before the marker gives
 * the receipt back; after it, the prompt is never sent again.
 */
export function createDelivery({ ledger, holder, logger, untilWritten }: DeliveryOptions) {
  return async (host: Host, task_id: string, receipt_id: string): Promise<void> => {
    const reserved = await ledger.receiptReserve({ task_id, receipt_id, holder });
    if (reserved.outcome !== 'reserved') return;
    const token = reserved.lease_token ?? '';
    const log = logger.child({ task_id, receipt_id, session_id: reserved.session_id });
    let ready: Ready;
    let attachments: Prompt['attachments'];
    try {
      attachments = reserved.has_attachments ? await ledger.receiptAttachments({ task_id, token }) : [];
      ready = await host.prepare(seatOf(task_id, reserved));
    } catch (error) {
      const failure = error instanceof TransportError ? shown(error.message) : 'The prompt could not be made ready.';
      if (!(error instanceof TransportError)) {
        log.warn({ code: toPlanledgerError(error, 'prepare', task_id).code }, 'a prompt cannot be made ready');
      }
      const { receipt_release } = await untilWritten(() => ledger.receiptRelease({ task_id, token, failure }), leaseMs);
      log.info({ state: receipt_release }, 'given back');
      return;
    }

    const markedAt = performance.now();
    let marked: Awaited<ReturnType<Ledger['receiptMarkAttempted']>>;
    try {
      marked = await ledger.receiptMarkAttempted({ task_id, token });
    } catch (error) {
      ready.abandon?.();
      throw error;
    }
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
    const late = performance.now() - markedAt > limitMs / 2;
    const sent: Sent = late
      ? { outcome: 'unknown', failure: 'The worker was held up before it sent the prompt.' }
      : await ready.send(prompt);
    if (late) ready.abandon?.();
    log.info({ outcome: sent.outcome }, 'sent');
    const left = limitMs - (performance.now() - markedAt);
    if (sent.outcome !== 'accepted') {
      const state = sent.outcome === 'refused' ? 'failed' : 'cleared';
      await untilWritten(() => ledger.receiptEndAttempt({ task_id, token, state, failure: shown(sent.failure) }), left);
      return;
    }
    await untilWritten(() => ledger.receiptAcknowledge({ task_id, token }), left);
    const { agent_token } = reserved;
    if (sent.turn === undefined || agent_token === null) return;
    void sent.turn
      .then((why) =>
        untilWritten(
          () =>
            ledger.agentTurnEnd({
              ...{ task_id, token: agent_token, turn_id: prompt.id },
              failure: why === undefined ? undefined : shown(why),
            }),
          leaseMs,
        ),
      )
      .catch((error: unknown) => {
        const { code } = toPlanledgerError(error, 'end_turn', task_id);
        // The agent ended meanwhile, and with it the turn.
        if (code !== 'lease_lost') log.warn({ code }, 'the end of a turn cannot be written');
      });
  };
}

function seatOf(taskId: string, { session_id, agent_name, transport, agent_token }: ReceiptReserveRow) {
  return {
    ...{ taskId, sessionId: session_id ?? '', agentName: agent_name ?? '' },
    ...{ transport: transport ?? '', agentToken: agent_token },
  };
}
