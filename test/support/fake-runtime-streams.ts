/** A server for conversations as container runtimes have one, which plays the containers itself. */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import type { ObservedPod, Runtime, RuntimeStreams } from '#kubelet/runtimes/runtime.ts'
import { SpdyConnection, type SpdyStream } from '#wire/spdy/connection.ts'

/**
 * What the container does, by its command: `echo` sends its input back to its end, `exit N` ends with the code, `size` tells the
 * terminal's size, `hang` never ends, `break` cuts the connection. Forwarded ports answer with what they hear, in upper case.
 */
export class FakeRuntimeStreams implements AsyncDisposable {
  readonly #server: Server
  readonly streams: RuntimeStreams
  /** How each conversation was asked for: method, path, protocols. */
  readonly asked: string[] = []
  readonly #sockets = new Set<Duplex>()
  readonly #commands = new Map<string, readonly string[]>()

  private constructor(server: Server) {
    this.#server = server
    const { port } = server.address() as { port: number }
    const url = (kind: string, command: readonly string[]) => {
      const path = `/${kind}/${this.#commands.size}`
      this.#commands.set(path, command)
      return `http://127.0.0.1:${port}${path}`
    }
    this.streams = {
      exec: async (_id, command, { stdin, stdout, stderr, tty }) => url('exec', [...command, String([stdin, stdout, stderr, tty])]),
      attach: async () => url('attach', ['echo']),
      portForward: async () => url('portforward', []),
    }
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => this.#serve(request, socket, head))
  }

  static async start(): Promise<FakeRuntimeStreams> {
    const server = createServer((_request, response) => void response.writeHead(404).end('nothing is here'))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new FakeRuntimeStreams(server)
  }

  /** Conversations that are not over. */
  get open(): number {
    return this.#sockets.size
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #serve(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { url = '', method, headers } = request
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => {})
    const protocols = request.rawHeaders.filter((_, index, all) => /x-stream-protocol-version/i.test(all[index - 1] ?? ''))
    this.asked.push(`${method} ${url.split('/')[1]} ${headers.upgrade} ${protocols}`)
    const [command = '', ...args] = this.#commands.get(url) ?? []
    if (command === 'refuse') {
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 10\r\ncontent-type: text/plain\r\n\r\nnot for us')
      return
    }
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocols[0]}\r\n\r\n`,
    )
    if (url.startsWith('/portforward')) forwardPorts(socket, head)
    else converse(socket, head, command, args)
  }
}

function converse(socket: Duplex, head: Buffer, command: string, args: readonly string[]): void {
  const [stdin, stdout, stderr, tty] = (args.at(-1) ?? 'true,true,true,false').split(',').map((text) => text === 'true')
  const expected = [true, stdin, stdout, stderr, tty].filter(Boolean).length
  const streams = new Map<string, SpdyStream>()
  const connection = new SpdyConnection({
    ...{ socket, head, role: 'server' },
    onStream(stream) {
      streams.set(stream.headers['streamtype'] ?? '', stream)
      if (streams.size === expected) act()
      return true
    },
  })
  const end = (status: object) => {
    streams.get('stdout')?.end()
    streams.get('stderr')?.end()
    const error = streams.get('error')
    error?.write(Buffer.from(JSON.stringify({ metadata: {}, ...status })))
    error?.end()
    setTimeout(() => connection.close(), 5)
  }
  const act = () => {
    const [input, output] = [streams.get('stdin'), streams.get('stdout')]
    if (command === 'exit') {
      output?.write(Buffer.from('to out'))
      streams.get('stderr')?.write(Buffer.from('to err'))
      const code = args[0] ?? '0'
      if (code === '0') return end({ status: 'Success' })
      const details = { causes: [{ reason: 'ExitCode', message: code }] }
      const message = `command terminated with non-zero exit code: exit status ${code}`
      return end({ status: 'Failure', message, reason: 'NonZeroExitCode', details })
    }
    if (command === 'break') return connection.destroy()
    const resize = streams.get('resize')
    if (command === 'size' && resize !== undefined) {
      resize.onData = (data) => {
        output?.write(data)
        end({ status: 'Success' })
      }
    }
    if (command === 'echo' && input !== undefined) {
      input.onData = (data) => void output?.write(data)
      input.onEnd = () => end({ status: 'Success' })
    }
  }
}

function forwardPorts(socket: Duplex, head: Buffer): void {
  new SpdyConnection({
    ...{ socket, head, role: 'server' },
    onStream(stream) {
      if (stream.headers['streamtype'] === 'data') {
        stream.onData = (data) => void stream.write(Buffer.from(`${stream.headers['port']} ${String(data).toUpperCase()}`))
        stream.onEnd = () => stream.end()
      } else stream.end()
      return true
    },
  })
}

const notThere = () => Promise.reject(new Error('this runtime only pretends'))

/** One pod, `podUid()`, with one container, `c`, that has written two lines. */
export function pretendingRuntime(streams: RuntimeStreams, podUid: () => string): Runtime {
  const container = { id: 'fake://1', name: 'c', attempt: 0, state: 'running', image: 'i', imageId: 'i', createdMs: 0 } as const
  const observed: ObservedPod = { sandboxes: [{ id: 's', isReady: true, createdMs: 0, ips: [] }], containers: [container] }
  return {
    ...{ version: 'fake://1', runSandbox: notThere, stopSandbox: notThere, removeSandbox: notThere, createContainer: notThere },
    ...{ startContainer: notThere, stopContainer: notThere, removeContainer: notThere, resizeContainer: notThere },
    exec: async (_id, command) => ({ exitCode: command[0] === 'false' ? 1 : 0, stdout: `ran ${command.join('|')}`, stderr: '' }),
    observe: async (uid) => (uid === podUid() ? observed : { sandboxes: [], containers: [] }),
    podUids: async () => [podUid()],
    onEvent: () => ({ [Symbol.dispose]() {} }),
    streams,
    logLines: () => [
      { timeMs: 1000, stream: 'stdout', text: 'one' },
      { timeMs: 2000, stream: 'stderr', text: 'two' },
    ],
  }
}
