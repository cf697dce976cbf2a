/** A program in a network namespace of a test: listens and connects as it is told, a line of JSON at a time. */
import { createSocket } from 'node:dgram'
import { connect, createServer, type Socket } from 'node:net'
import { createInterface } from 'node:readline'

export type PeerRequest =
  | { op: 'listen'; protocol: 'TCP' | 'UDP'; port: number; host?: string }
  | { op: 'ask'; protocol: 'TCP' | 'UDP'; host: string; port: number; timeoutMs: number; localPort?: number; localAddress?: string }
  | { op: 'askMany'; host: string; port: number; count: number; atOnce: number; timeoutMs: number }
  /** Asks without end, until `endLoad`. */
  | { op: 'load'; host: string; port: number; timeoutMs: number }
  | { op: 'endLoad' }
  /** Opens a connection and keeps it; `prod` sends a word over it and wants it back. */
  | { op: 'hold'; host: string; port: number; timeoutMs: number }
  | { op: 'prod' }
  | { op: 'get'; url: string }
  /** Writes an object over whatever is there. */
  | { op: 'apply'; kubeconfig: string; kind: 'Service' | 'EndpointSlice'; object: object }

const name = process.argv[2] ?? ''
let held: Socket | undefined
let load: { isOver: boolean; counts: Promise<Record<string, number>> } | undefined

async function answer(request: PeerRequest): Promise<unknown> {
  switch (request.op) {
    case 'listen':
      return await listen(request)
    case 'ask':
      return request.protocol === 'TCP' ? await askTcp(request) : await askUdp(request)
    case 'askMany':
      return await askMany(request)
    case 'load': {
      const state = { isOver: false, counts: Promise.resolve<Record<string, number>>({}) }
      state.counts = askWithoutEnd(request, state)
      load = state
      return 'ok'
    }
    case 'endLoad':
      if (load === undefined) throw new Error('there is no load')
      load.isOver = true
      return await load.counts
    case 'hold':
      return await hold(request)
    case 'prod':
      return await prod()
    case 'apply':
      return await apply(request)
    case 'get': {
      const response = await fetch(request.url)
      return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
    }
  }
}

async function apply({ kubeconfig, kind, object }: Extract<PeerRequest, { op: 'apply' }>): Promise<object> {
  const [{ openClient }, { Service }, { EndpointSlice }] = await Promise.all([
    import('#client/kubeconfig/open-client.ts'),
    import('#api/core/v1/kinds.gen.ts'),
    import('#api/discovery/v1/kinds.gen.ts'),
  ])
  using client = await openClient({ kubeconfig })
  const options = { fieldManager: 'test', force: true }
  if (kind === 'Service') return await client.apply(Service, object as never, options)
  return await client.apply(EndpointSlice, object as never, options)
}

/** Says who it is and whom it talks to, then gives back what it is sent. */
function listen({ protocol, port, host = '::' }: { protocol: 'TCP' | 'UDP'; port: number; host?: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    if (protocol === 'UDP') {
      const socket = createSocket({ type: host.includes(':') ? 'udp6' : 'udp4' })
      socket.on('message', (_, { address, port: from }) => socket.send(`${name} ${plain(address)}`, from, address))
      socket.once('error', reject)
      socket.bind(port, host, () => resolve('ok'))
      return
    }
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.write(`${name} ${plain(socket.remoteAddress ?? '')}\n`)
      socket.pipe(socket)
    })
    server.once('error', reject)
    server.listen({ port, host, backlog: 4096 }, () => resolve('ok'))
  })
}

const plain = (address: string): string => address.replace(/^::ffff:/, '')

type Target = { host: string; port: number; timeoutMs: number; localPort?: number; localAddress?: string }

function askTcp({ host, port, timeoutMs, localAddress }: Target): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, ...(localAddress === undefined ? {} : { localAddress }) })
    const finish = (text: string) => {
      clearTimeout(timer)
      socket.resetAndDestroy()
      resolve(text)
    }
    const timer = setTimeout(() => finish('timeout'), timeoutMs)
    let text = ''
    socket.setEncoding('utf8')
    socket.on('data', (piece: string) => {
      text += piece
      if (text.includes('\n')) finish(text.trim())
    })
    socket.on('error', (error) => finish((error as NodeJS.ErrnoException).code ?? String(error)))
    socket.on('close', () => finish('closed'))
  })
}

function askUdp({ host, port, timeoutMs, localPort = 0, localAddress }: Target): Promise<string> {
  return new Promise((resolve) => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4')
    const finish = (text: string) => {
      clearTimeout(timer)
      clearInterval(again)
      socket.close()
      resolve(text)
    }
    const timer = setTimeout(() => finish('timeout'), timeoutMs)
    // Datagrams may get lost.
    const send = () => socket.send('hello')
    const again = setInterval(send, 300)
    socket.on('message', (message) => finish(message.toString()))
    socket.on('error', (error) => finish((error as NodeJS.ErrnoException).code ?? String(error)))
    socket.bind(localPort, localAddress, () => socket.connect(port, host, send))
  })
}

async function askMany({ count, atOnce, ...target }: Target & { count: number; atOnce: number }): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  let left = count
  const worker = async () => {
    while (left-- > 0) {
      const text = await askTcp(target)
      counts[text] = (counts[text] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return counts
}

async function askWithoutEnd(target: Target, state: { isOver: boolean }): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const worker = async () => {
    while (!state.isOver) {
      const text = await askTcp(target)
      counts[text] = (counts[text] ?? 0) + 1
    }
  }
  await Promise.all([worker(), worker(), worker(), worker()])
  return counts
}

function hold({ host, port, timeoutMs }: Target): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    held = socket
    const timer = setTimeout(() => resolve('timeout'), timeoutMs)
    socket.setEncoding('utf8')
    socket.once('data', (piece: string) => {
      clearTimeout(timer)
      resolve(piece.trim())
    })
    socket.on('error', (error) => resolve((error as NodeJS.ErrnoException).code ?? String(error)))
  })
}

function prod(): Promise<string> {
  return new Promise((resolve) => {
    if (held === undefined || held.destroyed) return resolve('closed')
    const timer = setTimeout(() => resolve('timeout'), 60_000)
    held.once('data', (piece) => {
      clearTimeout(timer)
      resolve(String(piece))
    })
    held.write('still there')
  })
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, ...request } = JSON.parse(line) as PeerRequest & { id: number }
  answer(request as PeerRequest).then(
    (result) => process.stdout.write(`${JSON.stringify({ id, result })}\n`),
    (error: unknown) => process.stdout.write(`${JSON.stringify({ id, error: String(error) })}\n`),
  )
}
process.exit(0)
