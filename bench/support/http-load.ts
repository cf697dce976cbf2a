/** Asks one address over and over on connections that stay open, as cheaply as it can: a process of its own. */
import { connect, type Socket } from 'node:net'

type Order = { port: number; path: string; host: string; connections: number; forMs: number }

process.on('message', async (order: Order) => {
  const result = await load(order)
  process.send?.(result)
})
process.send?.('ready')

function load({ port, path, host, connections, forMs }: Order): Promise<{ requests: number; failed: number; seconds: number }> {
  const request = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n`
  return new Promise((resolve) => {
    let requests = 0
    let failed = 0
    let isOver = false
    const begin = performance.now()
    const sockets: Socket[] = []
    for (let index = 0; index < connections; index++) {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      let missing = 0
      sockets.push(socket)
      socket.on('connect', () => socket.write(request, 'latin1'))
      socket.on('data', (bytes: Buffer) => {
        if (missing === 0) {
          const head = bytes.indexOf('\r\n\r\n')
          const text = bytes.toString('latin1', 0, head)
          const length = Number(/content-length: (\d+)/i.exec(text)?.[1])
          if (!text.startsWith('HTTP/1.1 200')) failed++
          missing = head + 4 + length
        }
        missing -= bytes.length
        if (missing > 0) return
        requests++
        if (!isOver) socket.write(request, 'latin1')
      })
      socket.on('error', () => failed++)
    }
    setTimeout(() => {
      isOver = true
      const seconds = (performance.now() - begin) / 1000
      for (const socket of sockets) socket.destroy()
      resolve({ requests, failed, seconds })
    }, forMs)
  })
}
