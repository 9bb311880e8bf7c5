// A terminal program that reads pastes: it records each in the file RECORD, byte for byte, and does what its text says.
// Without the file RECORD.mute it shows a prompt; with BATCH it reads so many bytes at a time, and slowly.
import { appendFileSync, existsSync } from 'node:fs';

const recordFile = process.env.RECORD ?? '';
const batch = Number(process.env.BATCH ?? '0');
const record = (entry: object) => appendFileSync(recordFile, `${JSON.stringify(entry)}\n`);
const prompt = () => process.stdout.write('\x1b[?2004h\x1b[1mready\x1b[0m> ');
let bytes = Buffer.alloc(0);

process.stdin.setRawMode(true);
record({ started: process.pid });
if (!existsSync(`${recordFile}.mute`)) prompt();
if (batch === 0) process.stdin.on('data', read);
else {
  process.stdin.on('readable', () => {});
  setInterval(() => {
    const some = process.stdin.read(Math.min(batch, process.stdin.readableLength));
    if (some !== null) read(some);
  }, 1);
}

function read(some: Buffer): void {
  bytes = Buffer.concat([bytes, some]);
  if (bytes.includes('\x1b[200~die')) process.exit(4);
  if (!bytes.subarray(-7).equals(Buffer.from('\x1b[201~\r'))) return;
  const submitted = bytes.toString('base64');
  bytes = Buffer.alloc(0);
  record({ submitted });
  act(Buffer.from(submitted, 'base64').subarray(6, -7).toString());
}

function act(text: string): void {
  if (text === 'wait') return;
  if (text === 'exit') {
    process.stdout.write('I am\ngoing\n');
    setTimeout(() => process.exit(3), 300); // in its turn; sooner, nobody could say whether it had the prompt
    return;
  }
  if (text === 'much') process.stdout.write('ü🦜\0'.repeat(600_000));
  process.stdout.write(`I have ${[...text].length} characters 🦜.\n`);
  prompt();
}
