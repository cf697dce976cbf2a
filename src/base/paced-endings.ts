import type { Socket } from 'node:net'

/** A turn of the event loop in which connections end should take no longer. */
const turnMs = 5
const mostInTurn = 256

/**
 * Ends connections whose clients have left a few at a time. To end one costs more than anything else about a connection that does
 * nothing, most of all under TLS, and Node does it for all whose end it hears of before it looks at anything else: who leaves with
 * thousands of them at once would hold up everybody who stays.
 */
export class PacedEndings {
  #waiting: (() => void)[] = []
  #inTurn = 1

  /** From now on what Node does about an end or a reset of the other side has to wait for its turn. */
  pace(socket: Socket): void {
    const end = socket.end.bind(socket)
    const destroy = socket.destroy.bind(socket)
    const ended: typeof socket.end = (...args: unknown[]) => {
      // Whoever still has something to say says it.
      if (args.length > 0 || !socket.readableEnded) return end(...(args as []))
      this.#wait(() => end())
      return socket
    }
    const destroyed: typeof socket.destroy = (error) => {
      if (!isReset(error)) return destroy(error)
      this.#wait(() => destroy(error))
      return socket
    }
    // Requests of HTTP/1.1 that are under way are given up by those who listen to the end.
    const emit = socket.emit.bind(socket)
    socket.emit = ((event: string, ...args: unknown[]): boolean => {
      if (event !== 'end') return emit(event, ...args)
      this.#wait(() => emit(event))
      return true
    }) as typeof socket.emit
    socket.end = ended
    socket.destroy = destroyed
  }

  #wait(ending: () => void): void {
    if (this.#waiting.push(ending) > 1) return
    this.#inTurn = 1
    setImmediate(this.#run, performance.now())
  }

  /** What an end costs shows afterwards only: its streams are closed later in the same turn, and there may be a thousand of them. */
  readonly #run = (beganMs: number): void => {
    const nowMs = performance.now()
    this.#inTurn = nowMs - beganMs > turnMs ? Math.max(1, this.#inTurn >> 1) : Math.min(mostInTurn, this.#inTurn * 2)
    for (const ending of this.#waiting.slice(0, this.#inTurn)) ending()
    this.#waiting = this.#waiting.slice(this.#inTurn)
    if (this.#waiting.length > 0) setImmediate(this.#run, nowMs)
  }
}

function isReset(error: (Error & { code?: string; syscall?: string }) | undefined): boolean {
  return error?.code === 'ECONNRESET' && error.syscall === 'read'
}
