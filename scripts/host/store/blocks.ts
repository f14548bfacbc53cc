/** How many entries a block has at most: it is divided in two where it has more. */
const MOST = 128;

/** A place between entries: before the entry `at` of a block. */
export type Place = { block: number; at: number };

/**
 * Entries in an order that their user knows, in blocks: one that comes or goes moves only the others of its block.
 */
export class Sorted<Entry> {
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
      this.#blocks.push([entry]);
      return;
    }
    entries.splice(own === block ? at : entries.length, 0, entry);
    if (entries.length > MOST) this.#blocks.splice(own + 1, 0, entries.splice(MOST / 2));
  }

  remove({ block, at }: Place): void {
    const entries = this.#blocks[block];
    entries?.splice(at, 1);
    if (entries?.length === 0) this.#blocks.splice(block, 1);
  }

  /** The entries from one place to another, `limit` at most, in order or from behind. */
  between(from: Place, to: Place, descending: boolean, limit: number): Entry[] {
    const found: Entry[] = [];
    const step = descending ? -1 : 1;
    for (
      let block = descending ? to.block : from.block;
      block >= from.block && block <= to.block;
      block += step
    ) {
      const entries = this.#blocks[block] ?? [];
      const first = block === from.block ? from.at : 0;
      const end = block === to.block ? to.at : entries.length;
      for (let i = 0; i < end - first; i++) {
        if (found.length >= limit) return found;
        const entry = entries[descending ? end - 1 - i : first + i];
        if (entry !== undefined) found.push(entry);
      }
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
