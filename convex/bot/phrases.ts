import { findCommand, type ParsedCommand } from "./commands";

/** A person's words about the bot's own functions, in English, which code leads to a command: no model may claim to have acted. */

const MY = String.raw`(?:(?:all|any|of|my|the|this|that|those|these|your) )*`;
const SHOW = String.raw`(?:(?:please|can you|could you|show|list|see|view|open|check|give|tell|what|which|what's|whats|where|how many|are|is|do|i|me|have|got|want to|go to) )*`;
const END = String.raw`(?: (?:do i have|have i got|have i set|are (?:set|on|active|there)|please|now|again|here|left))*`;
const STOP = String.raw`(?:please |can you |could you |i want to )*(?:cancel|delete|remove|stop|end|clear|kill|disable|drop|turn off|switch off|turn on|switch on|edit|change|manage|get rid of)`;
const QUIET = String.raw`(?:please |can you |could you )*(?:snooze|mute|pause|silence|unmute|resume)`;

const shown = (subjects: string) => new RegExp(`^${SHOW}${MY}(?:${subjects})${END}$`);

/** The first that fits counts. */
const PHRASES: readonly (readonly [words: RegExp, command: string])[] = [
  [shown("(?:latest |last )?whale alerts|whales"), "whales"],
  [new RegExp(`^(?:${STOP}|${QUIET}) ${MY}(?:[$\\w]+ ){0,3}(?:alert|alarm)s?(?: .{1,40})?$`), "alerts"],
  [
    new RegExp(
      `^${QUIET}(?: (?:it|this|that|me))?(?: for)?(?: (?:an?|one|two|\\d+) ?(?:h|m|min|hours?|minutes?|days?))?$`,
    ),
    "alerts",
  ],
  [shown("(?:active |price |current |open )?(?:\\w+ )?(?:alert|alarm)s?"), "alerts"],
  [
    shown(
      "deposit(?: address| money| funds| usdc| eth)?|pay in|top up(?: my wallet)?|add (?:funds|money)|fund my wallet|wallet(?: address)?|address",
    ),
    "wallet",
  ],
  [/^how (?:do|can) i (?:deposit|pay in|top up|add (?:funds|money)|fund my wallet)(?: .{1,20})?$/, "wallet"],
  [shown("portfolio|balances?|holdings"), "portfolio"],
  [shown("orders|order history|history|trades|transactions"), "orders"],
  [shown("(?:daily |spending )?limits?"), "limits"],
  [shown("recipients|address book"), "recipients"],
  [shown("subscriptions|notifications"), "subscribe"],
  [/^(?:what can you do|what do you do|help me|commands|menu)$/, "help"],
];

/** The command that a person's words mean; `null` for any others. Its argument stays empty: only taps and commands have one. */
export function parsePhrase(text: string): ParsedCommand | null {
  const words = text
    .toLowerCase()
    .replaceAll("’", "'")
    .replace(/[.!?,](?!\S)/g, "")
    .replace(/\s+/g, " ")
    .trim();
  if (words.length > 100) return null;
  const found = PHRASES.find(([pattern]) => pattern.test(words))?.[1];
  return found === undefined || findCommand(found) === null ? null : { name: found, to: null, argument: "" };
}
