import { readFileSync } from 'node:fs';

/** A text as the vectors write it: itself, or a repetition. */
export type VectorText = string | { repeat: string; times: number; then?: string };

interface AppendVectors {
  cases: { name: string; stored: string; fragment: string; content?: string; error?: string }[];
  sizes: { name: string; stored: VectorText; fragment: VectorText; composed_bytes: number; ok: boolean }[];
}

interface EditVector {
  name: string;
  stored: string;
  old_text: string;
  new_text: string;
  content?: string;
  error?: string;
  count?: number;
}

interface ReductionVector {
  name: string;
  old_chars: number;
  new_chars: number;
  suspicious: boolean;
}

interface PromptVector {
  name: string;
  comments: { selected_text: string; body: string }[];
  base: string;
  prompt: string;
}

function load<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), 'utf8')) as T;
}

export const appendVectors = load<AppendVectors>('append');
export const editVectors = load<EditVector[]>('exact_edit');
export const promptVectors = load<PromptVector[]>('prompt');
export const reductionVectors = load<ReductionVector[]>('reduction');

/** The text itself. */
export function spell(text: VectorText): string {
  return typeof text === 'string' ? text : text.repeat.repeat(text.times) + (text.then ?? '');
}
