import { createInterface, type Interface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { command, Misuse, OperatorError } from "./command";
import { bold, dim, framedCard } from "./terminal";
import { isNamed } from "./standins/messengerForms";

/**
 * `npm run bot`: a chat with the bot of the running local stack. Each typed line becomes a message to the messenger
 * stand-in, the tap on a button with this text, or the opening of a link to the bot; the bot's messages to the chat are
 * shown. Lines may also come from a pipe.
 */

const USAGE = `Usage: npm run bot [-- --chat N] [--linger SECONDS]

  --chat N           the chat's id, 1001 by default; a negative one is a group
  --linger SECONDS   how long to wait for late answers after the last line of a pipe (6)

Environment: PROVIDERS_PORT (3299)`;

const POLL_MS = 250;
/** Longer than a queued answer takes. */
const ANSWER_WAIT_MS = 30_000;

const messageShape = z.object({
  chatId: z.string(),
  method: z.string(),
  text: z.string(),
  at: z.number(),
  messageId: z.number().optional(),
  photo: z.object({ width: z.number(), height: z.number() }).optional(),
  keyboard: z.array(z.array(z.object({ text: z.string() }))).optional(),
});
type Message = z.infer<typeof messageShape>;
const saidShape = z.object({ status: z.number() });

type Options = { base: string; chat: string; lingerMs: number };

const FLAGS = {
  chat: { type: "string", default: "1001" },
  linger: { type: "string", default: "6" },
} as const;

function parseOptions({ chat, linger }: Record<"chat" | "linger", string>): Options {
  if (!/^-?[1-9]\d{0,15}$/.test(chat)) throw new Misuse("--chat must be a chat's numeric id");
  if (!/^\d{1,4}$/.test(linger)) throw new Misuse("--linger must be a number of seconds");
  const base = `http://127.0.0.1:${process.env.PROVIDERS_PORT || "3299"}`;
  return { base, chat, lingerMs: Number(linger) * 1_000 };
}

async function main(options: Options): Promise<void> {
  const answers = createAnswers(options);
  await answers.fresh();
  const terminal = process.stdin.isTTY;
  console.log(bold(`Chat ${options.chat} with the bot of the local stack`));
  console.log(
    dim("Try /help. To tap a button or to open a link to the bot, type it. Ctrl-D ends the chat.\n"),
  );
  const lines = createInterface({
    input: process.stdin,
    ...(terminal ? { output: process.stdout } : {}),
    prompt: "you> ",
  });
  if (terminal) await converse(lines, answers, options);
  else await runPiped(lines, answers, options);
}

/** Interactive use: answers are shown as they arrive. */
async function converse(lines: Interface, answers: Answers, options: Options): Promise<void> {
  let open = true;
  const show = (cards: Message[]) => {
    if (cards.length === 0) return;
    process.stdout.write("\r\u001b[2K");
    for (const card of cards) console.log(framedCard(formatMessage(card, options.base)));
    lines.prompt(true);
  };
  const watch = async () => {
    while (open) {
      show(await answers.fresh());
      await sleep(POLL_MS);
    }
  };
  lines.prompt();
  // The stack may stop, which ends the chat.
  const watching = watch().finally(() => {
    if (open) process.stdout.write("\r\u001b[2K");
    open = false;
    lines.close();
  });
  watching.catch(() => {});
  for await (const line of lines) {
    // A missing button, or a refused update, does not end the chat.
    if (line.trim() !== "")
      await say(line, answers, options).catch((error: unknown) => {
        if (!(error instanceof OperatorError)) throw error;
        console.log(dim(error.message));
      });
    if (open) lines.prompt();
  }
  open = false;
  await watching;
}

/** Piped use: each line is sent when the one before it was answered; late answers are awaited at the end. */
async function runPiped(lines: Interface, answers: Answers, options: Options): Promise<void> {
  const show = (cards: Message[]) => {
    for (const card of cards) console.log(`${framedCard(formatMessage(card, options.base))}\n`);
    return cards.some(({ text }) => !isPlaceholder(text));
  };
  for await (const line of lines) {
    if (line.trim() === "") continue;
    // A button that has arrived meanwhile is tapped.
    show(await answers.fresh());
    console.log(`${bold("you>")} ${line}`);
    await say(line, answers, options);
    const until = performance.now() + ANSWER_WAIT_MS;
    while (!show(await answers.fresh()) && performance.now() < until) await sleep(POLL_MS);
  }
  const until = performance.now() + options.lingerMs;
  while (performance.now() < until) {
    show(await answers.fresh());
    await sleep(POLL_MS);
  }
}

type Answers = ReturnType<typeof createAnswers>;

/** The bot's messages to the chat since the last poll. */
function createAnswers({ base, chat }: Options) {
  let latest = 0;
  let atLatest = 0;
  const buttons = new Set<string>();
  const fresh = async () => {
    const sent = z.array(messageShape).parse(await call(`${base}/_sent/messenger`));
    // Several messages may share a millisecond, so count those of the latest one.
    const since = sent.filter(({ chatId, at }) => chatId === chat && at >= latest).slice(atLatest);
    for (const { at } of since) {
      atLatest = at === latest ? atLatest + 1 : 1;
      latest = at;
    }
    const cards = since.filter(({ method }) => method !== "sendChatAction");
    for (const { text } of cards.flatMap(({ keyboard = [] }) => keyboard.flat())) buttons.add(text);
    return cards;
  };
  return {
    fresh,
    /** Whether a button with these words has been shown. */
    hasButton: (words: string) => [...buttons].some((text) => isNamed(text, words)),
  };
}

/** Whether a message is the placeholder “Thinking…”, which the answer replaces. */
function isPlaceholder(text: string): boolean {
  return text.endsWith("…") && !text.includes("\n");
}

/** A message, with its picture's address above and its buttons below. */
function formatMessage({ text, messageId, photo, keyboard = [] }: Message, base: string): string {
  const file = `${base}/_sent/messenger/pictures/${messageId}.png`;
  const picture = photo === undefined ? [] : [`[picture: ${file}]`];
  const rows = keyboard.map((row) => row.map((button) => `[${button.text}]`).join(" "));
  return [...picture, ...(text === "" ? [] : [text]), ...rows].join("\n\n");
}

async function say(text: string, answers: Answers, { base, chat }: Options): Promise<void> {
  const isTap = answers.hasButton(text);
  const action = isTap ? { button: text } : { text: toStartMessage(text) };
  const body = JSON.stringify({ chatId: Number(chat), ...action });
  const url = `${base}/_control/messenger/${isTap ? "tap" : "say"}`;
  const { status } = saidShape.parse(await call(url, { method: "POST", body }));
  if (status !== 200) throw new OperatorError(`The bot's webhook answered with status ${status}`);
}

/** The message behind a link to the bot; any other line unchanged. */
function toStartMessage(line: string): string {
  const [, start] = /^https:\/\/t\.me\/\w+\?start=([\w-]{1,64})$/.exec(line.trim()) ?? [];
  return start === undefined ? line : `/start ${start}`;
}

async function call(url: string, init?: RequestInit): Promise<unknown> {
  const { status, body } = await readAnswer(url, init).catch((cause: unknown) => {
    throw new OperatorError(
      `There is no local stack behind ${new URL(url).origin}: start it with npm start, or set PROVIDERS_PORT to the ` +
        "port of its stand-ins.",
      { cause },
    );
  });
  if (status !== 200) throw new OperatorError(`The stand-ins answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** Reads the whole answer or fails: the stack may stop in the middle of it. */
async function readAnswer(url: string, init?: RequestInit): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url, init);
  return { status: response.status, body: await response.json() };
}

await command({ usage: USAGE, flags: FLAGS }, ({ values }) => main(parseOptions(values)));
