/** Answers that are made piece by piece, without holding up others, as fast as the client takes them. */
import { reuseChunk } from '#apiserver/http/chunks.ts'
import { takesGzip } from '#apiserver/http/content-coding.ts'
import type { RequestTurns } from '#apiserver/http/request-turns.ts'
import { type GzipStream, gzip, gzipStream } from '#base/compression.ts'
import type { HttpExchange, HttpHeaders, HttpResponseStream } from '#base/http-server.ts'

/** Answers up to this size are sent whole, with their length. */
const wholeBytes = 128 * 1024
/** So much is made before the client has taken it. */
const aheadBytes = 512 * 1024
/** Fast rather than small: upstream's choice. */
const gzipLevel = 1

export type PiecesOptions = {
  exchange: HttpExchange
  /** Shared by all such answers: twenty at once take no more of a turn of the event loop than one. */
  turns: RequestTurns
  headers: HttpHeaders
  /** Larger answers are compressed for clients that take it. */
  gzipFromBytes: number
}

/** Resolves when all is handed over or the client has gone. What `pieces` throws before the answer has begun is thrown. */
export async function respondPieces(
  pieces: Generator<Uint8Array>,
  { exchange, turns, headers, gzipFromBytes }: PiecesOptions,
): Promise<void> {
  const first: Uint8Array[] = []
  let size = 0
  let isWhole = false
  while (size <= wholeBytes && !isWhole) {
    const { value, done } = pieces.next()
    if (done) isWhole = true
    else if (value.length > 0) {
      first.push(value)
      size += value.length
    }
    if (!turns.isInTurn) await turn(turns, exchange)
  }
  if (isWhole) {
    const body = first.length === 1 ? (first[0] as Uint8Array) : Buffer.concat(first)
    if (first.length > 1) for (const piece of first) reuseChunk(piece)
    return respondWhole(body, { exchange, headers, gzipFromBytes })
  }
  const isCompressed = takesGzip(exchange.headers['accept-encoding'])
  if (isCompressed) addGzip(headers)
  const stream = exchange.stream(200, headers)
  const sink = isCompressed ? compressed(stream, exchange) : plain(stream)
  await pump(joined(first, pieces), sink, exchange, turns)
}

/** A whole body; compressed, if it is large and the client takes that. */
export function respondWhole(
  body: Uint8Array,
  { exchange, headers, gzipFromBytes, status = 200 }: Omit<PiecesOptions, 'turns'> & { status?: number },
): void | Promise<void> {
  if (body.length < gzipFromBytes || !takesGzip(exchange.headers['accept-encoding'])) return exchange.respond(status, headers, body)
  addGzip(headers)
  return gzip(body, gzipLevel).then((bytes) => exchange.respond(status, headers, bytes))
}

function addGzip(headers: HttpHeaders): void {
  headers['content-encoding'] = 'gzip'
  headers['vary'] = 'Accept-Encoding'
}

function* joined(first: Iterable<Uint8Array>, rest: Iterable<Uint8Array>): Generator<Uint8Array> {
  yield* first
  yield* rest
}

type Sink = {
  write(piece: Uint8Array): void
  /** It holds enough for now. */
  isBehind(): boolean
  /** Called when that may be over. */
  onCaughtUp(callback: () => void): void
  end(): void
}

async function pump(pieces: Iterable<Uint8Array>, sink: Sink, exchange: HttpExchange, turns: RequestTurns): Promise<void> {
  let wake = () => {}
  sink.onCaughtUp(() => wake())
  exchange.onClose(() => wake())
  for (const piece of pieces) {
    if (piece.length > 0) sink.write(piece)
    while (sink.isBehind() && !exchange.isClosed) {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
    if (exchange.isClosed) return
    if (!turns.isInTurn) await turn(turns, exchange)
  }
  sink.end()
}

/** Resolves in a turn of the event loop that answers have a share of. */
export function turn(turns: RequestTurns, { connection }: HttpExchange): Promise<void> {
  return new Promise((resolve) => turns.take(resolve, connection))
}

function plain(stream: HttpResponseStream): Sink {
  return {
    write: (piece) => stream.write(piece, () => reuseChunk(piece)),
    isBehind: () => stream.backlogBytes > aheadBytes,
    onCaughtUp: (callback) => stream.onDrain(callback),
    end: () => stream.end(),
  }
}

/** Compresses on its way out: as far behind as the compression or the client, whichever is slower. */
function compressed(stream: HttpResponseStream, exchange: HttpExchange): Sink {
  let isFull = false
  let onCaughtUp = () => {}
  const encoder: GzipStream = gzipStream({ level: gzipLevel, onChunk: (chunk) => stream.write(chunk), onEnd: () => stream.end() })
  exchange.onClose(() => encoder.abort())
  stream.onDrain(() => onCaughtUp())
  return {
    write(piece) {
      if (encoder.write(piece)) return
      isFull = true
      encoder.onDrain(() => {
        isFull = false
        onCaughtUp()
      })
    },
    isBehind: () => isFull || stream.backlogBytes > aheadBytes,
    onCaughtUp(callback) {
      onCaughtUp = callback
    },
    end: () => encoder.end(),
  }
}
