import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** Nothing that speaks to us has more than one of them at once. */
const mostUnanswered = 50

const known = new WeakMap<Socket, UnansweredRequests>()

/**
 * What one connection of HTTP/1.1 has asked and has no answer to yet. Clients may send further requests before they have one, and Node
 * reads on for as long as there is nothing to be sent: a client with more than a few of them is not read from until some are answered.
 */
export class UnansweredRequests {
  readonly #socket: Socket
  readonly #responses = new Set<ServerResponse>()
  #isHeldBack = false

  static of(socket: Socket): UnansweredRequests {
    return known.getOrInsertComputed(socket, () => new UnansweredRequests(socket))
  }

  private constructor(socket: Socket) {
    this.#socket = socket
    // Node's parser takes bytes from the connection itself, past the socket's listeners, as long as nobody else listens. When a large
    // answer has not left yet, such a parser is paused and takes the next request for a broken one: a listener of our own prevents that.
    socket.on('data', this.#holdBack)
  }

  add(response: ServerResponse): void {
    this.#responses.add(response)
    response.once('close', () => {
      this.#responses.delete(response)
      if (this.#isHeldBack && this.#responses.size <= mostUnanswered / 2) this.#readOn()
    })
  }

  /** Gives all of them up, and the connection. */
  abandon(): void {
    // Those that wait behind others would not hear of the end of a connection that Node has let go of.
    for (const response of this.#responses) response.destroy()
    this.#socket.destroy()
  }

  /** Called when all requests of a piece have begun; had one of them stopped the connection, the end of the next would start it again. */
  readonly #holdBack = (): void => {
    if (this.#responses.size < mostUnanswered) return
    this.#isHeldBack = true
    this.#socket.pause()
  }

  #readOn(): void {
    this.#isHeldBack = false
    // Node has stopped the connection itself, for answers that are not taken: it starts it again, and cannot bear anybody else to.
    if ((this.#socket as { _paused?: boolean })._paused !== true) this.#socket.resume()
  }
}

/** Whether an answer is under way, be it one that Node gives by itself (to a request without a host, say). */
export function isBeingAnswered(socket: Duplex): boolean {
  return Boolean((socket as { _httpMessage?: object | null })._httpMessage)
}
