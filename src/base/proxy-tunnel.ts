/** Connections that lead through a proxy: HTTP's CONNECT (also over TLS), or SOCKS version 5. */
import type { AgentOptions, Agent as PlainAgentClass } from 'node:http'
import { Agent } from 'node:https'
import { isIP, connect as plainConnect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as secureConnect } from 'node:tls'
import { plainHttp } from '#base/plain-http.ts'

export type Address = { host: string; port: number }

/** As long as upstream's dialer waits. */
const patienceMs = 30_000

type Made = (error: Error | null, socket: Duplex) => void

/** An agent for requests to `http:` or `https:`; what it is told of TLS is about the server, not the proxy. */
export function tunnelAgent(proxyUrl: string, isSecure: boolean, options: AgentOptions & { servername?: string }): Agent | PlainAgentClass {
  const proxy = new URL(proxyUrl)
  const agent = isSecure ? new Agent(options) : new plainHttp.Agent(options)
  agent.createConnection = (asked, made: Made = () => {}) => {
    // Node looks at the error first.
    const fail = (error: Error) => made(error, undefined as unknown as Duplex)
    const { host = 'localhost', port = isSecure ? 443 : 80, servername } = asked as { host?: string; port?: number; servername?: string }
    tunnelTo(proxy, { host, port: Number(port) }).then((socket) => {
      if (!isSecure) return made(null, socket)
      const name = options.servername ?? servername ?? host
      const secured = secureConnect({ ...(asked as object), ...options, socket, ...(isIP(name) ? {} : { servername: name }) })
      secured.once('secureConnect', () => made(null, secured)).once('error', fail)
    }, fail)
    return undefined
  }
  return agent
}

export async function tunnelTo(proxy: URL, target: Address): Promise<Socket> {
  const { protocol } = proxy
  if (!/^(?:https?|socks5h?):$/.test(protocol))
    throw new Error(`proxyconnect: unknown scheme ${protocol.slice(0, -1)} of proxy ${proxy.host}`)
  const socket = await connected(proxy)
  const reader = new ExactReader(socket)
  try {
    await (protocol.startsWith('socks5') ? askSocks(proxy, target, socket, reader) : askHttp(proxy, target, socket, reader))
  } catch (error) {
    socket.destroy()
    throw new Error(`proxyconnect: ${(error as Error).message}`, { cause: error })
  }
  socket.setTimeout(0)
  reader.release()
  return socket
}

function connected({ protocol, hostname, port }: URL): Promise<Socket> {
  const isSecure = protocol === 'https:'
  const address = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port) || (isSecure ? 443 : protocol === 'http:' ? 80 : 1080),
  }
  return new Promise((resolve, reject) => {
    const socket = isSecure
      ? secureConnect({ ...address, ...(isIP(address.host) ? {} : { servername: address.host }) })
      : plainConnect(address)
    socket.setTimeout(patienceMs, () => socket.destroy(new Error('i/o timeout')))
    socket.once('error', reject)
    socket.once(isSecure ? 'secureConnect' : 'connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}

async function askHttp({ username, password }: URL, { host, port }: Address, socket: Socket, reader: ExactReader): Promise<void> {
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const secret = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')
  const authorization = username === '' ? '' : `Proxy-Authorization: Basic ${secret}\r\n`
  socket.write(`CONNECT ${address} HTTP/1.1\r\nHost: ${address}\r\n${authorization}\r\n`)
  const head = await reader.until('\r\n\r\n')
  const [, status = '', text = ''] = /^HTTP\/1\.[01] (\d{3}) ?([^\r\n]*)/.exec(head) ?? []
  if (!status.startsWith('2')) throw new Error(text === '' ? `the proxy answered ${status || 'in no words of HTTP'}` : text)
}

const socksFailures: Readonly<Record<number, string>> = {
  1: 'general SOCKS server failure',
  2: 'connection not allowed by ruleset',
  3: 'network unreachable',
  4: 'host unreachable',
  5: 'connection refused',
  6: 'TTL expired',
  7: 'command not supported',
  8: 'address type not supported',
}

async function askSocks({ username, password }: URL, { host, port }: Address, socket: Socket, reader: ExactReader): Promise<void> {
  const hasSecret = username !== ''
  socket.write(Buffer.from(hasSecret ? [5, 2, 0, 2] : [5, 1, 0]))
  const [version, method] = await reader.bytes(2)
  if (version !== 5) throw new Error(`unexpected protocol version ${version}`)
  if (method === 2 && hasSecret) {
    const [user, secret] = [username, password].map((text) => Buffer.from(decodeURIComponent(text)))
    socket.write(
      Buffer.concat([Buffer.from([1, user?.length ?? 0]), user ?? noBytes, Buffer.from([secret?.length ?? 0]), secret ?? noBytes]),
    )
    if ((await reader.bytes(2))[1] !== 0) throw new Error('username/password authentication failed')
  } else if (method !== 0) throw new Error('no acceptable authentication methods')
  // The name goes along: it may be one that only the proxy can look up.
  const name = Buffer.from(host)
  const ports = Buffer.from([port >> 8, port & 255])
  socket.write(Buffer.concat([Buffer.from([5, 1, 0]), addressBytes(host, name), ports]))
  const [, failure = 1, , kind] = await reader.bytes(4)
  if (failure !== 0) throw new Error(socksFailures[failure] ?? `unknown code: ${failure}`)
  const length = kind === 1 ? 4 : kind === 4 ? 16 : ((await reader.bytes(1))[0] ?? 0)
  await reader.bytes(length + 2)
}

const noBytes = Buffer.alloc(0)

function addressBytes(host: string, name: Buffer): Buffer {
  if (isIP(host) === 4) return Buffer.from([1, ...host.split('.').map(Number)])
  return Buffer.concat([Buffer.from([3, name.length]), name])
}

/** Answers of a proxy, of which not a byte more is taken than belongs to them: the server may speak first. */
class ExactReader {
  readonly #socket: Socket
  #held = noBytes
  #wake: () => void = () => {}
  #failure: Error | undefined

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('readable', this.#take)
    socket.on('error', this.#fail)
    socket.on('close', this.#fail)
  }

  async bytes(count: number): Promise<Buffer> {
    return this.#next(() => (this.#held.length >= count ? count : -1))
  }

  async until(mark: string): Promise<string> {
    const text = await this.#next(() => {
      const at = this.#held.indexOf(mark)
      if (at < 0 && this.#held.length > 64 << 10) throw new Error('the answer of the proxy has no end')
      return at < 0 ? -1 : at + mark.length
    })
    return text.toString('latin1')
  }

  /** What came after the answers is the server's. */
  release(): void {
    this.#socket.off('readable', this.#take)
    this.#socket.off('error', this.#fail)
    this.#socket.off('close', this.#fail)
    if (this.#held.length > 0) this.#socket.unshift(this.#held)
  }

  async #next(lengthOf: () => number): Promise<Buffer> {
    for (;;) {
      const length = lengthOf()
      if (length >= 0) {
        const taken = this.#held.subarray(0, length)
        this.#held = this.#held.subarray(length)
        return taken
      }
      if (this.#failure !== undefined) throw this.#failure
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }

  #take = (): void => {
    for (let bytes = this.#socket.read() as Buffer | null; bytes !== null; bytes = this.#socket.read() as Buffer | null)
      this.#held = Buffer.concat([this.#held, bytes])
    this.#wake()
  }

  #fail = (error?: Error | boolean): void => {
    this.#failure ??= error instanceof Error ? error : new Error('the proxy closed the connection')
    this.#wake()
  }
}
