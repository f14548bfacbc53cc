import { nameOf, type Change, type ReadSet } from "./transaction";

/** How many of a table's changes are remembered at least. */
const KEPT = 4_096;

type Entry = { sequence: number; change: Change };

/** What the last commits changed, table by table: most of what was read is in tables that nobody has written to since. */
export class History {
  readonly #tables = new Map<string, { entries: Entry[]; forgotten: number }>();

  add(sequence: number, changes: readonly Change[]): void {
    for (const change of changes) {
      const table = this.#table(nameOf(change));
      table.entries.push({ sequence, change });
      if (table.entries.length <= 2 * KEPT) continue;
      const dropped = table.entries.splice(0, table.entries.length - KEPT);
      table.forgotten = dropped.at(-1)?.sequence ?? table.forgotten;
    }
  }

  /** Whether every change since this commit to the tables that were read is remembered. */
  knows(sequence: number, reads: ReadSet): boolean {
    for (const name of reads.tables()) if ((this.#tables.get(name)?.forgotten ?? 0) > sequence) return false;
    return true;
  }

  /** A change after this commit to what was read. */
  changeSince(sequence: number, reads: ReadSet): Change | null {
    for (const name of reads.tables()) {
      const entries = this.#tables.get(name)?.entries ?? [];
      for (let i = entries.length - 1; i >= 0; i--) {
        const entry = entries[i];
        if (entry === undefined || entry.sequence <= sequence) break;
        if (reads.touches(name, entry.change)) return entry.change;
      }
    }
    return null;
  }

  #table(name: string) {
    let table = this.#tables.get(name);
    if (table === undefined) this.#tables.set(name, (table = { entries: [], forgotten: 0 }));
    return table;
  }
}
