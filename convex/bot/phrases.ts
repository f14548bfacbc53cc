import { findCommand, type ParsedCommand } from "./commands";

/** English phrases about the bot's own functions, each of which means a command: a model might claim to have acted. */

const MY = String.raw`(?:(?:all|any|of|my|the|this|that|those|these|your) )*`;
const SHOW = String.raw`(?:(?:please|can you|could you|show|list|see|view|open|check|give|tell|what|which|what's|whats|where|how many|are|is|do|i|me|have|got|want to|go to) )*`;
const END = String.raw`(?: (?:do i have|have i got|have i set|are (?:set|on|active|there)|please|now|again|here|left))*`;
const STOP = String.raw`(?:please |can you |could you |i want to )*(?:cancel|delete|remove|stop|end|clear|kill|disable|drop|turn off|switch off|turn on|switch on|edit|change|manage|get rid of)`;
const QUIET = String.raw`(?:please |can you |could you )*(?:snooze|mute|pause|silence|unmute|resume)`;

const matchShow = (subjects: string) => new RegExp(`^${SHOW}${MY}(?:${subjects})${END}$`);

/** The first that fits counts; of several commands the first that the bot has. */
const PHRASES: readonly (readonly [words: RegExp, ...commands: string[]])[] = [
  [matchShow("(?:latest |last )?whale alerts|whales"), "whales"],
  [matchShow("(?:latest |last |today's |todays |trading )*signals?|signals? (?:for )?today"), "signals"],
  [matchShow("(?:signals? )?(?:track )?record|win ?rate|signal (?:results|performance)"), "record"],
  [
    new RegExp(
      `^(?:${STOP}|${QUIET}|(?:un)?subscribe(?: me)?(?: to| from)?|send me|i want) ${MY}(?:daily |weekly |trading |whale )*(?:signals?|news|updates|whales|whale alerts|recap|outcomes|subscriptions?|notifications|messages)(?: .{1,20})?$`,
    ),
    "subscribe",
  ],
  [/^(?:unsubscribe|subscribe)(?: me)?$/, "subscribe"],
  [
    new RegExp(
      `^(?:${STOP}|${QUIET}) ${MY}(?:[$\\w]+ ){0,3}(?:alert|alarm|(?:standing|recurring) order|dca|digest)s?(?: .{1,40})?$`,
    ),
    "alerts",
  ],
  [
    new RegExp(
      `^${QUIET}(?: (?:it|this|that|me))?(?: for)?(?: (?:an?|one|two|\\d+) ?(?:h|m|min|hours?|minutes?|days?))?$`,
    ),
    "alerts",
  ],
  [matchShow("(?:active |price |current |open )?(?:\\w+ )?(?:alert|alarm)s?"), "alerts"],
  [matchShow("(?:standing|recurring) orders?|dca(?: plans?| orders?)?"), "alerts"],
  [new RegExp(`^${STOP} ${MY}(?:research|shifts?|research shifts?)$`), "stop"],
  [matchShow("(?:research |shift )?status|how is my research doing"), "status"],
  [new RegExp(`^${SHOW}my (?:research|shifts?|research shifts?)${END}$`), "status"],
  [
    matchShow(
      "deposit(?: address| money| funds| usdc| eth)?|pay in|top up(?: my wallet)?|add (?:funds|money)|fund my wallet|wallet(?: address)?|address|(?:create|make)(?: me)? (?:a |my )?wallet",
    ),
    "wallet",
  ],
  [/^how (?:do|can) i (?:deposit|pay in|top up|add (?:funds|money)|fund my wallet)(?: .{1,20})?$/, "wallet"],
  [matchShow("portfolio|balances?|holdings|what i (?:hold|own)|what do i (?:hold|own)"), "portfolio"],
  [matchShow("order history|history|trades|past (?:trades|orders)|transactions"), "history"],
  [matchShow("(?:open |active |pending |last |latest |recent )*orders?"), "orders"],
  [new RegExp(`^${STOP} ${MY}(?:[$\\w]+ ){0,2}orders?(?: .{1,20})?$`), "orders"],
  [/^(?:what|which) orders (?:are|do i have)(?: .{1,20})?$/, "orders"],
  [matchShow("(?:daily |spending |trading )?limits?"), "limits"],
  [
    /^(?:please )?(?:raise|lower|increase|decrease|change|set|edit) (?:my |the )?(?:daily |spending |trading )?limits?(?: .{1,20})?$/,
    "limits",
  ],
  [matchShow("recipients|address book|contacts"), "recipients"],
  [
    /^(?:add|remove|delete|change) (?:an? |my |the )?(?:recipients?|address(?: book)?|contact)(?: .{1,60})?$/,
    "recipients",
  ],
  [/^(?:get|buy|i need|need|i have no|no)(?: some| more)? (?:gas|eth for (?:gas|fees)|gas money)$/, "gas"],
  [matchShow("paper(?: mode| trading| account)?"), "paper", "help"],
  [
    /^(?:switch|turn|go|use|start|try)(?: on| off| to| with| into)* (?:paper|demo|play)(?: mode| trading| money)?(?: on| off)?$/,
    "paper",
    "help",
  ],
  [matchShow("(?:api |access )?keys?|account id|id"), "ai"],
  [
    /^(?:i want |i need |give me |get |create |make |revoke |delete |remove |rotate )(?:an? |my |the |all )*(?:api |access |new )*keys?(?: .{1,20})?$/,
    "ai",
  ],
  [/^(?:connect|use|link)(?: .{0,20})? (?:claude|chatgpt|cursor|ai client|ai)(?: .{0,20})?$/, "ai"],
  [
    /^(?:my )?(?:account )?id (?:was |has |is |got )*leaked$|^(?:replace|new|change) (?:my )?(?:account )?id$/,
    "newid",
  ],
  [matchShow("logins?|other logins?"), "login"],
  [/^(?:change|add|move|make|set)(?: up)? (?:my |a |an |another |the |new )*login(?: .{1,30})?$/, "login"],
  [/^(?:please )?freeze (?:my |the )?(?:account|wallet|everything|all)(?: now)?$/, "freeze"],
  [
    /^(?:please )?(?:unfreeze|thaw|end the freeze|end freeze)(?: (?:my|the) (?:account|wallet))?$/,
    "unfreeze",
  ],
  [/^(?:export|download|give me|send me) (?:all )?(?:my |the )?data$/, "export"],
  [/^(?:delete|erase|remove) (?:all )?(?:my )?(?:data|account|everything)$/, "delete"],
  [/^(?:unlink|disconnect)(?: (?:my|the|this) (?:account|chat|messenger))?$/, "unlink"],
  [matchShow("page|account|dashboard|profile|settings"), "me"],
  [matchShow("subscriptions|notifications"), "subscribe"],
  [/^(?:help|what can you do|what do you do|how does this work|what is this|help me|commands|menu)$/, "help"],
];

/** The command that a phrase means, or `null`. Its argument stays empty: only taps and typed commands have one. */
export function parsePhrase(text: string): ParsedCommand | null {
  const words = text
    .toLowerCase()
    .replaceAll("’", "'")
    .replace(/[.!?,](?!\S)/g, "")
    .replace(/\s+/g, " ")
    .trim();
  // “What is a limit order” asks for a definition.
  if (
    words.length > 100 ||
    /^what(?:'s| is| are) (?!.{0,60}\b(?:my|the|your|set|this|todays)\b|today's)/.test(words)
  )
    return null;
  const [, ...names] = PHRASES.find(([pattern]) => pattern.test(words)) ?? [/$/];
  const name = names.find((one) => findCommand(one) !== null);
  return name === undefined ? null : { name, to: null, argument: "" };
}
