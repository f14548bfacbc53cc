import { randomUUID } from "node:crypto";

/** The streams of a context: bodies, and signals, which end when they are aborted. */

type Part = { done: boolean; value?: Uint8Array };
type Stream = { parts: Uint8Array[]; end: "open" | "done" | Error; waiting: (() => void)[] };

export function createStreams() {
  const streams = new Map<string, Stream>();
  const streamOf = (id: string): Stream => {
    const stream = streams.get(id);
    if (stream === undefined) throw new Error(`There is no stream ${id}`);
    return stream;
  };
  const read = async (id: string): Promise<Part> => {
    const stream = streamOf(id);
    for (;;) {
      const value = stream.parts.shift();
      if (value !== undefined) return { done: false, value };
      if (stream.end === "done") return { done: true };
      if (stream.end !== "open") throw stream.end;
      await new Promise<void>((wake) => stream.waiting.push(wake));
    }
  };
  return {
    create: (): string => {
      const id = randomUUID();
      streams.set(id, { parts: [], end: "open", waiting: [] });
      return id;
    },
    extend: (id: string, bytes: Uint8Array | null, end: Stream["end"]): void => {
      const stream = streamOf(id);
      if (bytes !== null) stream.parts.push(bytes);
      stream.end = end;
      for (const wake of stream.waiting.splice(0)) wake();
    },
    read,
    /** All of it. */
    whole: async (id: string): Promise<Uint8Array<ArrayBuffer>> => {
      const parts: Uint8Array[] = [];
      for (;;) {
        const { done, value } = await read(id);
        if (value !== undefined) parts.push(value);
        if (done) return new Uint8Array(Buffer.concat(parts));
      }
    },
  };
}

export type Streams = ReturnType<typeof createStreams>;
