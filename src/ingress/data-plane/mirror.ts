import type { BackendTable } from '#ingress/data-plane/backend-table.ts'
import type { BackendCall, CallHandler, OutgoingRequest } from '#ingress/data-plane/exchange.ts'

/** What waits for a slow mirror; beyond it the copy is given up, never the request. */
const mostWaitingBytes = 1 << 20

/** A copy of a request whose answer nobody reads. Undefined where nobody is there to get it. */
export function startMirror(backend: string, request: OutgoingRequest, backends: BackendTable): BackendCall | undefined {
  const pool = backends.choose(backend, [])
  if (pool === undefined) return undefined
  let call: BackendCall | undefined
  let isOver = false
  let waiting: Buffer[] = []
  let waitingBytes = 0
  let ended: readonly string[] | undefined
  const stop = () => {
    isOver = true
    waiting = []
  }
  const handler: CallHandler = {
    ...{ onInterim() {}, onHead() {}, onChunk() {}, onTurnOver() {}, onError: stop, onEnd: stop },
    onDrain() {
      waitingBytes = 0
    },
    onUpgrade(_head, stream) {
      stop()
      stream.destroy()
    },
  }
  const mirrored = { ...request, host: request.host, upgrade: undefined }
  pool.call(
    { request: mirrored, mayRepeat: false },
    handler,
    (begun) => {
      if (isOver) return begun.abort()
      call = begun
      for (const chunk of waiting.splice(0)) begun.write(chunk)
      if (ended !== undefined) begun.end(ended)
    },
    stop,
  )
  const abort = () => {
    stop()
    call?.abort()
  }
  return {
    write(chunk) {
      if (isOver) return true
      if (call === undefined) waiting.push(chunk)
      if (call === undefined || !call.write(chunk)) waitingBytes += chunk.length
      if (waitingBytes > mostWaitingBytes) abort()
      return true
    },
    end(trailer) {
      ended = trailer
      if (!isOver) call?.end(trailer)
    },
    flush: () => call?.flush(),
    hold() {},
    abort,
  }
}
