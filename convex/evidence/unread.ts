/** A text that is read piece by piece. */
export class Unread {
  constructor(public text: string) {}

  /** What has been read is put out of the way, at its length. */
  take(start: number, length: number): void {
    this.text = this.text.slice(0, start) + "\u0001".repeat(length) + this.text.slice(start + length);
  }
}
