type Fetch = typeof globalThis.fetch;

/**
 * A `fetch` that holds the clock from the call until the last byte of the answer has arrived. The body is received even
 * if the caller does not read it, so that an unread answer cannot hold the clock for ever.
 * @param hold Stops the clock and returns its release; nothing if there is no clock to stop.
 */
export function countingFetch(fetch: Fetch, hold: () => (() => void) | undefined): Fetch {
  return async (input, init) => {
    const end = hold();
    if (end === undefined) return fetch(input, init);
    // The caller's code after the last byte runs before time continues.
    const release = () => void setImmediate(end);
    let response: Response;
    try {
      response = await fetch(input, init);
    } catch (error) {
      release();
      throw error;
    }
    if (response.body === null) {
      release();
      return response;
    }
    return withBody(response, received(response.body, release));
  };
}

/** The same bytes, received at the network's pace and kept until they are read. */
function received(body: ReadableStream<Uint8Array>, done: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    start(controller) {
      const receive = async () => {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) return controller.close();
          controller.enqueue(value);
        }
      };
      receive()
        .catch((error: unknown) => controller.error(error))
        .finally(done);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function withBody(response: Response, body: ReadableStream<Uint8Array>): Response {
  const { status, statusText, headers, url, redirected } = response;
  const copy = new Response(body, { status, statusText, headers });
  return Object.defineProperties(copy, { url: { value: url }, redirected: { value: redirected } });
}
