import { createInterface, type Interface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { command, Misuse, OperatorError } from "./command";
import { bold, dim, framedCard } from "./terminal";
import { isNamed } from "./standins/messengerForms";

/**
 * `npm run bot`: a chat with the bot of the running local stack. Every typed line becomes a message of the messenger
 * stand-in's, the tap on a button with these words, or the opening of a link to the bot; what the bot sends to the chat
 * is shown. Lines may come from a pipe as well.
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
  else await readOut(lines, answers, options);
}

/** A person types; answers are shown as they come. */
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
  // The stack may stop: then there is nobody to talk with.
  const watching = watch().finally(() => {
    if (open) process.stdout.write("\r\u001b[2K");
    open = false;
    lines.close();
  });
  watching.catch(() => {});
  for await (const line of lines) {
    // A button that is gone, or an update that was refused, is no end of the chat.
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

/** A pipe: a line is sent when the one before it was answered, and late answers are waited for at the end. */
async function readOut(lines: Interface, answers: Answers, options: Options): Promise<void> {
  const show = (cards: Message[]) => {
    for (const card of cards) console.log(`${framedCard(formatMessage(card, options.base))}\n`);
    return cards.some(({ text }) => !isPlaceholder(text));
  };
  for await (const line of lines) {
    if (line.trim() === "") continue;
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

/** What the bot has sent to the chat since the last look. */
function createAnswers({ base, chat }: Options) {
  let latest = 0;
  let atLatest = 0;
  const buttons = new Set<string>();
  const fresh = async () => {
    const sent = z.array(messageShape).parse(await call(`${base}/_sent/messenger`));
    // Several may share a millisecond, so those of the latest one are counted.
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

/** “Thinking…”: the answer takes its place. */
function isPlaceholder(text: string): boolean {
  return text.endsWith("…") && !text.includes("\n");
}

/** A message with the way to its picture above it, and its buttons below. */
function formatMessage({ text, messageId, photo, keyboard = [] }: Message, base: string): string {
  const file = `${base}/_sent/messenger/pictures/${messageId}.png`;
  const picture = photo === undefined ? [] : [`[picture: ${file}]`];
  const rows = keyboard.map((row) => row.map((button) => `[${button.text}]`).join(" "));
  return [...picture, ...(text === "" ? [] : [text]), ...rows].join("\n\n");
}

async function say(text: string, answers: Answers, { base, chat }: Options): Promise<void> {
  const isTap = answers.hasButton(text);
  const deed = isTap ? { button: text } : { text: openedLink(text) };
  const body = JSON.stringify({ chatId: Number(chat), ...deed });
  const url = `${base}/_control/messenger/${isTap ? "tap" : "say"}`;
  const { status } = saidShape.parse(await call(url, { method: "POST", body }));
  if (status !== 200) throw new OperatorError(`The bot's webhook answered with status ${status}`);
}

/** Opening a link that leads to the bot says this; any other line is said as it is. */
function openedLink(line: string): string {
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

/** Whole, or not at all: the stack may stop in the middle of it. */
async function readAnswer(url: string, init?: RequestInit): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url, init);
  return { status: response.status, body: await response.json() };
}

await command({ usage: USAGE, flags: FLAGS }, ({ values }) => main(parseOptions(values)));
