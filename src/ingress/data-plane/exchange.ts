/** The two sides of a request on its way through the proxy, in one shape for HTTP/1.1 and HTTP/2. */
import type { ByteStream } from '#base/byte-streams.ts'
import type { BodyLength } from '#wire/http1/message-head.ts'

export type ClientRequest = {
  readonly method: string
  /** Path and query. */
  readonly target: string
  /** As sent, with its port. */
  readonly host: string
  /** Name, value, name, value; without the host and those for one connection only. */
  readonly headers: readonly string[]
  readonly body: Exclude<BodyLength, 'untilClose'>
  readonly upgrade: string | undefined
  readonly takesTrailers: boolean
  readonly httpVersion: '1.0' | '1.1' | '2'
}

/** Where a connection came in. */
export type Entrance = {
  /** The name of a listener in the routing table. */
  readonly listener: string
  readonly scheme: 'http' | 'https'
  readonly remoteAddress: string
  /** What clients think the port is. */
  readonly port: number
  /** What the client asked for by TLS. */
  readonly serverName: string
}

export type AnswerHead = {
  readonly status: number
  /** Name, value, name, value. */
  readonly headers: readonly string[]
  readonly reason: string
  readonly body: BodyLength | 'none'
}

export type BodyReceiver = {
  onChunk(chunk: Buffer): void
  onEnd(trailer: readonly string[]): void
}

/** One request of a client, and the way to answer it. */
export type ClientExchange = {
  readonly request: ClientRequest
  readonly entrance: Entrance
  /** Called once; the body comes from then on, and waits until then. */
  readBody(receiver: BodyReceiver): void
  holdBody(isHeld: boolean): void
  inform(status: number, headers: readonly string[]): void
  /** The head goes out with what follows in the same turn, or with `flush`. */
  begin(head: AnswerHead): void
  /** False: wait for `onDrain` before more. */
  write(chunk: Buffer): boolean
  end(trailer: readonly string[]): void
  flush(): void
  /** The answer cannot be finished: the client sees that it is cut short. */
  abort(): void
  /** For another protocol; undefined where the connection is shared. */
  takeOver(): { stream: ByteStream; head: Buffer } | undefined
  onDrain: (() => void) | undefined
  /** The client went away before the answer was over. */
  onGone: (() => void) | undefined
}

/** What a call that failed may have done: nothing for certain; perhaps nothing, since nothing was heard of it; something. */
export type CallEffect = 'none' | 'unknown' | 'some'

/** What a backend answers with. Nothing is called after `onEnd`, `onError` and `onUpgrade`. */
export type CallHandler = {
  onInterim(status: number, headers: readonly string[]): void
  onHead(head: AnswerHead): void
  onChunk(chunk: Buffer): void
  onEnd(trailer: readonly string[]): void
  /** All that has come in this turn was told. */
  onTurnOver(): void
  onDrain(): void
  onError(error: Error, effect: CallEffect): void
  onUpgrade(head: AnswerHead, stream: ByteStream, rest: Buffer): void
}

/** A request that was sent to a backend, whose body may still follow. */
export type BackendCall = {
  write(chunk: Buffer): boolean
  /** The head does not wait for the body any longer. */
  flush(): void
  end(trailer: readonly string[]): void
  hold(isHeld: boolean): void
  /** Nobody wants the answer any more. */
  abort(): void
}

export type OutgoingRequest = {
  readonly method: string
  readonly target: string
  readonly host: string
  readonly scheme: 'http' | 'https'
  readonly headers: readonly string[]
  readonly body: Exclude<BodyLength, 'untilClose'>
  readonly upgrade: string | undefined
  readonly takesTrailers: boolean
}
