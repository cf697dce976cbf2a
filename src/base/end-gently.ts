import type { Duplex } from 'node:stream'

/** How long another end may take to notice. */
const lingerMs = 10_000

/**
 * Ends a connection so that what was written last arrives. Whoever closes one with something unread in it resets it,
 * and what the other end had not taken by then is lost: so what still comes is read, and thrown away, until the other
 * end has closed its side as well, or has taken too long for it.
 */
export function endGently(socket: Duplex): void {
  if (socket.destroyed) return
  const destroy = () => socket.destroy()
  const timer = setTimeout(destroy, lingerMs)
  timer.unref()
  socket.once('close', () => clearTimeout(timer))
  const finish = () => {
    if (socket.readableEnded) destroy()
    else socket.once('end', destroy)
  }
  if (socket.writableFinished) finish()
  else socket.end(finish)
  socket.resume()
}
