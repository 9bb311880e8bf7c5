import type { ReceiptAttachmentsRow } from '../ledger/generated.ts';

/** A prompt as it goes out. */
export interface Prompt {
  taskId: string;
  sessionId: string;
  /** Of the prompt's message and turn; where it goes out alone, of its receipt too. */
  id: string;
  content: string;
  planMode: boolean;
  attachments: ReceiptAttachmentsRow[];
}

/**
 * What became of a prompt that was sent: the agent has it, it said that it will not take it, or nobody knows. Whatever it
 * is, the prompt is not sent again.
 */
export type Sent =
  | {
      outcome: 'accepted';
      /**
       * Settles when the agent is done with it, with why it came to nothing; absent where nobody hears of that. It does
       * not settle where the agent's process ends: that ends the turn.
       */
      turn?: Promise<string | undefined>;
    }
  | { outcome: 'refused' | 'unknown'; failure: string };

/** An agent that waits for a prompt. */
export interface Ready {
  /** Sends the prompt, once. */
  send(prompt: Prompt): Promise<Sent>;
  /** Called where it comes to nothing before a prompt was sent. */
  abandon?(): void;
}

/** The process of an agent, which lives as long as its session. */
export interface Agent extends Ready {
  /** Settles when it waits for a prompt; absent where it takes one at any time. @throws TransportError */
  waits?(): Promise<void>;
  /** Asks it to end the turn it is in; absent where it cannot be asked. */
  cancel?(): void;
  /** Ends the process: kindly at first. */
  stop(): Promise<void>;
  /** Settles when the process has ended, with why, for people. */
  ended: Promise<string>;
}

/** What is said in a session besides prompts. */
export type Kind = 'message' | 'thought' | 'tool' | 'terminal';

/** Where an agent says something; it is written in the order of the calls. */
export type Say = (kind: Kind, content: string) => void;

/** What kept a prompt from being made ready to go out, for people. */
export class TransportError extends Error {}
