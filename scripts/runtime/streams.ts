import { randomUUID } from "node:crypto";

/** The streams of a context, by their ids: bodies, and signals, which end when they are aborted. */

type Reader = ReadableStreamDefaultReader<Uint8Array>;

export function createStreams() {
  const readers = new Map<string, Reader>();
  const controllers = new Map<string, ReadableStreamDefaultController<Uint8Array>>();
  const adopt = (stream: ReadableStream<Uint8Array>): string => {
    const id = randomUUID();
    readers.set(id, stream.getReader());
    return id;
  };
  const read = async (id: string): Promise<{ done: boolean; value?: Uint8Array }> => {
    const part = await readers.get(id)?.read();
    return part?.value === undefined ? { done: true } : { done: false, value: part.value };
  };
  return {
    adopt,
    create: (): string => {
      const created: ReadableStreamDefaultController<Uint8Array>[] = [];
      const id = adopt(new ReadableStream({ start: (controller) => void created.push(controller) }));
      for (const controller of created) controllers.set(id, controller);
      return id;
    },
    extend: (id: string, bytes: Uint8Array | null, isDone: boolean): void => {
      if (bytes !== null) controllers.get(id)?.enqueue(bytes);
      if (isDone) controllers.get(id)?.close();
    },
    read,
    /** The whole stream. */
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
