import { connect, createServer, type Socket } from 'node:net'

/** A way to a server on loopback that can be cut, and can swallow the server's answers. */
export type CuttableProxy = AsyncDisposable & {
  endpoint: string
  /** Breaks every connection and refuses new ones. */
  cut(): void
  heal(): void
  /** From now on nothing comes back; resolves when a request has gone through after that. */
  swallowAnswers(): Promise<void>
}

export async function startProxy(target: string): Promise<CuttableProxy> {
  const [host = '', port = ''] = target.split(':')
  const sockets = new Set<Socket>()
  let isCut = false
  let onRequest: (() => void) | undefined
  const server = createServer((inside) => {
    if (isCut) {
      inside.destroy()
      return
    }
    const outside = connect(Number(port), host)
    for (const [socket, other] of [
      [inside, outside],
      [outside, inside],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    inside.on('data', (chunk) => {
      outside.write(chunk, () => onRequest?.())
    })
    outside.on('data', (chunk) => {
      if (!onRequest) inside.write(chunk)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const cut = () => {
    isCut = true
    onRequest = undefined
    for (const socket of sockets) socket.destroy()
  }
  return {
    endpoint: `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    cut,
    heal() {
      isCut = false
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
