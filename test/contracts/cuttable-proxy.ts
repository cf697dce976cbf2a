import { connect, createServer, type Socket } from 'node:net'
import { freely, LinkDirection, type LinkPace } from './link-direction.ts'

/** A way to a server on loopback that can be cut, slowed or held up, and can swallow the server's answers. */
export type CuttableProxy = AsyncDisposable & {
  endpoint: string
  /** Breaks every connection and refuses new ones. */
  cut(): void
  /** From now on bytes are late and few, on connections that are open as well. */
  slow(pace: LinkPace): void
  /** Nothing goes through, in neither direction, and nobody is told; after `heal` all of it does. */
  hold(): void
  /** As it was at first. */
  heal(): void
  /** From now on nothing comes back; resolves when a request has gone through after that. */
  swallowAnswers(): Promise<void>
}

/** `ownPort`: the proxy's own; any where it is left out. */
export async function startProxy(target: string, ownPort = 0): Promise<CuttableProxy> {
  const [host = '', port = ''] = target.split(':')
  const sockets = new Set<Socket>()
  const directions = new Set<LinkDirection>()
  let isCut = false
  let isHeld = false
  let pace: LinkPace = freely
  let onRequest: (() => void) | undefined
  const server = createServer((inside) => {
    if (isCut) {
      inside.destroy()
      return
    }
    const outside = connect(Number(port), host)
    const direction = (from: Socket, to: Socket) => {
      const made = new LinkDirection(
        from,
        to,
        () => pace,
        () => isHeld,
      )
      directions.add(made)
      sockets.add(from)
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        made.end()
      })
      to.on('close', () => {
        made.forget()
        directions.delete(made)
        from.destroy()
      })
      return made
    }
    const there = direction(inside, outside)
    const back = direction(outside, inside)
    inside.on('data', (chunk: Buffer) => there.take(chunk, () => onRequest?.()))
    outside.on('data', (chunk: Buffer) => {
      if (!onRequest) back.take(chunk)
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(ownPort, '127.0.0.1', resolve)
  })
  const address = server.address()
  const cut = () => {
    isCut = true
    onRequest = undefined
    for (const socket of sockets) socket.destroy()
  }
  const flush = () => {
    for (const direction of directions) direction.flush()
  }
  return {
    endpoint: `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    cut,
    slow(slower) {
      pace = slower
    },
    hold() {
      isHeld = true
    },
    heal() {
      isCut = false
      isHeld = false
      pace = freely
      flush()
    },
    swallowAnswers: () =>
      new Promise((resolve) => {
        onRequest = resolve
      }),
    async [Symbol.asyncDispose]() {
      cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
