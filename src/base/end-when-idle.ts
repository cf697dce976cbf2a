import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** Closes a connection on which nothing came or went for so long. Others than sockets are left alone. */
export function endWhenIdle(connection: Duplex, idleMs: number): void {
  if (connection instanceof Socket) connection.setTimeout(idleMs, () => connection.destroy())
}
