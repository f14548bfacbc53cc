/** How many entries a block has at most: it is divided in two where it has more. */
const MOST = 128;

/** A place between entries: before the entry `at` of a block. */
export type Place = { block: number; at: number };

/** An entry knows its block, so that it is found without a search when it goes. */
type Placed<Entry> = { block: Entry[] | null };

/**
 * Entries in an order that their user knows, in blocks: one that comes or goes moves only the others of its block.
 */
export class Sorted<Entry extends Placed<Entry>> {
  readonly #blocks: Entry[][] = [];

  /** @param isBefore Whether an entry stands before the place that is wanted; true for none behind one for which it is false. */
  place(isBefore: (entry: Entry) => boolean): Place {
    const block = firstFalse(this.#blocks.length, (i) => {
      const last = this.#blocks[i]?.at(-1);
      return last !== undefined && isBefore(last);
    });
    const entries = this.#blocks[block] ?? [];
    const at = firstFalse(entries.length, (i) => {
      const entry = entries[i];
      return entry !== undefined && isBefore(entry);
    });
    return { block, at };
  }

  get last(): Entry | undefined {
    return this.#blocks.at(-1)?.at(-1);
  }

  /** The place behind all. */
  get end(): Place {
    return { block: this.#blocks.length, at: 0 };
  }

  insert({ block, at }: Place, entry: Entry): void {
    // Behind the last of a block, or of all.
    const own = at === 0 && block > 0 ? block - 1 : block;
    const entries = this.#blocks[own];
    if (entries === undefined) {
      this.#blocks.push((entry.block = [entry]));
      return;
    }
    entry.block = entries;
    entries.splice(own === block ? at : entries.length, 0, entry);
    if (entries.length <= MOST) return;
    const second = entries.splice(MOST / 2);
    for (const moved of second) moved.block = second;
    this.#blocks.splice(own + 1, 0, second);
  }

  remove(entry: Entry): void {
    const entries = entry.block ?? [];
    entries.splice(entries.indexOf(entry), 1);
    if (entries.length === 0) this.#blocks.splice(this.#blocks.indexOf(entries), 1);
    entry.block = null;
  }

  /** The entries from a place on, or before it from behind, while they are wanted; `limit` at most. */
  along(
    { block, at }: Place,
    descending: boolean,
    limit: number,
    isWanted: (entry: Entry) => boolean,
  ): Entry[] {
    const found: Entry[] = [];
    const step = descending ? -1 : 1;
    let i = descending ? at - 1 : at;
    for (let b = block; b >= 0 && b < this.#blocks.length + (descending ? 1 : 0); b += step) {
      const entries = this.#blocks[b] ?? [];
      for (; i >= 0 && i < entries.length; i += step) {
        const entry = entries[i];
        if (entry === undefined || found.length >= limit || !isWanted(entry)) return found;
        found.push(entry);
      }
      i = descending ? (this.#blocks[b - 1]?.length ?? 0) - 1 : 0;
    }
    return found;
  }
}

/** The first of `length` numbers for which a condition is false that is false for all behind it as well. */
function firstFalse(length: number, holds: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}
