/** Words that say how often or what part, without a digit. */

/** As percentages: a change, or a share, and how far the fact may lie from it. */
export const MULTIPLES: readonly { pattern: RegExp; percent: number; within: number }[] = [
  { pattern: /\b(?:doubled|doubles|doubling|twofold)\b/gi, percent: 100, within: 5 },
  // Not a double top, nor double digits.
  {
    pattern: /\b(?:to|could|can|may|might|will|would|than|nearly|almost) double\b(?!-)/gi,
    percent: 100,
    within: 5,
  },
  { pattern: /\btwice (?:its|their)\b/gi, percent: 100, within: 5 },
  { pattern: /\b(?:tripled|triples|tripling|threefold)\b/gi, percent: 200, within: 10 },
  {
    pattern: /\b(?:to|could|can|may|might|will|would|than|nearly|almost) triple\b(?!-)/gi,
    percent: 200,
    within: 10,
  },
  { pattern: /\b(?:quadrupled|quadruples|quadrupling|fourfold)\b/gi, percent: 300, within: 15 },
  { pattern: /\bfivefold\b/gi, percent: 400, within: 20 },
  { pattern: /\bsixfold\b/gi, percent: 500, within: 25 },
  { pattern: /\bsevenfold\b/gi, percent: 600, within: 30 },
  { pattern: /\beightfold\b/gi, percent: 700, within: 35 },
  { pattern: /\bninefold\b/gi, percent: 800, within: 40 },
  { pattern: /\btenfold\b/gi, percent: 900, within: 45 },
  { pattern: /\b(?:halved|halves|halving of|in half)\b/gi, percent: -50, within: 2.5 },
  {
    pattern: /\b(?:(?:one[- ])?half of (?:all|the|its|their|supply|coins)|half (?:its|their)|by half)\b/gi,
    percent: 50,
    within: 2.5,
  },
  { pattern: part("third"), percent: 33.333, within: 1.7 },
  { pattern: /\btwo[- ]thirds of (?:all|the|its|their)\b/gi, percent: 66.667, within: 1.7 },
  { pattern: part("quarter"), percent: 25, within: 1.3 },
  { pattern: /\bthree[- ]quarters of (?:all|the|its|their)\b/gi, percent: 75, within: 1.3 },
  { pattern: part("fifth"), percent: 20, within: 1 },
  { pattern: part("tenth"), percent: 10, within: 0.5 },
];

/** `a third of its value`, `by a third`. */
function part(name: string): RegExp {
  return new RegExp(
    `\\b(?:(?:a|one)[- ]${name} of (?:all|the|its|their)|by (?:a|one)[- ]${name}(?! of))\\b`,
    "gi",
  );
}

/** "twice Ether's", "half that of Ether": what one amount is of another, by the word for it. */
export const RATIO_WORDS: Readonly<Record<string, number>> = {
  ...{ twice: 2, double: 2, triple: 3, "three times": 3, "four times": 4, "five times": 5 },
  ...{
    half: 1 / 2,
    "a third of": 1 / 3,
    "one third of": 1 / 3,
    "a quarter of": 1 / 4,
    "two thirds of": 2 / 3,
  },
};
export const RATIOS = new RegExp(
  `\\b(${Object.keys(RATIO_WORDS).join("|").replaceAll(" ", "[ -]")})(?= (?:of )?(?:that of |\\$?[A-Z][\\w.]*['’]s ))`,
  "gi",
);
/** How far two amounts may lie from the word for what one is of the other. */
export const RATIO_ROUNDING = 0.06;
export const MORE_THAN = /\b(?:more than|over|above|better than)\s+$/i;
export const LESS_THAN = /\b(?:less than|fewer than|under|below|not quite)\s+$/i;

/** `nine in ten wallets`: no fact says a share like that. */
export const SHARE =
  /\b(?:one|two|three|four|five|six|seven|eight|nine) (?:in|out of) (?:every )?(?:two|three|four|five|six|seven|eight|nine|ten)\b/gi;
