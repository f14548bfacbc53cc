/** Part of the messenger's stand-in for local use: inline keyboards, checked as the Bot API checks them. */

import * as z from "zod";
import { refuse } from "./refusal";
import { parseJson } from "../../json";

const button = z.looseObject({
  text: z.string(),
  url: z.string().optional(),
  callback_data: z.string().optional(),
});
const markupShape = z.looseObject({ inline_keyboard: z.array(z.array(button)) });

type Button = z.infer<typeof button>;
export type Keyboard = Button[][];

const MOST_BUTTONS = 100;

/** @param given `reply_markup` as sent: an object, or in a form its JSON. @throws Refusal */
export function readKeyboard(given: unknown): Keyboard {
  if (given === undefined || given === "") return [];
  const parsed = markupShape.safeParse(typeof given === "string" ? parseJson(given) : given);
  if (!parsed.success) return refuse("object expected as reply markup");
  const keyboard = parsed.data.inline_keyboard.filter((row) => row.length > 0);
  const buttons = keyboard.flat();
  if (buttons.length > MOST_BUTTONS) return refuse("reply markup is too long");
  for (const one of buttons) {
    const problem = problemOfButton(one);
    if (problem !== null) refuse(problem);
  }
  return keyboard;
}

/** A button does exactly one thing. */
function problemOfButton({ text, url, callback_data: data, ...others }: Button): string | null {
  if (text.trim() === "") return "inline keyboard button text is empty";
  if (Object.keys(others).length > 0 || (url === undefined) === (data === undefined)) {
    return "text buttons are unallowed in the inline keyboard";
  }
  if (data !== undefined) {
    const bytes = new TextEncoder().encode(data).length;
    return bytes >= 1 && bytes <= 64 ? null : "BUTTON_DATA_INVALID";
  }
  const isPublic = url !== undefined && /^(?:https?|tg):\/\/[^/\s]+\.[^\s]+$/.test(url);
  return isPublic ? null : `inline keyboard button URL '${url ?? ""}' is invalid: Wrong HTTP URL`;
}
