import { conditionShape, type Condition } from "./conditions";
import { WINDOWS } from "./grammar";
import { hasAmbiguousNumber, NUMBER, numberOf } from "./numbers";
import { ambiguityOf, nearest } from "./refusals";
import { timeOf, zoneOf } from "./times";
import { COIN_NAMES, plainly } from "./vocabulary";

/**
 * Reads an alert from plain English. The whole text has to fit a phrase: a word that is not understood may turn its meaning
 * round. Pure.
 */

export type Reading =
  | { kind: "condition"; condition: Condition }
  /** It means several things, or none that is measured; `say` tells what to say instead. */
  | { kind: "refused"; say: string }
  /** No phrase of the grammar; `say` is what comes nearest. */
  | { kind: "unknown"; say: string };

const refused = (say: string): Reading => ({ kind: "refused", say });

const OPENINGS =
  /^(?:please |hey |hi |ok )?(?:can you |could you |i want to know |i(?:'d| would) like to know |set (?:up )?(?:an |a )?(?:alert|alarm) |create (?:an |a )?(?:alert|alarm) )?(?:please )?(?:(?:alert|tell|notify|ping|warn|message|inform|remind) me |let me know |send me |give me |i want |alert |alarm )?(?:please )?(?:whenever|when|if|once|as soon as|for|on)? ?(?:the |a |an )?/;

const tokenAs = (group: "name" | "other") =>
  String.raw`\$?(?<${group}>${Object.keys(COIN_NAMES).join("|")})(?:'s)?`;
const TOKEN = tokenAs("name");

/** Words that say nothing of a direction. */
const NEUTRAL = "is|goes|gets|moves|trades|comes|becomes|turns|breaks";
const RISES = "rises|climbs|goes up|jumps|moves up|increases|pumps|spikes|surges";
const FALLS = "falls|drops|dips|goes down|sinks|moves down|decreases|dumps|crashes|slides";
const OVER = String.raw`above|over|higher than|more than|greater than|at least|at or above|past|beyond|>=?|≥`;
const UNDER = String.raw`below|under|lower than|less than|beneath|at most|at or below|at or under|<=?|≤`;
const DOLLARS = String.raw`(?: ?(?:\$|usd|dollars?|us dollars?|bucks))?`;
const MONEY = String.raw`(?:\$ ?|usd ?)?${NUMBER}${DOLLARS}`;
const PERCENT = String.raw`${NUMBER} ?(?:%|percent|per cent|pct)`;

const whole = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`);

const PRICE = whole(
  String.raw`(?:price of )?${TOKEN}(?: price)?(?: (?:(?<neutral>${NEUTRAL})|(?<rises>${RISES})|(?<falls>${FALLS})))? ?(?:(?<over>${OVER})|(?<under>${UNDER})|(?<to>to)) ?${MONEY}`,
);
const CHANGE = whole(
  String.raw`(?:price of )?${TOKEN}(?: price)?(?: (?:is|goes|moves|gets|has gone))? ?(?:(?<up>up|gains?|gained|rises?|rose|rising|climbs?|jumps?|pumps?|surges?|increases?|grows?|rallies)|(?<down>down|loses?|lost|drops?|dropped|falls?|fell|falling|dumps?|declines?|decreases?|crashes|slides?|dips?)|(?<plus>\+)|(?<minus>[-−]))(?: by| of)?(?: more than| at least| over)? ?${PERCENT}(?: or more)?(?: (?:in|within|over|during|inside)(?: the)?(?: last| past)? (?<window>.+))?`,
);
const FUNDING = whole(
  String.raw`(?:${TOKEN} (?:perp(?:etual)? )?funding(?: rate)?|(?:perp(?:etual)? )?funding(?: rate)? (?:of|for|on) ${tokenAs("other")})(?: (?:(?<neutral>${NEUTRAL})|(?<rises>${RISES})|(?<falls>${FALLS})))? ?(?:(?<over>${OVER})|(?<under>${UNDER})) ?(?<sign>[-−+])?${PERCENT}(?: ?(?:per hour|an hour|hourly|each hour|/ ?h|/ ?hr|/ ?hour))?`,
);
const WAY = String.raw`(?<way>inflows?|outflows?)`;
const MORE = String.raw`(?:${OVER}|of at least|of more than|of over|worth over|worth more than|worth at least|from)`;
const FLOW = [
  whole(
    String.raw`(?:(?:single )?(?:whale|exchange|cex) )?(?:exchange )?${WAY} (?:of|in) ${TOKEN} (?:is )?${MORE} ?${MONEY}(?: or more)?`,
  ),
  whole(
    String.raw`(?:whale |exchange )?${TOKEN} (?:whale |exchange |cex )*${WAY} (?:is )?${MORE} ?${MONEY}(?: or more)?`,
  ),
  whole(
    String.raw`(?:a )?whale (?:moves?|sends?|deposits?|transfers?) (?:more than |over |at least )${MONEY}(?: worth)?(?: of| in)? ${TOKEN} (?<way>to|into|onto) (?:an |a |the )?exchanges?`,
  ),
  whole(
    String.raw`(?:a )?whale (?:moves?|withdraws?|pulls?|transfers?) (?:more than |over |at least )${MONEY}(?: worth)?(?: of| in)? ${TOKEN} (?<way>from|out of|off) (?:an |a |the )?exchanges?`,
  ),
];
const DIGEST = [
  whole(
    String.raw`(?:daily |morning |evening |market |my )*(?:digest|summary)(?: every day| daily| each day| every morning| every evening)? (?:at |@ ?)(?<time>.+)`,
  ),
  whole(
    String.raw`(?:every day|daily|each day)(?: at|,)? (?<time>\d.*?),? (?:send me |give me )?(?:a |the |my )?(?:daily |market )*(?:digest|summary)`,
  ),
];

/** The way of a name that stands for exchanges: inflow is into them. */
const WAYS: Readonly<Record<string, "in" | "out">> = {
  ...{ inflow: "in", inflows: "in", to: "in", into: "in", onto: "in" },
  ...{ outflow: "out", outflows: "out", from: "out", "out of": "out", off: "out" },
};

export function readPhrase(asked: string): Reading {
  // Raised, circled and broken digits would come out as plain ones: 10⁵ as 105.
  if (/\p{No}/u.test(asked)) return refused("Write the number in plain digits: BTC above 100,000.");
  const { spaced, text } = plainly(asked);
  if (hasAmbiguousNumber(text))
    return refused("Write the number with a comma for thousands and a point for decimals: 100,000 or 2.5.");
  const words = text.replace(OPENINGS, "");
  const read =
    readPrice(words) ??
    readChange(words) ??
    readFunding(words) ??
    readFlow(words) ??
    readDigest(words, spaced);
  if (read !== null) return read;
  const say = ambiguityOf(text);
  return say === null ? { kind: "unknown", say: nearest(text) } : refused(say);
}

/** The grammar decides; what it does not allow is told with what it does. */
function judged(proposal: unknown, otherwise: string): Reading {
  const { success, data } = conditionShape.safeParse(proposal);
  return success ? { kind: "condition", condition: data } : refused(otherwise);
}

const CONTRADICTION = "That says up and down at once: say above, or say below.";

type Groups = Partial<Record<string, string>>;

/** The parts of words that fit a pattern, with their coin and their number; `null` for others. */
function partsOf(pattern: RegExp, text: string) {
  const groups: Groups | undefined = pattern.exec(text)?.groups;
  if (groups === undefined) return null;
  const { other = "", name = other, digits = "", multiple } = groups;
  return { groups, name, token: COIN_NAMES[name] ?? "", digits, multiple };
}

/** Whether it is above or below, by the preposition; `null` where the verb says the opposite. */
function sideOf({ rises, falls, over, under, to }: Groups): "above" | "below" | "none" | null {
  if (over !== undefined) return falls === undefined ? "above" : null;
  if (under !== undefined) return rises === undefined ? "below" : null;
  if (to === undefined) return "none";
  if (rises !== undefined) return "above";
  return falls === undefined ? "none" : "below";
}

function readPrice(text: string): Reading | null {
  const parts = partsOf(PRICE, text);
  if (parts === null) return null;
  const { groups, token, digits, multiple } = parts;
  const direction = sideOf(groups);
  if (direction === null) return refused(CONTRADICTION);
  if (direction === "none") return refused(`Say above or below: ${token} above ${digits}${multiple ?? ""}.`);
  return judged(
    { kind: "price", token, direction, levelUsd: numberOf(digits, multiple) },
    "Prices are measured of BTC and ETH, in USD: BTC above 100,000.",
  );
}

const WINDOW = /^(?:(\d{1,4}|an?|one)[ -]?)?(h|hr|hrs|hours?|d|days?|w|weeks?)$/;
const HOURS_OF: Readonly<Record<string, number>> = { h: 1, d: 24, w: 168 };

function readChange(text: string): Reading | null {
  const parts = partsOf(CHANGE, text);
  if (parts === null) return null;
  const { groups, token, digits, multiple } = parts;
  const { up, plus, window } = groups;
  if (window === undefined)
    return refused(`Say within what time: ${token} ${(up ?? plus) ? "up" : "down"} ${digits} % in 24 h.`);
  const [, count = "1", unit = ""] = WINDOW.exec(window) ?? [];
  const hours = (/^\d/.test(count) ? Number(count) : 1) * (HOURS_OF[unit.charAt(0)] ?? NaN);
  if (multiple !== undefined || !WINDOWS.some((one) => one === hours))
    return refused(
      `Say the time in hours or days, one of ${WINDOWS.join(", ")} hours: ${token} down 5 % in 24 h.`,
    );
  const percent = numberOf(digits, undefined);
  const direction = up === undefined && plus === undefined ? "down" : "up";
  return judged(
    { kind: "change", token, direction, percent, windowHours: hours },
    "Changes are measured of BTC and ETH, from 0.1 % on; a price falls by less than 100 %: BTC down 5 % in 24 h.",
  );
}

function readFunding(text: string): Reading | null {
  const parts = partsOf(FUNDING, text);
  if (parts === null) return null;
  const { groups, token, digits, multiple } = parts;
  const direction = sideOf(groups);
  if (direction === null && (groups["sign"] ?? "+") === "+") return refused(CONTRADICTION);
  const value = numberOf(digits, multiple);
  const percentPerHour = groups["sign"] === undefined || groups["sign"] === "+" ? value : -value;
  return judged(
    { kind: "funding", token, direction, percentPerHour: percentPerHour + 0 },
    "Funding rates are of BTC, ETH and SOL, in percent per hour, up to 4: ETH funding above 0.05 %.",
  );
}

const STABLE: readonly string[] = ["USDC", "USDT", "DAI"];

function readFlow(text: string): Reading | null {
  for (const pattern of FLOW) {
    const parts = partsOf(pattern, text);
    if (parts === null) continue;
    const { groups, name, token, digits, multiple } = parts;
    const { way = "inflow" } = groups;
    if (!STABLE.includes(token) && !isInUsd(text.replace(`$${name}`, "")))
      return refused(`Say the worth in USD: whale ${way} of ${token} over $10M.`);
    return judged(
      { kind: "flow", token, direction: WAYS[way], overUsd: numberOf(digits, multiple) },
      "Movements are measured on Base of USDC, USDT, DAI, ETH, WETH and cbBTC, from 1,000,000 USD on: whale inflow of USDC over 10M.",
    );
  }
  return null;
}

function isInUsd(text: string): boolean {
  return /\$|\busd\b|dollar|bucks/.test(text);
}

function readDigest(text: string, spaced: string): Reading | null {
  for (const pattern of DIGEST) {
    const said = pattern.exec(text)?.groups?.["time"];
    if (said === undefined) continue;
    const read = timeOf(said);
    if (read === null)
      return refused("Say hours and minutes: digest at 07:30, or digest at 07:30 Europe/Berlin.");
    if (isOtherHalf(text, read.time))
      return refused("That says morning and evening at once: say digest at 19:30.");
    const zone = zoneOf(read.rest, spaced);
    if (zone === null)
      return refused(
        "Name the zone by a city, as in Europe/Berlin or America/New_York, or leave it out for UTC.",
      );
    return judged({ kind: "digest", time: read.time, timeZone: zone }, "Say it like this: digest at 07:30.");
  }
  return null;
}

/** Whether a time is in the morning where the words say evening, or the other way round. */
function isOtherHalf(text: string, time: string): boolean {
  return (time < "12:00" && /\bevening\b/.test(text)) || (time >= "12:00" && /\bmorning\b/.test(text));
}
