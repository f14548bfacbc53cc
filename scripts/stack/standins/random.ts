/**
 * Part of the stand-ins for local use: seeded randomness. Everything the stand-ins make up derives from a seed and a
 * few words, so that the same request at the same moment gets the same answer.
 */

/** FNV-1a with a final mix: 32 well-spread bits for a text. */
export function hash(text: string): number {
  let state = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193);
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}

/** A number in [0, 1) that belongs to these words. */
export function unit(...words: (string | number)[]): number {
  return hash(words.join("\u0000")) / 2 ** 32;
}

/** A number in [-1, 1] that changes smoothly with `position`, with new values at every whole number. */
export function smoothNoise(position: number, ...words: (string | number)[]): number {
  const left = Math.floor(position);
  const part = position - left;
  const weight = part * part * (3 - 2 * part);
  const at = (lattice: number) => 2 * unit(...words, lattice) - 1;
  return at(left) * (1 - weight) + at(left + 1) * weight;
}

export type Random = {
  /** In [from, to). */
  between(from: number, to: number): number;
  /** A whole number in [from, to]. */
  whole(from: number, to: number): number;
  /** @throws RangeError for an empty list. */
  pick<Item>(items: readonly Item[]): Item;
  shuffled<Item>(items: readonly Item[]): Item[];
  hex(digits: number): string;
};

/** A sequence that belongs to these words. */
export function random(...words: (string | number)[]): Random {
  let count = 0;
  const next = () => unit(...words, count++);
  const whole = (from: number, to: number) => from + Math.floor(next() * (to - from + 1));
  return {
    between: (from, to) => from + next() * (to - from),
    whole,
    pick: (items) => {
      const item = items[whole(0, items.length - 1)];
      if (item === undefined) throw new RangeError("nothing to pick from");
      return item;
    },
    shuffled: (items) =>
      items
        .map((item) => ({ item, order: next() }))
        .sort((a, b) => a.order - b.order)
        .map(({ item }) => item),
    hex: (digits) => Array.from({ length: digits }, () => whole(0, 15).toString(16)).join(""),
  };
}
