import type { PlanWriteAck } from '../../ledger/generated.ts';
import { note, printJson, printLine } from './output.ts';

/** Says what a plan write committed. */
export function printAcknowledgement(ack: PlanWriteAck, options: { json?: boolean }): void {
  if (options.json) {
    printJson(ack);
    return;
  }
  if (ack.replayed) note('This request was answered before; nothing was written now.');
  if (ack.outcome === 'already_current') note('The plan already equals that revision; nothing was written.');
  const place = ack.coalesced ? 'joined revision' : 'revision';
  printLine(
    `${ack.outcome.replace('_', ' ')} ${ack.task_id}: ${place} ${ack.revision_number}, ${ack.content_bytes} bytes, version ${ack.version}`,
  );
}
